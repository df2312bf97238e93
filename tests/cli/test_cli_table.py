"""``pytest-ctxguard table``."""

import json

import click
import pytest

from pytest_ctxguard.backend import Completion
from pytest_ctxguard.engine import open as engine_open
from pytest_ctxguard.errors import ModelMissing, PromptTooLong, TranscriptError, UsageError
from pytest_ctxguard.policies.catalogue import reference_policies
from pytest_ctxguard.testing import ScriptedBackend
from pytest_ctxguard.tokens.counters.choosing import NAMES
from pytest_ctxguard.transcript.jsonl import dump
from tests.factories import LetterCounter, encoder, session
from tests.summarising import long_session

ALL = list(reference_policies())
SUMMARISING = [name for name, entry in reference_policies().items() if entry.summarises]


@pytest.fixture
def model(monkeypatch):
    """A stand-in for the model that reads numbers and knows no shard; and how it was opened."""
    opened = []

    def answer(messages):
        shown = " ".join(str(message.get("content")) for message in messages)
        asks = messages[-1]["content"]
        if "ummarise" in asks:
            return Completion("They talked of 4417.", completion_tokens=6, finish_reason="length")
        if "shard" in asks:
            asked_alone = len(messages) == 4
            return "pay-shard-7" if asked_alone else "pay-shard-9"
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
    nothing_asked = {
        "answered": None,
        "of": None,
        "outcomes": {},
        "abstained": None,
        "misses": [],
        "without_shared_word": None,
        "calls": {},
        "fate": None,
        "summaries": [],
    }
    assert policy["facts"] == {
        "employee": {"carried": True, "origin": "original", **nothing_asked},
        "shard": {"carried": True, "origin": "original, echoed", **nothing_asked},
    }
    assert policy["controls"] == {}
    assert (policy["summariser"], policy["summariser_tokens"]) == (None, None)
    assert policy["total_input_tokens"] == policy["billed_input_tokens"]
    assert printed["spent"] is None
    assert done.stderr == ""


@pytest.mark.parametrize("args", [(), ("--policies", "all")])
def test_every_reference_policy_is_the_default(command, folder, args, model):
    done = table(command, folder, "--json", *args)
    printed = json.loads(done.stdout)
    assert [policy["policy"] for policy in printed["policies"]] == ALL
    assert printed["left_out"] == []


def test_the_structure_tier_leaves_out_what_needs_a_summariser_and_says_so(command, folder):
    printed = json.loads(table(command, folder, "--tier", "structure", "--json").stdout)
    kept = [name for name in ALL if name not in SUMMARISING]
    assert [policy["policy"] for policy in printed["policies"]] == kept
    assert printed["left_out"] == SUMMARISING
    text = " ".join(table(command, folder, "--tier", "structure").stdout.split())
    assert f"no model is asked: {', '.join(SUMMARISING)}" in text


def test_the_structure_tier_refuses_one_that_was_asked_for(command, folder):
    args = ("--tier", "structure", "--policy", "full-history", "--policy", "compaction")
    done = command("table", "small", "--transcripts", folder, *args)
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith("policy 'compaction' needs a summariser")


def test_summaries_are_the_models_and_their_tokens_are_counted(command, folder, model):
    dump(long_session(), folder / "long.jsonl")
    args = ("long", "--transcripts", folder, "--policy", "compaction", "--budget", 300)
    done = command("table", *args, "--summary-tokens", 40, "--json")
    assert done.exit_code == 0, done.output
    [policy] = json.loads(done.stdout)["policies"]
    taken = policy["summariser_tokens"]
    assert policy["summariser"] == "tiny, 40 tokens"
    assert taken["calls"] >= 2
    assert taken["output"] == 6 * taken["calls"]
    assert taken["stopped_at_length"] == taken["calls"]
    assert taken["failed"] == {}
    assert policy["total_input_tokens"] == policy["billed_input_tokens"] + taken["input"]
    assert policy["facts"]["employee"]["fate"] == "kept"
    text = " ".join(command("table", *args, "--summary-tokens", 40).stdout.split())
    calls = f"{taken['calls']} calls, {taken['input']:,} tokens in, {taken['output']} out"
    cut = f"({taken['calls']} cut at their length)"
    assert f"compaction: summaries by tiny, 40 tokens; {calls} {cut}" in text


