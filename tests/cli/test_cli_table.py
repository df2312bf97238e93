"""``pytest-ctxguard table``."""

import json

import click
import pytest

from pytest_ctxguard.engine import open as engine_open
from pytest_ctxguard.errors import ModelMissing, TranscriptError, UsageError
from pytest_ctxguard.testing import ScriptedBackend
from tests.factories import encoder, session

ALL = [
    "full-history",
    "sliding-window",
    "user-messages",
    "three-step-fit",
    "three-step-fit-counted",
]


@pytest.fixture
def model(monkeypatch):
    """A stand-in for the model that reads numbers and knows no shard; and how it was opened."""
    opened = []

    def answer(messages):
        shown = " ".join(str(message.get("content")) for message in messages)
        asks = messages[-1]["content"]
        if "shard" in asks:
            return "pay-shard-7" if len(messages) == 3 else "pay-shard-9"
        return "4417" if "4417" in shown else "I don't know."

    def open_backend(model, **options):
        opened.append({"model": model, **options})
        options["progress"]("loading", 0, 1)
        return ScriptedBackend(answer, identity={"model": "tiny@1", "numerics": "exact"})

    monkeypatch.setattr(engine_open, "open_backend", open_backend)
    return opened


def table(command, folder, *args):
    done = command("table", "small", "--transcripts", folder, *args)
    assert done.exit_code == 0, done.output
    return done


def test_the_structure_tier_as_json(command, folder):
    done = table(command, folder, "--tier", "structure", "--json", "--policy", "full-history")
    printed = json.loads(done.stdout)
    transcript = session()
    requests = [transcript.messages[: call.history] for call in transcript.calls]
    tokens = [encoder().count(messages, tools=transcript.tools) for messages in requests]
    [policy] = printed["policies"]
    assert printed["transcript"] == "small"
    assert printed["model"] is None
    assert policy["policy"] == "full-history"
    assert policy["billed_input_tokens"] == sum(tokens)
    assert policy["final_tokens"] == policy["largest_request_tokens"] == tokens[-1]
    assert sum(policy["buckets"].values()) == tokens[-1]
    nothing_asked = {"answered": None, "of": None, "outcomes": {}}
    assert policy["facts"] == {
        "employee": {"carried": True, "origin": "original", **nothing_asked},
        "shard": {"carried": True, "origin": "original, echoed", **nothing_asked},
    }
    assert done.stderr == ""


@pytest.mark.parametrize("args", [(), ("--policies", "all")])
def test_every_reference_policy_is_the_default(command, folder, args):
    done = table(command, folder, "--tier", "structure", "--json", *args)
    assert [policy["policy"] for policy in json.loads(done.stdout)["policies"]] == ALL


def test_policies_stand_in_the_order_asked_for(command, folder):
    args = ("--policy", "user-messages", "--policy", "full-history")
    done = table(command, folder, "--tier", "structure", "--json", *args)
    assert [policy["policy"] for policy in json.loads(done.stdout)["policies"]] == [
        "user-messages",
        "full-history",
    ]


def test_the_budget_reaches_the_policies(command, folder):
    policy = ("--policy", "three-step-fit-counted", "--tier", "structure", "--json")

    def largest(budget):
        done = table(command, folder, *policy, "--budget", budget)
        return json.loads(done.stdout)["policies"][0]["largest_request_tokens"]

    whole = largest(4000)
    assert largest(whole) == whole
    assert largest(whole - 1) < whole


def test_as_text(command, folder):
    text = table(command, folder, "--tier", "structure").stdout
    assert "small, budget 4,000 tokens; structure tier, no model asked" in text
    for policy in ALL:
        assert f"│ {policy} " in text
    assert "…" not in text


def test_a_terminal_gets_a_table_of_its_width(command, folder, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "90")
    printed = click.unstyle(table(command, folder, "--tier", "structure").stdout)
    assert max(map(len, printed.splitlines())) == 90


def test_the_model_tier(command, folder, model):
    done = table(command, folder, "--json", "--policy", "full-history", "--model", "tiny")
    printed = json.loads(done.stdout)
    assert printed["model"] == "tiny@1"
    facts = printed["policies"][0]["facts"]
    assert facts["employee"]["answered"] == facts["employee"]["of"] == 2
    assert facts["employee"]["outcomes"] == {"hit": 2}
    assert (facts["shard"]["answered"], facts["shard"]["of"]) == (0, 1)
    assert facts["shard"]["outcomes"] == {"invented": 1}
    assert done.stderr == ""
    [opened] = model
    assert opened["model"] == "tiny"
    assert opened["fetch"] is True


def test_the_model_tier_as_text(command, folder, model):
    text = table(command, folder, "--policy", "full-history").stdout
    assert "answered by tiny@1" in text
    assert "2/2 answered" in text
    assert "1 invented" in text


def test_a_path_needs_no_folder(command, folder):
    path = folder / "small.jsonl"
    done = command("table", path, "--tier", "structure", "--json", "--policy", "full-history")
    assert json.loads(done.stdout)["transcript"] == "small"


def test_an_unknown_policy(command, folder):
    done = command("table", "small", "--transcripts", folder, "--policy", "lru")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == f"no policy is named 'lru'; there are: {', '.join(ALL)}"
    assert done.exit_code == 1


def test_an_unknown_transcript(command, folder):
    done = command("table", "smal", "--transcripts", folder, "--tier", "structure")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith("no transcript named 'smal'; there are: ")
    assert "small" in str(done.exception)


def test_a_broken_transcript(command, folder):
    path = folder / "broken.jsonl"
    path.write_text('{"type": "transcript"}\n')
    done = command("table", path, "--tier", "structure")
    assert isinstance(done.exception, TranscriptError)
    assert str(done.exception).startswith(f"{path}:1: version None is not supported")


def test_a_model_that_cannot_be_opened(command, folder, monkeypatch):
    def missing(model, **options):
        raise ModelMissing("not here")

    monkeypatch.setattr(engine_open, "open_backend", missing)
    done = command("table", "small", "--transcripts", folder, "--policy", "full-history")
    assert isinstance(done.exception, ModelMissing)


@pytest.mark.parametrize(
    "args",
    [("--budget", "0"), ("--tier", "all"), ("--transcripts", "nowhere"), ("--policies", "x")],
)
def test_options_that_click_refuses(command, args):
    done = command("table", "small", *args)
    assert done.exit_code == 2
    assert "Error: Invalid value" in done.stderr
