"""The policy table, as text and as JSON."""

import io
import json

import pytest
from rich.console import Console

from pytest_ctxguard.recall.answers import Answers, Control, Trial
from pytest_ctxguard.report.table import FactCell, Row, make_row, render_table, table_json
from pytest_ctxguard.tokens.buckets import Buckets
from tests.factories import LetterCounter, replayed, session

USABLE = Control("hit", "abstained")


def answers(*outcomes):
    trials = (Trial(f"f/{i}", "w", outcome, "", USABLE) for i, outcome in enumerate(outcomes))
    return Answers("f", tuple(trials))


def cell(origin=("original",), outcomes=None):
    told = None if outcomes is None else answers(*outcomes)
    return FactCell(carried=bool(origin), origin=tuple(origin), answers=told)


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


def shown(*rows, width=160, model=None, transcript="incident-40"):
    console = Console(width=width, file=io.StringIO())
    console.print(render_table(transcript, rows, budget=4000, model=model))
    return console.file.getvalue()


def cells(text):
    """The table's rows, each a list of cells; a folded cell's lines are joined by a space."""
    rows = []
    for line in text.splitlines():
        if not line.startswith(("┃", "│")):
            continue
        heading = line.startswith("┃")
        parts = [part.strip() for part in line[1:-1].split("┃" if heading else "│")]
        if rows and (heading or not parts[0]):
            rows[-1] = [" ".join(filter(None, both)) for both in zip(rows[-1], parts, strict=True)]
        else:
            rows.append(parts)
    return rows


def test_one_row_per_policy():
    cheap = row(
        "sliding-window",
        42000,
        final=3100,
        largest=4100,
        own_estimate=2050,
        facts={"employee": cell(("pinned", "summary")), "shard": cell(())},
    )
    text = shown(row(own_estimate=4801), cheap)
    assert cells(text) == [
        ["policy", "billed", "share", "final", "largest", "own estimate",
         "system / tools / results / talk", "employee", "shard"],
        ["full-history", "168,550", "100%", "9,816", "9,816 (+5,816)", "4,801 (+801)",
         "20 / 1500 / 6000 / 2296", "carried (original)", "carried (tool result, echoed)"],
        ["sliding-window", "42,000", "25%", "3,100", "4,100 (+100)", "2,050",
         "20 / 1500 / 6000 / 2296", "carried (pinned, summary)", "dropped"],
    ]  # fmt: skip
    assert text.strip().startswith("incident-40, budget 4,000 tokens; structure tier, no model")


def test_what_is_over_the_budget_is_shown_beside_it():
    rows = [row(largest=4000, own_estimate=4001), row(largest=4001, own_estimate=4000)]
    assert [line[4:6] for line in cells(shown(*rows))[1:]] == [
        ["4,000", "4,001 (+1)"],
        ["4,001 (+1)", "4,000"],
    ]


def test_answers_stand_in_the_cell_of_their_fact():
    facts = {
        "employee": cell(outcomes=("hit", "hit", "invented", "neighbour", "invented")),
        "shard": cell((), outcomes=("hit",)),
    }
    text = shown(row(facts=facts), model="coder@1d96")
    assert cells(text)[1][-2:] == [
        "carried (original) 2/5 answered 1 neighbour, 2 invented",
        "dropped 1/1 answered",
    ]
    assert "answered by coder@1d96" in text


def test_names_are_shown_as_they_are_whatever_they_contain():
    facts = {"sh[red]ard": cell(), "[/x]": cell(())}
    text = shown(row("fit[a]", facts=facts), transcript="chat[1]", model="m[bold]")
    assert "chat[1], budget 4,000 tokens; answered by m[bold]" in text
    assert cells(text)[0][-2:] == ["sh[red]ard", "[/x]"]
    assert cells(text)[1][0] == "fit[a]"


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_narrow_terminal_folds_and_loses_no_digit(width):
    text = shown(row(), width=width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    folded = ["".join(part.split()) for part in cells(text)[1]]
    assert folded[:5] == ["full-history", "168,550", "100%", "9,816", "9,816(+5,816)"]


def test_a_session_without_facts():
    assert cells(shown(row(facts={})))[0][-1] == "system / tools / results / talk"


def test_the_json_has_the_documented_keys():
    facts = {"employee": cell(outcomes=("hit", "other")), "shard": cell((), outcomes=("invented",))}
    value = table_json("incident-40", [row(facts=facts)], model="coder@1d96")
    assert json.loads(json.dumps(value)) == {
        "transcript": "incident-40",
        "model": "coder@1d96",
        "policies": [
            {
                "policy": "full-history",
                "billed_input_tokens": 168550,
                "final_tokens": 9816,
                "largest_request_tokens": 9816,
                "largest_by_own_estimate": None,
                "buckets": {
                    "system": 20,
                    "tools": 1500,
                    "tool_results": 6000,
                    "conversation": 2296,
                },
                "facts": {
                    "employee": {
                        "carried": True,
                        "origin": "original",
                        "answered": 1,
                        "of": 2,
                        "outcomes": {"hit": 1, "other": 1},
                    },
                    "shard": {
                        "carried": False,
                        "origin": None,
                        "answered": 0,
                        "of": 1,
                        "outcomes": {"invented": 1},
                    },
                },
            }
        ],
    }


def test_the_json_of_the_structure_tier_asks_nobody():
    value = table_json("t", [row()], model=None)
    assert value["model"] is None
    assert value["policies"][0]["facts"]["shard"] == {
        "carried": True,
        "origin": "tool result, echoed",
        "answered": None,
        "of": None,
        "outcomes": {},
    }


class Newest:
    class estimator:
        @staticmethod
        def request(messages, tools):
            return 10 * len(messages) + len(tools)

    def __call__(self, messages):
        return messages[-3:]


def test_a_row_measures_a_replay():
    policy = Newest()
    replay = replayed(policy)
    made = make_row("newest", replay, policy=policy, answers=None)
    counter = LetterCounter()
    requests = [session().messages[max(0, n - 3) : n] for n in (2, 4, 6, 8)]
    tokens = [counter.count(messages, tools=session().tools) for messages in requests]
    assert made.policy == "newest"
    assert (made.billed, made.final, made.largest) == (sum(tokens), tokens[-1], max(tokens))
    assert made.own_estimate == 31
    assert made.buckets == replay.buckets()
    assert made.facts == {
        "employee": FactCell(carried=False, origin=(), answers=None),
        "shard": FactCell(carried=True, origin=("echoed",), answers=None),
    }


def test_a_row_of_a_policy_without_estimator_and_with_answers():
    replay = replayed(list, label="x")
    told = {"employee": answers("hit"), "shard": answers("other")}
    made = make_row("full-history", replay, policy=list, answers=told)
    assert made.own_estimate is None
    assert made.facts["employee"].answers is told["employee"]
