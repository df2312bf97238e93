from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pytest_ctxguard.report.run import Effort, Instruments, Run
from pytest_ctxguard.report.terminal.screen import Screen
from pytest_ctxguard.report.terminal.section import closing_lines, effort_lines, summary_lines
from tests.report.runs import (
    HOSTILE,
    cell,
    change,
    fact,
    finding,
    judgement,
    recall,
    replay,
    result,
)

VERBOSE = Screen(width=200, verbosity=1)
QUIET = Screen(width=200, verbosity=-1)
WIDE = Screen(width=200)


def texts(run: Run, screen: Screen = WIDE) -> list[str]:
    return [text for text, _ in summary_lines(run, screen)]


def styles(run: Run, screen: Screen = WIDE) -> dict[str, tuple[str, ...]]:
    return {text.strip(): each for text, each in summary_lines(run, screen)}


def broken_run() -> Run:
    lost = judgement("carried(shard)", finding())
    dearer = judgement("token_cost", finding("ctx_token_cost.dearer", baseline=True))
    return Run(
        tests=(
            result("test_a.py::test_fail", replay(judgement(), lost, dearer)),
            result("test_a.py::test_pass", replay(judgement(), policy="full_history")),
        )
    )


def test_the_first_line_is_the_verdict():
    run = replace(broken_run(), changes=(change("regressed", 10, 12), change("unchanged", 1, 1)))
    assert texts(run)[0] == (
        "FAIL: 2 tests: 1 failed, 1 passed. Against the baseline: 1 regressed, 1 unchanged."
    )


@pytest.mark.parametrize(
    ("tests", "tolerated", "said", "colour"),
    [
        ([result()], False, "PASS: 1 test: 1 passed.", "green"),
        ([result(verdict="error")], False, "ERROR: 1 test: 1 could not be judged.", "red"),
        ([result(verdict="skipped")], False, "NOTHING JUDGED: 1 test: 1 skipped.", "yellow"),
        (
            [result(verdict="inconclusive")],
            False,
            "INCONCLUSIVE: 1 test: 1 cannot be decided.",
            "yellow",
        ),
        (
            [result(verdict="inconclusive")],
            True,
            "INCONCLUSIVE (tolerated): 1 test: 1 cannot be decided.",
            "yellow",
        ),
        (
            [result(), result("a::b", verdict="fail", outcome="xfailed")],
            False,
            "PASS: 2 tests: 1 passed, 1 failed as expected.",
            "green",
        ),
    ],
)
def test_each_verdict_has_its_words_and_its_colour(tests, tolerated, said, colour):
    run = Run(tests=tuple(tests), tolerated=tolerated)
    first, style = next(summary_lines(run, WIDE))
    assert first == said
    assert style == (colour, "bold")


def test_a_transcript_has_a_table_with_a_row_for_each_policy():
    shard = fact(carried=33, of=33, answered=5, asked=6, outcomes={"hit": 5, "neighbour": 1})
    tests = (
        result("a::full", replay(judgement(), policy="full_history", facts=(shard,))),
        result(
            "a::window",
            replay(
                judgement("carried(shard)", finding()),
                policy="SlidingWindow",
                label="narrow",
                budget=4000,
                billed=90_000,
                facts=(fact(carried=0, of=33, answered=0, asked=6, outcomes={"neighbour": 6}),),
            ),
        ),
    )
    billed = change("regressed", 80_000, 90_000, nodeid="a::window", label="narrow")
    lines = texts(Run(tests=tests, changes=(billed,)))
    start = lines.index("transcript incident-40")
    cells = [line.split("  ") for line in lines[start + 2 : start + 5]]
    head, full, window = ([part.strip() for part in row if part.strip()] for row in cells)
    assert head[:4] == ["policy", "verdict", "budget", "tokens"]
    assert full[:4] == ["full_history", "pass", "168,550", "9,816"]
    assert full[4:7] == ["33 of 33", "5 of 6", "1 neighbour"]
    assert window[:5] == ["SlidingWindow [narrow]", "fail", "4,000", "90,000", "+12.5%"]
    assert window[6:9] == ["0 of 33", "0 of 6", "6 neighbour"]
    assert window[-1] == "carried(shard)"


