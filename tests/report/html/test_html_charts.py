"""The charts: what they are made of, whatever a run holds."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard.report.html.budget import Room
from pytest_ctxguard.report.html.by_call import call_charts
from pytest_ctxguard.report.html.by_policy import Point, frontier, matrix, policy_charts
from pytest_ctxguard.report.html.by_recall import recall_charts
from pytest_ctxguard.report.html.chart import unique
from pytest_ctxguard.report.html.drawing import draw
from pytest_ctxguard.report.html.labels import Dot, placed
from pytest_ctxguard.report.html.measured import by_transcript
from pytest_ctxguard.report.html.outcomes import outcome_chart
from pytest_ctxguard.report.html.theme import CHARACTER
from pytest_ctxguard.report.run import Run
from tests.report import runs
from tests.report.html.whole_run import calls, cells, facts

TEXTS = st.text(st.characters(codec=None), max_size=40)
POINTS = st.builds(
    lambda name, billed, reached: Point(name=name, billed=billed, reached=reached, of=6),
    st.text("abc", min_size=1, max_size=3),
    st.integers(0, 9),
    st.integers(0, 6),
)


def test_any_text_is_drawn_as_text():
    pytest.importorskip("vl_convert")

    @settings(max_examples=30)
    @given(TEXTS, TEXTS)
    def drawn(name, title):
        bars = [(name, {"hit": 2}), ("__proto__", {"other": 1}), (name, {"hit": 1, "error": 1})]
        svg = draw(outcome_chart(bars, title=title, unit="trials").spec, title=title)
        svg.encode("utf-8")
        root = ElementTree.fromstring(svg)  # noqa: S314 - our own
        assert {each.tag for each in root.iter()} <= {"svg", "g", "path", "line", "rect", "text"}
        names = {attribute for each in root.iter() for attribute in each.attrib}
        assert not [n for n in names if n.startswith("on") or n in ("style", "id", "href")]
        marks = [e for e in root.iter() if e.get("role") == "graphics-symbol"]
        assert len(marks) == 4

    drawn()


def test_a_link_leads_into_the_page_or_is_none():
    pytest.importorskip("vl_convert")
    values = [
        {"x": 1, "to": "#replay-1-call-2", "says": "in"},
        {"x": 2, "to": "https://example.org/x", "says": "out"},
        {"x": 3, "to": "file.html", "says": "beside"},
    ]
    encoding = {
        "x": {"field": "x", "type": "quantitative"},
        "href": {"field": "to"},
        "description": {"field": "says"},
    }
    svg = draw({"data": {"values": values}, "mark": "point", "encoding": encoding}, title="links")
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own
    assert [(e.get("href"), e.get("aria-label")) for e in root.iter("a")] == [
        ("#replay-1-call-2", "in")
    ]
    assert "example.org" not in svg
    assert "file.html" not in svg


@given(st.lists(POINTS, min_size=1, max_size=9))
def test_the_frontier_is_what_none_beats(points):
    def beaten(point):
        return any(
            other.billed <= point.billed
            and other.reached >= point.reached
            and (other.billed, other.reached) != (point.billed, point.reached)
            for other in points
        )

    best = frontier(points)
    assert sorted(best, key=repr) == sorted((p for p in points if not beaten(p)), key=repr)
    assert [p.billed for p in best] == sorted(p.billed for p in best)


@given(
    st.lists(
        st.builds(
            lambda text, x, y: Dot(text=text, x=x, y=y),
            st.text("abcdef", min_size=1, max_size=50),
            st.integers(0, 560).map(float),
            st.integers(0, 240).map(float),
        ),
        max_size=20,
    )
)
def test_names_lie_inside_the_chart_and_not_on_each_other(dots):
    found = []
    for label in placed(dots, width=560, height=240):
        length = len(label.text) * CHARACTER
        left = label.x if label.align == "left" else label.x - length
        found.append((left, label.y - 7, left + length, label.y + 7))
    for left, top, right, bottom in found:
        assert min(left, top) >= 0
        assert right <= 560
        assert bottom <= 240
    for place, (left, top, right, bottom) in enumerate(found):
        for other in found[:place]:
            apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
            assert apart


@given(st.lists(st.sampled_from(["a", "a (2)", "b", ""]), max_size=9))
def test_names_made_unique_are_as_many_and_begin_alike(names):
    found = unique(tuple(names))
    assert len(set(found)) == len(found) == len(names)
    assert all(new.startswith(old) for new, old in zip(found, names, strict=True))


def test_a_section_has_its_share_and_what_is_over_and_counts_the_rest():
    room = Room()
    made = []

    def block(size):
        def make():
            made.append(size)
            return "x" * size

        return make

    first = room.fill([block(30)], share=100)
    sizes = (100, 60, 15, 61, 62, 1)
    second = room.fill([block(size) for size in sizes], share=50)
    assert (len(first.blocks), first.left_out) == (1, 0)
    assert [len(each) for each in second.blocks] == [100, 15]
    assert second.left_out == 4
    assert made == [30, 100, 60, 15, 61, 62]


def grouped(*subjects):
    tests = [runs.result(f"t.py::test_{n}", subject) for n, subject in enumerate(subjects)]
    return by_transcript(Run(tests=tuple(tests)))


def test_one_policy_run_alike_by_two_tests_is_one_row_with_what_both_asked():
    asked = runs.replay(facts=facts(4, None))
    also = runs.replay(facts=facts(None, 2), by_call=calls(2))
    # a fact's sources are the replay's, whoever asks
    same = tuple(replace(fact, sources=("original",)) for fact in asked.replay.facts)
    asked = replace(asked, replay=replace(asked.replay, facts=same))
    [[row]] = grouped(asked, also)
    assert row.tests == ("t.py::test_0", "t.py::test_1")
    assert [fact.answered for fact in row.figures.facts] == [4, 2]
    assert len(row.figures.by_call) == 2


@pytest.mark.parametrize(
    "other",
    [
        runs.replay(facts=facts(5, 6)),
        runs.replay(facts=facts(6, 6), billed=1),
        runs.replay(facts=facts(6, 6, carried=3)),
        runs.replay(facts=facts(6, 6)[:1]),
        runs.replay(facts=facts(6, 6), label="x"),
        runs.replay(facts=facts(6, 6), budget=4_000),
    ],
    ids=["answers", "cost", "carried", "facts", "label", "budget"],
)
def test_replays_that_differ_are_rows_of_their_own(other):
    [rows] = grouped(runs.replay(facts=facts(6, 6)), other)
    assert len(rows) == 2


def test_transcripts_and_counters_are_groups():
    groups = grouped(
        runs.replay(),
        runs.replay(name="chat"),
        runs.replay(counter="o200k"),
        runs.replay(policy="b"),
    )
    assert [[row.title for row in group] for group in groups] == [
        ["chat / fit"],
        ["incident-40 / fit"],
        ["incident-40 / fit", "incident-40 / b"],
    ]


def test_policies_are_compared_where_the_same_was_asked_and_by_facts_where_nothing_was():
    [rows] = grouped(
        runs.replay(policy="a", facts=facts(6, 6)),
        runs.replay(policy="b", facts=facts(3, 1)),
        runs.replay(policy="c", facts=facts(None, 4)),
        runs.replay(policy="d", facts=facts(None, None, carried=3)),
    )
    charts = {chart.title: chart for chart in policy_charts(rows)}
    assert [*charts] == [
        "Cost against answers: employee, shard",
        "Cost against carried facts",
        "Outcomes by fact and policy",
    ]
    assert [row[0] for row in charts["Cost against answers: employee, shard"].table.rows] == [
        "a",
        "b",
    ]
    carried = charts["Cost against carried facts"].table.rows
    assert [(row[0], row[2], row[3]) for row in carried] == [
        ("a", "2", "2"),
        ("b", "2", "2"),
        ("c", "2", "2"),
        ("d", "0", "2"),
    ]
    bars = charts["Outcomes by fact and policy"].table
    assert bars.head == ("", "hit", "invented", "all")
    assert ("shard: b", "1", "5", "6") in bars.rows


def test_the_matrix_tells_carried_from_answered():
    [rows] = grouped(runs.replay(policy="a", facts=facts(0, None)))
    table = matrix(rows)
    employee, shard = table.rows[0][-2:]
    assert (employee.text, employee.kind) == (
        "carried 6/6 (original, echoed); answered 0/6",
        "none",
    )
    assert (shard.text, shard.kind) == ("carried 6/6 (original)", "all")


def test_of_a_fact_without_usable_wordings_nothing_is_compared_and_nothing_is_green():
    unusable = (runs.fact(answered=0, asked=0, carried=0, of=0),)
    [rows] = grouped(*(runs.replay(policy=policy, facts=unusable) for policy in "ab"))
    assert [*policy_charts(rows)] == []
    cell = matrix(rows).rows[0][-1]
    assert (cell.text, cell.kind) == ("carried 0/0; answered 0/0", "")


def test_of_a_recall_without_trials_nothing_is_drawn():
    untried = runs.cell(planned=32, of=0, hits=0, outcomes={})
    assert [*recall_charts(runs.recall(cells=(untried,)).recall)] == []
    assert [*recall_charts(runs.recall(cells=()).recall)] == []


def test_a_replay_without_facts_has_its_tokens_and_one_policy_no_comparison():
    [rows] = grouped(runs.replay())
    assert matrix(rows).head == ("policy", "calls", "billed", "last request")
    assert matrix(rows).rows == (("fit", "40", "168,550", "9,816"),)
    assert [*policy_charts(rows)] == []


def test_parts_of_every_call_add_up_to_its_tokens():
    figures = runs.replay(by_call=calls(9, every=3)).replay
    for chart in call_charts(figures, anchor="r"):
        values = chart.spec["data"]["values"]
        for call in figures.by_call:
            parts = [row for row in values if row["call"] == call.call]
            assert max(row["end"] for row in parts) == call.tokens
            assert sum(row["end"] - row["begin"] for row in parts) == call.tokens


def test_calls_that_were_not_asked_for_make_no_chart():
    assert [*call_charts(runs.replay().replay, anchor="r")] == []


def test_of_very_many_calls_both_ends_are_drawn_and_the_rest_is_told():
    [buckets, prefix] = call_charts(runs.replay(by_call=calls(1_000)).replay, anchor="r")
    assert buckets.left_out.startswith("Calls 60 to 939 are left out")
    assert len(prefix.table.rows) == 120


@pytest.mark.parametrize(
    ("told", "title"),
    [
        (cells((0.0, 0.5)), "Recall by depth"),
        (cells((0.5,)) + cells((0.5,), records=140), "Recall by length"),
        ((runs.cell(depth=None, records=None),), "Recall by cell"),
        (cells((0.5,)), "Recall by cell"),
    ],
    ids=["depths", "lengths", "no place", "one cell"],
)
def test_recall_is_drawn_by_what_its_cells_differ_in(told, title):
    rates, outcomes = recall_charts(runs.recall(cells=told).recall)
    assert rates.title == title
    assert [row["rate"] for row in rates.spec["data"]["values"]] == [
        cell.hits / cell.of for cell in told
    ]
    assert len(outcomes.table.rows) == len(told)
    pytest.importorskip("vl_convert")
    svg = draw(rates.spec, title=rates.title)
    assert len(re.findall('role="graphics-symbol"', svg)) == len(told)
