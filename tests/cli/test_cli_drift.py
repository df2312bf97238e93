"""``pytest-ctxguard drift``."""

import json

import pytest

from pytest_ctxguard.cli import drift as drift_command
from pytest_ctxguard.engine import open as engine_open
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.testing import ScriptedBackend
from pytest_ctxguard.transcript.jsonl import dump
from tests.factories import encoder
from tests.summarising import long_session


@pytest.fixture
def drift(command, folder, monkeypatch):
    """Run it on a long session, with a model that keeps the number in its first summary only."""
    monkeypatch.setattr(drift_command, "RequestEncoder", encoder)
    monkeypatch.setenv("CTXGUARD_CACHE", str(folder / "cache"))

    def answer(messages):
        shown = " ".join(str(message.get("content")) for message in messages)
        if "ummarise" not in messages[-1]["content"]:
            return "4417" if "4417" in shown else "I don't know."
        return "Talk." if "It is 4417." in shown else "It is 4417."

    def open_backend(model, **options):
        return ScriptedBackend(answer, identity={"model": "tiny@1", "numerics": "exact"})

    monkeypatch.setattr(engine_open, "open_backend", open_backend)
    dump(long_session(), folder / "long.jsonl")
    return lambda *args: command("drift", "long", "--transcripts", folder, *args)


def test_recall_per_cycle_as_json(drift):
    done = drift("--budget", 300, "--json", "--summary-tokens", 20)
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    cycles = printed.pop("cycles")
    assert printed == {
        "transcript": "long",
        "policy": "compaction",
        "budget": 300,
        "model": "tiny@1",
        "summariser": "tiny, 20 tokens",
    }
    seen = [(c["cycles"], c["carried"], c["fate"], c["answered"]) for c in cycles][:3]
    assert seen == [
        (0, True, None, 2),
        (1, True, "kept", 2),
        (2, False, "shown and dropped", 0),
    ]
    assert cycles[2]["of"] == 2
    assert cycles[2]["outcomes"] == {"abstained": 2}
    assert all(cycle["fact"] == "employee" and cycle["turn"] > 1 for cycle in cycles)


def test_recall_per_cycle_as_text(drift):
    text = drift("--budget", 300).stdout
    rows = [line.split() for line in text.splitlines() if line.startswith("employee")]
    assert rows[0] == ["employee", "0", "2", "carried", "2/2"]
    assert rows[1][3:] == ["carried", "2/2", "kept"]
    assert rows[2][3:] == ["dropped", "0/2", "2", "abstained", "shown", "and", "dropped"]
    assert "long under compaction, budget 300 tokens; answered by tiny@1" in text
    assert max(map(len, text.splitlines())) <= 80


def test_only_policies_that_summarise(drift):
    done = drift("--policy", "sliding-window")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == (
        "no policy that summarises is named 'sliding-window'; there are: compaction, "
        "compaction-notes, sub-agent-report"
    )


def test_a_budget_that_needs_no_compaction(drift):
    done = drift("--budget", 100_000)
    assert isinstance(done.exception, UsageError)
    assert "nothing of 'long' was compacted within a budget of 100000" in str(done.exception)