def test_a_row_has_the_colour_of_its_verdict():
    open_ = judgement("needle_recall", finding(inconclusive=True))
    run = Run(
        tests=(
            result("a::a", replay(judgement(), policy="keeps")),
            result("a::b", replay(judgement("x", finding()), policy="loses")),
            result("a::c", replay(open_, policy="undecided")),
        )
    )
    found = {key.split()[0]: style for key, style in styles(run).items() if "168,550" in key}
    assert found == {"keeps": (), "loses": ("red",), "undecided": ("yellow",)}


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_and_sentences_fit_the_terminal(width):
    facts = tuple(fact(name, answered=3, asked=6) for name in ("employee", "shard", "region"))
    run = Run(
        tests=(
            result("a::a", replay(judgement(), policy="SlidingWindow", facts=facts)),
            result("a::b", recall(judgement(), cells=(cell(), cell(title="100 records, depth 1")))),
        ),
        changes=(change("regressed", 1, 2), change("incomparable", 1, 2, differing=("model",))),
        findings=(finding(),),
    )
    screen = Screen(width=width)
    lines = [*summary_lines(run, screen), *closing_lines(run, screen)]
    assert max(cell_len(text) for text, _ in lines) <= width


def test_a_narrow_terminal_loses_no_count_of_a_fact():
    facts = tuple(fact(f"fact{n}", carried=n, of=40 + n) for n in range(9))
    lines = texts(Run(tests=(result("a::a", replay(judgement(), facts=facts)),)), Screen(width=60))
    text = "\n".join(lines)
    for n in range(9):
        assert f"{n} of {40 + n}" in text
        assert f"fact{n}" in text


def test_a_recall_has_a_row_for_each_cell_with_its_interval():
    cells = (cell(), cell(title="all", of=3, hits=3, outcomes={"hit": 3}, carried=3))
    lines = texts(Run(tests=(result("a::t", recall(judgement(), cells=cells, label="deep")),)))
    start = lines.index("needles in register")
    rows = [" ".join(line.split()) for line in lines[start + 3 : start + 5]]
    assert rows == [
        "fit [deep]: 25 records, depth 0 27 of 32 68% to 93% 32 4 neighbour, 1 other 1,384",
        "fit [deep]: all 3 of 3 32 68% to 93% 3 1,384",
    ]


def test_what_is_broken_has_a_line_each_and_the_commands():
    lines = texts(broken_run())
    start = next(i for i, line in enumerate(lines) if line.startswith("fail  "))
    assert lines[start : start + 4] == [
        "fail         test_a.py::test_fail",
        "  [ctx_carried.lost] the policy dropped 'shard' ('pay-core-07'): "
        "carried in 0 of 6 requests; allowed: carried in all of them",
        "  [ctx_token_cost.dearer] the policy dropped 'shard' ('pay-core-07'): "
        "carried in 0 of 6 requests; allowed: carried in all of them",
        "  again   pytest --ctxguard test_a.py::test_fail",
    ]
    assert "why" not in "\n".join(lines)


def test_accepting_is_offered_where_it_mends_the_test_and_nowhere_else():
    dearer = judgement("token_cost", finding("ctx_token_cost.dearer", baseline=True))
    lost = judgement("carried(shard)", finding())
    command = '  accept  pytest-ctxguard accept test_a.py::test_a --reason "…"'
    run = Run(tests=(result("test_a.py::test_a", replay(dearer)),))
    both = Run(tests=(result("test_a.py::test_a", replay(dearer, lost)),))
    assert command in texts(run)
    assert command not in texts(both)
    assert command not in texts(replace(run, instruments=Instruments(compare="main")))


def test_rows_of_several_tests_that_replay_one_policy_name_their_tests():
    run = Run(
        tests=(
            result("a.py::test_pin[three]", replay(judgement(), label="pin")),
            result("a.py::test_pin[five]", replay(judgement(), label="pin")),
            result("a.py::test_other", replay(judgement(), policy="other")),
        )
    )
    text = "\n".join(texts(run))
    assert "fit [pin] (test_pin[three])" in text
    assert "fit [pin] (test_pin[five])" in text
    assert "other (" not in text


def test_what_cannot_be_decided_says_what_would_decide_it():
    takes = "at the rate seen, 5 of 8, 104 trials show it four times in five"
    undecided = judgement("needle_recall", finding(inconclusive=True, remedy=takes))
    run = Run(tests=(result("a::t", replay(undecided)),))
    assert styles(run)[f"what to do: {takes}"] == ("yellow",)


def test_an_error_shows_its_message():
    run = Run(tests=(result(verdict="error", message="ModelMissing: fetch it"),))
    assert "  ModelMissing: fetch it" in texts(run)


