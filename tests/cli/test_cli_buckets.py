"""``pytest-ctxguard buckets``."""

import json

import click
import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.catalogue import reference_policies
from pytest_ctxguard.tokens.counters.choosing import NAMES
from tests.factories import LetterCounter, encoder, session


@pytest.fixture(autouse=True)
def loaded(monkeypatch):
    monkeypatch.setitem(NAMES, "qwen2.5", encoder)


def printed(command, folder, *args):
    done = command("buckets", "small", "--transcripts", folder, "--json", *args)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_full_history_is_the_default(command, folder):
    found = printed(command, folder)
    transcript = session()
    sent = [
        encoder().count(transcript.messages[: call.history], tools=transcript.tools)
        for call in transcript.calls
    ]
    assert (found["policy"], found["budget"]) == ("full-history", 4000)
    assert [call["total"] for call in found["calls"]] == sent
    assert [sum(call["tokens"].values()) for call in found["calls"]] == sent
    assert found["billed_input_tokens"] == sum(sent)


def test_b4_the_figures_of_the_built_in_session_in_docs_tokens(command):
    found = json.loads(command("buckets", "incident-40", "--json").stdout)
    first, last = found["calls"][0], found["calls"][-1]
    assert (first["tokens"]["tools"], first["total"]) == (2032, 2095)
    assert (last["tokens"]["tools"], last["tokens"]["tool_results"]) == (2032, 4193)
    assert (last["tokens"]["conversation"], last["total"]) == (2502, 8753)
    assert found["billed"]["tools"] == 125_984
    assert (found["billed_input_tokens"], found["resent"]["tokens"]) == (350_540, 341_604)
    overtook = {(each["bucket"], each["other"]): each["turn"] for each in found["overtakings"]}
    assert overtook["tool_results", "tools"] == 14
    assert overtook["conversation", "tools"] == 33


def test_a_policy_and_its_budget(command, folder):
    found = printed(command, folder, "--policy", "pinned-at-end", "--budget", 300)
    assert (found["policy"], found["budget"]) == ("pinned-at-end", 300)


def test_a_file_of_another_format(command, tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"model": "gpt-4o", "messages": list(session().messages)}))
    done = command("buckets", path, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["billed"]["tools"] == 0


def test_as_text_nothing_is_lost_at_80_columns(command, folder, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    done = command("buckets", "small", "--transcripts", folder)
    text = click.unstyle(done.stdout)
    assert done.exit_code == 0
    assert "small under full-history, budget 4,000 tokens" in text
    assert "tokens of the last request of each turn" in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_rows_by_call(command, folder):
    text = command("buckets", "small", "--transcripts", folder, "--by", "call").stdout
    assert "tokens of each request" in text


@pytest.mark.parametrize(
    ("name", "why"), [("lru", "is none of the policies"), ("compaction", "needs a summariser")]
)
def test_a_policy_that_cannot_be_replayed_without_a_model(command, folder, name, why):
    done = command("buckets", "small", "--transcripts", folder, "--policy", name)
    assert isinstance(done.exception, UsageError)
    quiet = [entry.name for entry in reference_policies().values() if not entry.summarises]
    assert str(done.exception) == (
        f"--policy {name!r} {why}; without one there are: {', '.join(quiet)}"
    )


def test_an_unknown_transcript(command):
    assert isinstance(command("buckets", "nowhere").exception, UsageError)


@pytest.mark.parametrize("args", [("--budget", "0"), ("--by", "day")])
def test_options_that_click_refuses(command, args):
    assert command("buckets", "small", *args).exit_code == 2


def test_another_counter_counts(command, folder, monkeypatch):
    monkeypatch.setitem(NAMES, "letters", LetterCounter)
    found = printed(command, folder, "--counter", "letters")
    assert found["counter"] == "letters"


def test_an_unknown_counter_is_refused(command, folder):
    done = command("buckets", "small", "--transcripts", folder, "--counter", "claude")
    assert done.exit_code != 0
    assert "no counter is named 'claude'" in str(done.exception)
