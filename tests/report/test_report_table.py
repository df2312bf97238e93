"""The policy table, as text and as JSON."""

import io
import json

import pytest
from rich.console import Console

from pytest_ctxguard.recall.answers import Answers, Trial
from pytest_ctxguard.recall.asking import Spent
from pytest_ctxguard.recall.controls import Controls
from pytest_ctxguard.replay.calls import SummaryUse
from pytest_ctxguard.replay.fate import Fate, Told
from pytest_ctxguard.report.tables.table import FactCell, PolicyTable, Row, make_row
from pytest_ctxguard.report.tables.table_text import render_table
from pytest_ctxguard.tokens.buckets import Buckets
from tests.factories import LetterCounter, replayed, session, user

USABLE = Controls("hit", "abstained", full="hit", restated="hit", again="hit")
GUESSED = Controls("hit", "hit", full="hit", restated="hit", again="other")


def answers(*outcomes, controls=USABLE):
    trials = (Trial(f"f/{i}", f"w{i}", o, f"said {i}", controls) for i, o in enumerate(outcomes))
    return Answers("f", tuple(trials))


def cell(origin=("original",), outcomes=None, fate=None):
    told = None if outcomes is None else answers(*outcomes)
    return FactCell(
        carried=bool(origin),
        origin=tuple(origin),
        fate=Fate("f", (Told("call 3", fate),) if fate else (), fate),
        answers=told,
    )


def row(policy="full-history", billed=168550, **changes):
    fields = {
        "policy": policy,
        "billed": billed,
        "final": 9816,
        "largest": 9816,
        "own_estimate": None,
        "buckets": Buckets(20, 1500, 6000, 2296),
        "facts": {"employee": cell(), "shard": cell(("tool result", "echoed"))},
    }
    return Row(**{**fields, **changes})


def compacted(**changes):
    fields = {
        "summariser": "coder, 64 tokens",
        "summaries": SummaryUse(7, 18581, 400, 2, {"PromptTooLong": 1}),
        "probe_summaries": SummaryUse(1, 900, 60),
    }
    return row(**{"policy": "compaction", "billed": 100000, **fields, **changes})


def table(*rows, **changes):
    fields = {"transcript": "incident-40", "budget": 4000, "counter": "letters", "rows": rows}
    return PolicyTable(**{**fields, **changes})


def shown(*rows, width=160, **changes):
    console = Console(width=width, file=io.StringIO())
    console.print(render_table(table(*rows, **changes)))
    return console.file.getvalue()


def lines(text, policy):
    """The table lines of a policy, each as its words."""
    return [line.split() for line in text.splitlines() if line.split()[:1] == [policy]]


def test_each_policy_has_a_line_in_each_small_table():
    cheap = row(
        "sliding-window",
        42000,
        final=3100,
        largest=4100,
        own_estimate=2050,
        facts={"employee": cell(("pinned", "summary")), "shard": cell(())},
    )
    text = shown(row(own_estimate=4801), cheap)
    assert lines(text, "policy") == [
        ["policy", "billed", "share", "largest", "over", "own", "estimate"],
        ["policy", "system", "tools", "tool", "results", "conversation", "all"],
        ["policy", "carried"],
        ["policy", "carried"],
    ]
    assert lines(text, "full-history") == [
        ["full-history", "168,550", "100%", "9,816", "+5,816", "4,801"],
        ["full-history", "20", "1,500", "6,000", "2,296", "9,816"],
        ["full-history", "original"],
        ["full-history", "tool", "result,", "echoed"],
    ]
    assert lines(text, "sliding-window") == [
        ["sliding-window", "42,000", "25%", "4,100", "+100", "2,050"],
        ["sliding-window", "20", "1,500", "6,000", "2,296", "3,100"],
        ["sliding-window", "pinned,", "summary"],
        ["sliding-window", "dropped"],
    ]
    assert text.startswith("incident-40, budget 4,000 tokens; structure tier, no model asked")


def test_only_what_is_beyond_the_budget_is_over():
    text = shown(row("a", largest=4000), row("b", largest=4001))
    assert lines(text, "a")[0] == ["a", "168,550", "100%", "4,000"]
    assert lines(text, "b")[0] == ["b", "168,550", "100%", "4,001", "+1"]