def test_a_summariser_whose_window_is_too_small_is_seen_in_the_row(command, folder, monkeypatch):
    def refuse(messages):
        if "ummarise" in messages[-1]["content"]:
            raise PromptTooLong(900, 500)
        return "4417"

    def open_backend(model, **options):
        return ScriptedBackend(refuse)

    monkeypatch.setattr(engine_open, "open_backend", open_backend)
    dump(long_session(), folder / "long.jsonl")
    args = ("long", "--transcripts", folder, "--policy", "compaction", "--budget", 300, "--json")
    [policy] = json.loads(command("table", *args).stdout)["policies"]
    taken = policy["summariser_tokens"]
    assert taken["failed"] == {"PromptTooLong": taken["calls"]}
    assert (taken["input"], taken["output"]) == (0, 0)


def test_controls_and_what_asking_took_stand_beside_the_answers(command, folder, model):
    done = table(command, folder, "--json", "--policy", "full-history")
    printed = json.loads(done.stdout)
    controls = printed["policies"][0]["controls"]["employee"]
    assert controls == {
        "of": 2,
        "answered": 2,
        "alone": 2,
        "without": 0,
        "full": 2,
        "restated": 2,
        "unstable": 0,
        "normalised": 1.0,
        "unusable": {},
    }
    assert printed["spent"]["asked"] > 0
    assert printed["budget"] == 4000
    assert printed["seconds"] >= 0


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
    first = [line.split(" ")[0] for line in text.splitlines()]
    for policy in ALL:
        assert first.count(policy) == (0 if policy in SUMMARISING else 4)
    assert "…" not in text


def test_a_terminal_of_80_columns_loses_nothing(command, folder, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    printed = click.unstyle(table(command, folder, "--tier", "structure").stdout)
    assert max(map(len, printed.splitlines())) <= 80
    assert "…" not in printed


def test_the_model_tier(command, folder, model):
    done = table(command, folder, "--json", "--policy", "full-history", "--model", "tiny")
    printed = json.loads(done.stdout)
    assert printed["model"] == "tiny@1"
    facts = printed["policies"][0]["facts"]
    assert facts["employee"]["answered"] == facts["employee"]["of"] == 2
    assert facts["employee"]["outcomes"] == {"hit": 2}
    assert (facts["shard"]["answered"], facts["shard"]["of"]) == (0, 1)
    assert facts["shard"]["outcomes"] == {"invented": 1}
    assert facts["shard"]["misses"] == [
        {
            "trial": "shard/1",
            "wording": "Which shard?",
            "outcome": "invented",
            "answer": "pay-shard-9",
        }
    ]
    assert done.stderr == ""
    [opened] = model
    assert opened["model"] == "tiny"
    assert opened["fetch"] is True


def test_the_model_tier_as_text(command, folder, model):
    text = table(command, folder, "--policy", "full-history").stdout
    assert "answered by tiny@1" in text
    [employee, shard] = [line.split() for line in text.splitlines() if "/" in line][:2]
    assert employee == ["full-history", "original", "2/2", "1.00"]
    assert shard[-3:] == ["0/1", "1", "invented"]


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
    [
        ("--summary-tokens", "0"),
        ("--budget", "0"),
        ("--tier", "all"),
        ("--transcripts", "nowhere"),
        ("--policies", "x"),
    ],
)
def test_options_that_click_refuses(command, args):
    done = command("table", "small", *args)
    assert done.exit_code == 2
    assert "Error: Invalid value" in done.stderr


def test_another_counter_counts_the_policies(command, folder, monkeypatch):
    monkeypatch.setitem(NAMES, "letters", LetterCounter)
    args = ("small", "--transcripts", folder, "--tier", "structure", "--policy", "full-history")
    done = command("table", *args, "--counter", "letters", "--json")
    assert json.loads(done.stdout)["counter"] == "letters"
    assert "tokens: letters" in command("table", *args, "--counter", "letters").stdout