def test_many_failures_are_not_all_listed_but_with_v():
    tests = [result(f"a::t{n:02}", replay(judgement("x", finding()))) for n in range(30)]
    run = Run(tests=tuple(tests))
    short = texts(run)
    assert "22 more tests; each is under FAILURES or ERRORS, and -v names them here" in short
    assert sum(line.startswith("fail  ") for line in short) == 8
    assert sum(line.startswith("fail  ") for line in texts(run, VERBOSE)) == 30


def test_many_tables_show_the_worst():
    tests = [result(f"a::t{n}", replay(judgement(), name=f"session-{n}")) for n in range(10)]
    bad = result("a::bad", replay(judgement("x", finding()), name="zebra"))
    lines = texts(Run(tests=(*tests, bad)))
    assert "transcript zebra" in lines
    assert "5 more tables, none of them worse: -v shows all" in lines


def test_changes_say_what_it_was_and_is():
    changes = (
        change("unchanged", 5, 5, metric="same"),
        change("improved", 100, 90),
        change("new", None, 7, label="x", metric="fresh"),
        change("incomparable", 1, 2, differing=("counter", "model")),
        change("stale", 3, None, metric="gone"),
        change("unchanged", 9, 9, metric="kept", accepted="two regions now"),
    )
    lines = [line for line in texts(Run(tests=(result(),), changes=changes)) if "test_a.py" in line]
    assert lines == [
        "  incomparable test_a.py::test_a billed_input_tokens: 1 → 2, "
        "measured with another counter, model",
        "  stale        test_a.py::test_a gone: 3",
        "  new          test_a.py::test_a [x] fresh: 7",
        "  improved     test_a.py::test_a billed_input_tokens: 100 → 90 (-10.0%)",
        "  accepted     test_a.py::test_a kept: 9, for the reason 'two regions now'",
    ]


def test_new_values_come_with_the_way_to_record_them_unless_they_were():
    run = Run(tests=(result(),), changes=(change("new", None, 7),))
    assert any("--ctxguard-update-new" in line for line in texts(run))
    written = texts(replace(run, written=("a.ctxguard.json", "b.ctxguard.json")))
    assert not any("--ctxguard-update-new" in line for line in written)
    assert written[-2:] == [
        "baseline written: a.ctxguard.json",
        "baseline written: b.ctxguard.json",
    ]


def test_an_update_is_not_advised_where_it_would_record_what_is_worse_nor_beside_a_ref():
    better, worse = change("improved", 2, 1), change("regressed", 1, 2)
    advice = "keep what improved with --ctxguard-update, and commit the .ctxguard.json files"
    run = Run(tests=(result(),), changes=(better,))
    assert f"  {advice}" in texts(run)
    mixed = texts(replace(run, changes=(better, worse)))
    assert f"  {advice}" not in mixed
    assert any("pytest-ctxguard accept, test by test" in line for line in mixed)
    beside = texts(replace(run, instruments=Instruments(compare="main")))
    assert not any(line.startswith("  keep what improved") for line in beside)


def test_a_file_removed_is_said_once():
    lines = texts(Run(tests=(result(),), removed=("a.ctxguard.json",)))
    assert lines.count("baseline removed: a.ctxguard.json") == 1


def test_notes_and_what_was_not_checked():
    run = Run(
        tests=(result("a::t", note="the body failed", unchecked=("ctx_answered", "ctx_x")),),
        instruments=Instruments(seed=7),
    )
    assert texts(run)[-3:] == [
        "a::t: the body failed",
        "not checked in this tier: ctx_answered, ctx_x",
        "samples were drawn anew, with --ctxguard-seed 7",
    ]


def test_why_counts_are_approximate_is_said_once():
    why = "approximate counts by o200k: tools are not published"
    tests = (
        result("a::t", replay(judgement(), approximate=why), replay(judgement(), label="x")),
        result("b::t", replay(judgement(), approximate=why)),
    )
    assert texts(Run(tests=tests)).count(why) == 1


def test_q_has_the_verdict_and_what_is_broken_alone():
    run = replace(broken_run(), changes=(change("new", None, 7),))
    lines = texts(run, QUIET)
    assert len(lines) == 5
    assert not list(effort_lines(Effort(asked=3), QUIET))