def test_what_the_summariser_was_shown_is_part_of_the_total():
    text = shown(row(), compacted())
    assert lines(text, "policy")[0][:5] == ["policy", "billed", "summary", "total", "share"]
    assert lines(text, "full-history")[0][:4] == ["full-history", "168,550", "168,550", "100%"]
    assert lines(text, "compaction")[0][:5] == [
        "compaction", "100,000", "18,581", "118,581", "70%",
    ]  # fmt: skip
    assert (
        "compaction: summaries by coder, 64 tokens; 7 calls, 18,581 tokens in, 400 out "
        "(1 PromptTooLong, 2 cut at their length); for the probes 1 calls, 900 tokens in, 60 out"
    ) in " ".join(text.split())


def test_output_that_a_summariser_did_not_tell_is_unknown_not_zero():
    text = shown(compacted(summaries=SummaryUse(2, 50, None)))
    assert "2 calls, 50 tokens in, ? out;" in text


def test_answers_stand_beside_what_was_carried():
    facts = {
        "employee": cell(outcomes=("hit", "hit", "invented", "neighbour", "abstained")),
        "shard": cell((), outcomes=("hit",), fate="shown and dropped"),
    }
    text = shown(row(facts=facts), model="coder@1d96")
    employee, shard = lines(text, "full-history")[2:]
    assert employee[1:4] == ["original", "2/5", "0.40"]
    assert " ".join(employee[4:]) == "1 neighbour, 1 invented, 1 abstained"
    assert shard == ["full-history", "dropped", "1/1", "1.00", "shown", "and", "dropped"]
    assert "answered by coder@1d96" in text


def test_the_controls_of_a_fact_are_told_once():
    facts = {"employee": cell(outcomes=("hit", "other"))}
    text = " ".join(shown(row(facts=facts), row("b", facts=facts), model="m").split())
    told = (
        "employee, controls: of 2 wordings 2 with the full history, 2 with the fact alone, "
        "0 without it, 2 restated at the end, 0 other when asked again"
    )
    assert text.count(told) == 1


def test_what_asking_took():
    spent = Spent(asked=70, kept=3, prompt_tokens=250_000, computed_tokens=40_000,
                  completion_tokens=900)  # fmt: skip
    text = " ".join(shown(row(), model="m", spent=spent, seconds=61.4).split())
    assert (
        "70 questions asked, 3 answered by an earlier run; prompt tokens 250,000 billed, 40,000 "
        "computed; 900 generated; 61 s"
    ) in text


def test_policies_left_out_are_named():
    assert "no model is asked: compaction, notes" in shown(row(), left_out=("compaction", "notes"))


def test_names_are_shown_as_they_are_whatever_they_contain():
    facts = {"sh[red]ard": cell(outcomes=("hit",)), "[/x]": cell(outcomes=("hit",))}
    text = shown(
        compacted(facts=facts, policy="fit[a]", summariser="s[u]m"),
        transcript="chat[1]",
        model="m[bold]",
        left_out=("[b]",),
    )
    assert "chat[1], budget 4,000 tokens; answered by m[bold]" in text
    assert "sh[red]ard\n" in text.replace(" ", "")
    assert "[/x], controls:" in text
    assert "fit[a]: summaries by s[u]m" in text
    assert "asked: [b]" in text
    assert len(lines(text, "fit[a]")) == 4


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_narrow_terminal_loses_no_digit(width):
    facts = {"shard": cell(("tool result", "echoed"), ("hit", "neighbour", "other"), "kept")}
    long = row("three-step-fit-counted", own_estimate=14801, facts=facts)
    text = shown(long, compacted(facts=facts), width=width, model="m")
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert lines(text, "three-step-fit-counted")[0][1:] == [
        "168,550", "168,550", "100%", "9,816", "+5,816", "14,801",
    ]  # fmt: skip


def test_a_session_without_facts():
    text = shown(row(facts={}))
    assert len(lines(text, "full-history")) == 2
    assert "carried" not in text


