"""``pytest-ctxguard tools``."""

import json

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.counters.choosing import NAMES
from pytest_ctxguard.transcript.jsonl import dump
from tests.factories import encoder, session
from tests.tokens.tiny_vocabulary import tiny_json


@pytest.fixture(autouse=True)
def loaded(monkeypatch):
    monkeypatch.setitem(NAMES, "qwen2.5", encoder)


def test_as_json(command, folder):
    done = command("tools", "small", "--transcripts", folder, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["transcript"], found["calls"], found["exact"]) == ("small", 4, True)
    [tool] = found["tools"]
    assert (tool["name"], tool["calls"]) == ("read_log", 1)
    assert found["definitions"] == found["scaffolding"] + tool["tokens"]
    assert found["unknown"] == []


def test_as_text(command, folder):
    done = command("tools", "small", "--transcripts", folder)
    assert done.exit_code == 0, done.output
    assert "small: 1 tools, sent at each of 4 calls; tokens: qwen2.5" in done.stdout
    assert "read_log" in done.stdout


def test_b5_the_figures_of_the_built_in_session_in_docs_tokens(command):
    found = json.loads(command("tools", "incident-40", "--json").stdout)
    sizes = [tool["tokens"] for tool in found["tools"]]
    assert (found["definitions"], found["scaffolding"], found["calls"]) == (2032, 77, 62)
    assert (len(sizes), min(sizes), max(sizes)) == (12, 84, 245)
    idle = found["never_called"]
    assert (len(idle["tools"]), idle["tokens"], idle["over_run"]) == (5, 942, 58404)
    assert found["trimmed"] == {"short": 1588, "called": 1090, "both": 882}
    assert found["unknown"] == []


def test_a_recording_without_definitions_is_an_error(command, tmp_path):
    dump(session(tools=()), tmp_path / "bare.jsonl")
    done = command("tools", tmp_path / "bare.jsonl")
    assert isinstance(done.exception, UsageError)
    assert "has no tool definitions, so there is no catalogue to audit" in str(done.exception)
    assert done.stdout == ""


def test_another_counter_is_named_and_called_approximate(command, folder, tmp_path):
    (tmp_path / "tokenizer.json").write_text(tiny_json(), encoding="utf-8")
    args = ("small", "--transcripts", folder, "--json", "--counter", tmp_path)
    found = json.loads(command("tools", *args).stdout)
    assert "no chat template" in found["counter"]
    assert found["exact"] is False