def test_v_has_every_judgement():
    tests = (
        result(
            "a.py::test_a",
            replay(
                judgement("answered(shard)", finding(inconclusive=True), summary="4 of 6"),
                judgement("token_cost", finding(), summary="dear", state="regressed"),
                judgement("carried(shard)"),
                label="x",
                budget=4000,
            ),
            note="n",
            unchecked=("ctx_x",),
        ),
        result("b.py::test_b", recall(judgement(state="new"), cells=(cell(),))),
    )
    lines = texts(Run(tests=tests), VERBOSE)
    start = lines.index("a.py::test_a")
    assert lines[start : start + 12] == [
        "a.py::test_a",
        "  incident-40 / fit [x]: 40 calls, 168,550 tokens billed, 9,816 in the last request, "
        "budget 4,000",
        "    inconclusive answered(shard): 4 of 6",
        "    fail         token_cost: dear [regressed]",
        "    pass         carried(shard): fine",
        "  n",
        "  not checked in this tier: ctx_x",
        "b.py::test_b",
        "  register / fit: 32 trials, seed 3, 44,288 prompt tokens",
        "    25 records, depth 0: 27 of 32, 68% to 93% (4 neighbour, 1 other); carried in 32",
        "    pass         budget: fine [new]",
        "promises: 1 fail, 1 inconclusive, 2 pass; against the baseline: 1 new, 1 regressed",
    ]


def test_what_concerns_the_run_as_a_whole_closes_it_in_five_parts_and_in_red():
    command = "remove it: pytest --ctxguard --ctxguard-update a_module_with_a_long_name/test_a.py"
    run = Run(tests=(result(),), findings=(finding("baseline.stale", remedy=command),))
    assert run.verdict == "fail"
    lines = list(closing_lines(run, Screen(width=60)))
    assert {style[0] for _, style in lines} == {"red"}
    assert lines[0][0].startswith("[baseline.stale]")
    heads = [text.split()[0] for text, _ in lines if text.startswith("  ") and text[2] != " "]
    assert heads[-5:] == ["where", "measured", "allowed", "why", "remedy"]
    assert lines[-1][0] == f"  remedy    {command}"  # whole, however narrow


def test_an_encoding_without_the_signs_gets_plain_ones():
    run = Run(
        tests=(result("a::t", replay(judgement(), policy="größe")),),
        changes=(change("regressed", 1, 2),),
    )
    lines = texts(run, Screen(width=120, encoding="ascii"))
    assert all(line.isascii() for line in lines)
    assert any("1 -> 2" in line for line in lines)
    assert any("gr\\xf6\\xdfe" in line for line in lines)


def test_nothing_a_terminal_obeys_gets_through():
    bad = judgement(HOSTILE, finding(what=HOSTILE, where=HOSTILE, measured=HOSTILE, remedy=HOSTILE))
    run = Run(
        tests=(
            result(
                HOSTILE,
                replay(bad, name=HOSTILE, policy=HOSTILE, label=HOSTILE, facts=(fact(HOSTILE),)),
                note=HOSTILE,
                unchecked=(HOSTILE,),
            ),
        ),
        findings=(finding(what=HOSTILE, remedy=HOSTILE),),
        changes=(change("new", None, 1, nodeid=HOSTILE, metric=HOSTILE),),
        effort=Effort(notes=(HOSTILE,)),
    )
    for screen in (WIDE, VERBOSE, QUIET):
        lines = [
            *summary_lines(run, screen),
            *effort_lines(run.effort, screen),
            *closing_lines(run, screen),
        ]
        for text, _ in lines:
            assert text.isprintable()


@given(st.text(max_size=40), st.integers(20, 200))
def test_any_name_at_any_width_is_drawn(name, width):
    run = Run(
        tests=(result(f"a::{name}", replay(judgement(), policy=name, facts=(fact(name),))),),
    )
    for text, _ in summary_lines(run, Screen(width=width, encoding="latin-1")):
        text.encode("latin-1")


def test_a_long_table_shows_its_worst_rows():
    tests = [result(f"a::t{n:03}", replay(judgement(), policy=f"kept{n:03}")) for n in range(60)]
    bad = result("a::z", replay(judgement("x", finding()), policy="zebra"))
    lines = texts(Run(tests=(*tests, bad)))
    shown = [line.split()[0] for line in lines if "168,550" in line]
    assert shown == [*(f"kept{n:03}" for n in range(19)), "zebra"]
    assert "  41 more rows, none of them worse: -v shows all" in lines
    verbose = texts(Run(tests=(*tests, bad)), VERBOSE)
    table = verbose[: verbose.index("a::t000")]
    assert sum("168,550" in line for line in table) == 61