def test_the_json_has_the_documented_keys():
    facts = {
        "employee": cell(outcomes=("hit", "abstained")),
        "shard": cell((), outcomes=("invented",), fate="kept"),
    }
    spent = Spent(asked=4, prompt_tokens=80, computed_tokens=20)
    made = table(compacted(facts=facts), model="coder@1d96", spent=spent, seconds=1.23)
    value = json.loads(json.dumps(made.as_json()))
    [policy] = value.pop("policies")
    assert value == {
        "transcript": "incident-40",
        "budget": 4000,
        "counter": "letters",
        "model": "coder@1d96",
        "left_out": [],
        "spent": {
            "asked": 4,
            "kept": 0,
            "remembered": 0,
            "prompt_tokens": 80,
            "computed_tokens": 20,
            "completion_tokens": 0,
            "seconds": 0.0,
        },
        "seconds": 1.2,
    }
    told = policy.pop("facts")
    assert told["employee"] == {
        "carried": True,
        "origin": "original",
        "answered": 1,
        "of": 2,
        "outcomes": {"hit": 1, "abstained": 1},
        "abstained": 1,
        "misses": [
            {"trial": "f/1", "wording": "w1", "outcome": "abstained", "answer": "said 1"},
        ],
        "without_shared_word": {"answered": 1, "of": 2},
        "calls": {},
        "fate": None,
        "summaries": [],
    }
    assert told["shard"]["fate"] == "kept"
    assert told["shard"]["summaries"] == [{"place": "call 3", "state": "kept"}]
    assert (told["shard"]["carried"], told["shard"]["origin"]) == (False, None)
    assert policy.pop("controls")["shard"] == {
        "of": 1,
        "answered": 0,
        "alone": 1,
        "without": 0,
        "full": 1,
        "restated": 1,
        "unstable": 0,
        "normalised": 0.0,
        "unusable": {},
    }
    assert policy == {
        "policy": "compaction",
        "billed_input_tokens": 100000,
        "summariser": "coder, 64 tokens",
        "summariser_tokens": {
            "input": 18581,
            "output": 400,
            "calls": 7,
            "stopped_at_length": 2,
            "failed": {"PromptTooLong": 1},
        },
        "summariser_tokens_at_probes": {
            "input": 900,
            "output": 60,
            "calls": 1,
            "stopped_at_length": 0,
            "failed": {},
        },
        "total_input_tokens": 118581,
        "final_tokens": 9816,
        "largest_request_tokens": 9816,
        "largest_by_own_estimate": None,
        "buckets": {
            "system": 20,
            "tools": 1500,
            "tool_results": 6000,
            "conversation": 2296,
            "pinned": 0,
            "summary": 0,
        },
    }


def test_unusable_wordings_are_named_with_their_reason():
    told = FactCell(True, (), Fate("f", (), None), answers("hit", controls=GUESSED))
    [policy] = table(row(facts={"f": told})).as_json()["policies"]
    assert policy["controls"]["f"]["unusable"] == {"w0": "guessed without the fact"}
    assert policy["controls"]["f"]["unstable"] == 1
    assert policy["controls"]["f"]["normalised"] is None


def test_the_json_of_the_structure_tier_asks_nobody():
    value = table(row(), left_out=("compaction",)).as_json()
    assert (value["model"], value["spent"], value["left_out"]) == (None, None, ["compaction"])
    [policy] = value["policies"]
    assert policy["controls"] == {}
    assert policy["summariser_tokens"] is None
    shard = policy["facts"]["shard"]
    assert (shard["carried"], shard["origin"]) == (True, "tool result, echoed")
    assert (shard["answered"], shard["of"], shard["abstained"]) == (None, None, None)


class Newest:
    class estimator:
        @staticmethod
        def request(messages, tools):
            return 10 * len(messages) + len(tools)

    def __call__(self, messages):
        return messages[-3:]


def test_a_row_measures_a_replay():
    policy = Newest()
    replay = replayed(policy, label="newest")
    made = make_row(replay, policy=policy, answers=None)
    counter = LetterCounter()
    requests = [session().messages[max(0, n - 3) : n] for n in (2, 4, 6, 8)]
    tokens = [counter.count(messages, tools=session().tools) for messages in requests]
    assert made.policy == "newest"
    assert (made.billed, made.final, made.largest) == (sum(tokens), tokens[-1], max(tokens))
    assert made.total == made.billed
    assert made.own_estimate == 31
    assert made.buckets == replay.buckets()
    assert made.facts == {
        "employee": FactCell(False, (), Fate("employee", (), None), None),
        "shard": FactCell(True, ("echoed",), Fate("shard", (), None), None),
    }
    assert (made.summariser, made.summaries) == (None, SummaryUse())


def test_a_row_of_a_policy_that_summarises():
    def once(messages, *, summarise):
        return [user(summarise(messages[:-1])), messages[-1]]

    replay = replayed(once, summariser=lambda shown: "It is 4417.")
    told = {"employee": answers("hit"), "shard": answers("other")}
    made = make_row(replay, policy=once, answers=told, summariser="a script")
    assert made.own_estimate is None
    assert made.facts["employee"].answers is told["employee"]
    assert made.facts["employee"].fate.state == "kept"
    assert made.summariser == "a script"
    assert (made.summaries, made.probe_summaries) == (
        replay.summary_use,
        replay.probe_summary_use,
    )
    assert made.total == made.billed + replay.summary_use.input
