"""Several runs of parts of a suite, merged: the same as the run of all of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.errors import ReportError
from pytest_ctxguard.report.beside_baseline import changes, stale, stale_findings, with_whole
from pytest_ctxguard.report.json_file import dumps, read_run
from pytest_ctxguard.report.merging import merge
from pytest_ctxguard.report.run import (
    Collection,
    Effort,
    Instruments,
    Run,
    Subject,
    TestResult,
)
from pytest_ctxguard.report.shards import Shard
from pytest_ctxguard.report.whole_run import nothing_judged

DESELECTED = "tests were deselected"
INSTRUMENTS = Instruments(tier="structure", counter="qwen2.5", model="tiny", seed=3)


def metric(value=100):
    return Metric(value, {"counter": "qwen2.5"})


def finding(rule="ctx_budget.over", **changes):
    parts = dict.fromkeys(("what", "where", "measured", "allowed", "why", "remedy"), "so")
    return Finding(rule=rule, **{**parts, **changes})


def result(name, *, module="test_a", verdict="pass", value=100, **changes):
    judgement = Judgement(
        "token_cost",
        "100 tokens",
        () if verdict == "pass" else (finding(inconclusive=verdict == "inconclusive"),),
        metrics={"cost": metric(value)},
        states={"cost": "unchanged"},
    )
    fields = {
        "nodeid": f"{module}.py::{name}",
        "file": f"{module}.py",
        "line": 1,
        "baseline": f"{module}.ctxguard.json",
        "key": name,
        "outcome": "failed" if verdict == "fail" else "passed",
        "verdict": verdict,
        "subjects": (Subject(kind="replay", name="mini", judgements=(judgement,)),),
    }
    return TestResult(**{**fields, **changes})


def skipped(name, **changes):
    return result(name, verdict="skipped", outcome="skipped", subjects=(), **changes)


SUITE = tuple(
    result(f"test_{n}", module=module, verdict=verdict)
    for module in ("test_a", "test_b")
    for n, verdict in enumerate(("pass", "fail", "pass", "inconclusive"))
)
BASELINES = {
    f"{module}.ctxguard.json": {
        (key, ""): {"cost": metric()} for key in (f"test_{n}" for n in (0, 1, 2, 3, *more))
    }
    for module, more in (("test_a", ()), ("test_b", (7,)))  # test_7 is gone
}


def run(tests, *, guarded=(), baselines=BASELINES, effort=None, **collected):
    """Return the run of some tests, as the controller makes it."""
    tests = tuple(sorted(tests, key=lambda test: test.nodeid))
    ids = guarded or tuple(test.nodeid for test in tests)
    collection = with_whole(Collection(guarded=tuple(sorted(ids)), **collected), tests)
    gone = stale(tests, collection, baselines)
    run = Run(
        tests=tests,
        findings=tuple(stale_findings(gone, gone=collection.gone)),
        changes=(*changes(tests, baselines), *gone),
        collection=collection,
        instruments=INSTRUMENTS,
        effort=effort or Effort(started="2026-03-01T10:00:00+00:00", seconds=2.5, notes=("slow",)),
    )
    nothing = nothing_judged(run)
    return run if nothing is None else replace(run, findings=(*run.findings, nothing))


def shard(number, tests, **options):
    options.setdefault("guarded", tuple(test.nodeid for test in SUITE))
    options.setdefault("narrowed", (DESELECTED,))
    effort = Effort(started=f"2026-03-01T10:00:0{number}+00:00", seconds=1.0, asked=number)
    return Shard(name=f"shard-{number}.json", run=run(tests, effort=effort, **options))


def merged(*shards, expected=None, baselines=BASELINES):
    return merge(shards, read=baselines.__getitem__, expected=expected)


def results_of(run):
    """Return the bytes of a run but for its effort."""
    return dumps(replace(run, effort=Effort()), indent=1)


def rules(run):
    return [each.rule for each in run.findings]


def test_one_file_merged_is_that_run_again():
    whole = run(SUITE)

    again = merged(Shard(name="all.json", run=whole))

    assert dumps(again) == dumps(whole)
    assert rules(whole) == ["baseline.stale"]


@given(st.lists(st.integers(0, 3), min_size=len(SUITE), max_size=len(SUITE)), st.randoms())
def test_shards_of_any_division_come_to_the_run_of_all_in_any_order(division, random):
    shards = [
        shard(number, [t for t, group in zip(SUITE, division, strict=True) if group == number])
        for number in range(4)
    ]

    one = merged(*shards, expected=4)
    random.shuffle(shards)
    other = merged(*shards, expected=4)

    assert dumps(one) == dumps(other)
    assert results_of(one) == results_of(run(SUITE))
    assert one.effort.asked == 6
    assert one.effort.seconds == 4.0


def test_shards_by_module_need_no_narrowing():
    parts = [
        shard(n, tests, guarded=(), narrowed=()) for n, tests in enumerate((SUITE[:4], SUITE[4:]))
    ]

    assert results_of(merged(*parts)) == results_of(run(SUITE))


def test_shards_by_node_id_leave_open_what_no_shard_collected_whole():
    parts = [
        shard(n, tests, guarded=(), narrowed=("only some tests were named",), partly=("test_b.py",))
        for n, tests in enumerate((SUITE[4:6], SUITE[6:]))
    ]

    found = merged(*parts)

    assert found.collection.whole == ()
    assert found.collection.partly == ("test_b.py",)
    assert found.collection.narrowed == ("only some tests were named",)
    assert rules(found) == []  # test_7 may be one of those that were not named


def test_what_is_merged_already_may_be_merged_with_the_rest():
    parts = [shard(n, SUITE[n::3]) for n in range(3)]

    first = Shard(name="two.json", run=merged(*parts[:2]))
    assert "run.missing" in rules(first.run)

    assert dumps(merged(first, parts[2])) == dumps(merged(*parts))


def test_an_entry_is_stale_only_if_its_module_ran_whole_over_the_shards():
    some, most = shard(0, SUITE[:2]), shard(1, SUITE[2:7])

    assert rules(merged(some, most)) == ["run.missing"]
    assert rules(merged(some, most, shard(2, SUITE[7:]))) == ["baseline.stale"]


def test_tests_that_no_shard_ran_are_named_and_fail():
    found = merged(shard(0, SUITE[:3]), shard(1, SUITE[5:]))

    assert found.verdict == "fail"
    (missing,) = found.findings
    assert missing.rule == "run.missing"
    assert missing.what == "2 guarded tests were collected, and run by no shard"
    assert missing.where == "test_a.py::test_3; test_b.py::test_0"
    assert missing.measured == "6 of 8 ran"
    assert not missing.inconclusive
    assert found.collection.narrowed == (DESELECTED,)


def test_a_long_list_of_missing_tests_is_cut():
    (missing,) = merged(shard(0, SUITE[:1])).findings

    assert missing.where.endswith("test_b.py::test_1 and 2 more")


@pytest.mark.parametrize(
    ("expected", "why"),
    [(3, "what the other shards were to check is not known"), (1, "one of them is of another run")],
)
def test_another_number_of_reports_than_expected_fails(expected, why):
    found = merged(shard(0, SUITE[:4]), shard(1, SUITE[4:]), expected=expected)

    shards = next(each for each in found.findings if each.rule == "run.shards")
    assert shards.what == f"2 reports for {expected} shards"
    assert shards.where == "shard-0.json, shard-1.json"
    assert shards.why == why
    assert not found.passes


def test_a_module_that_could_not_be_collected_fails_although_every_known_test_ran():
    broken = (DESELECTED, "a module could not be collected")
    ids = tuple(test.nodeid for test in SUITE[:4])
    parts = [
        shard(n, tests, guarded=ids, narrowed=broken)
        for n, tests in enumerate((SUITE[:2], SUITE[2:4]))
    ]

    found = merged(*parts)

    assert rules(found) == ["run.broken"]
    assert found.collection.narrowed == ("a module could not be collected",)
    assert found.verdict == "fail"


def test_a_test_in_two_shards_may_have_one_result():
    found = merged(shard(0, SUITE[:5]), shard(1, SUITE[3:]))

    assert results_of(found) == results_of(run(SUITE))


def test_two_results_of_one_test_are_an_error_that_names_both_files():
    other = result("test_0", verdict="fail")
    parts = shard(0, SUITE[:5]), shard(1, [other, *SUITE[5:]])

    with pytest.raises(ReportError) as caught:
        merged(*parts)

    assert str(caught.value).startswith("shard-")
    assert "shard-0.json" in str(caught.value)
    assert "shard-1.json" in str(caught.value)
    assert "two results for test_a.py::test_0: " in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": "huge"}, "model 'tiny' and 'huge'"),
        ({"tier": "model"}, "tier 'structure' and 'model'"),
        ({"seed": 4}, "seed 3 and 4"),
        ({"compare": "main"}, "compare '' and 'main'"),
        ({"counter": "o200k"}, "counter 'qwen2.5' and 'o200k'"),
    ],
)
def test_shards_with_other_instruments_are_an_error(changed, said):
    one, other = shard(0, SUITE[:4]), shard(1, SUITE[4:])
    instruments = replace(INSTRUMENTS, **changed)
    other = replace(other, run=replace(other.run, instruments=instruments))

    with pytest.raises(ReportError) as caught:
        merged(one, other)

    assert str(caught.value).startswith(
        f"shard-0.json and shard-1.json were not judged alike: {said}. "
    )


def test_shards_of_which_one_tolerates_more_are_an_error():
    one, other = shard(0, SUITE[:4]), shard(1, SUITE[4:])
    other = replace(other, run=replace(other.run, tolerated=True))

    with pytest.raises(ReportError, match="inconclusive verdicts tolerated False and True"):
        merged(one, other)


def test_shards_of_other_code_are_an_error():
    other = tuple(test.nodeid for test in SUITE[:7])

    with pytest.raises(ReportError) as caught:
        merged(shard(0, SUITE[:4]), shard(1, SUITE[4:7], guarded=other))

    assert "shard-0.json and shard-1.json are not of the same code: test_b.py::test_3 was " in str(
        caught.value
    )
    assert "collected in shard-0.json, and not in shard-1.json" in str(caught.value)


def test_one_report_under_two_names_is_an_error():
    one = shard(0, SUITE[:4])

    with pytest.raises(ReportError, match=r"shard-0\.json and copy\.json are one report twice"):
        merged(one, replace(one, name="copy.json"))


def test_shards_without_a_guarded_test_are_no_copies_of_each_other():
    empty = [shard(0, []), replace(shard(0, []), name="shard-1.json")]

    assert results_of(merged(*empty, shard(2, SUITE))) == results_of(run(SUITE))


def test_a_baseline_other_than_the_shards_were_compared_with_is_an_error():
    elsewhere = {
        **BASELINES,
        "test_a.ctxguard.json": {("test_0", ""): {"cost": metric(99)}},
    }

    with pytest.raises(ReportError) as caught:
        merged(shard(0, SUITE[:4]), shard(1, SUITE[4:]), baselines=elsewhere)

    assert str(caught.value).startswith("test_a.ctxguard.json: not the baseline that the shards ")
    assert "test_a.py::test_0 cost was 100, and is 99 here" in str(caught.value)
    assert "--baseline-root" in str(caught.value)


def test_a_baseline_that_is_not_there_is_an_error():
    with pytest.raises(ReportError, match="was 100, and is not in it here"):
        merged(shard(0, SUITE), baselines={name: {} for name in BASELINES})


def test_a_baseline_that_a_shard_wrote_is_no_longer_what_it_compared_with():
    parts = [shard(0, SUITE[:4]), shard(1, SUITE[4:])]
    written = ("test_a.ctxguard.json", "test_b.ctxguard.json")
    parts = [replace(each, run=replace(each.run, written=written)) for each in parts]

    assert merged(*parts, baselines={}).written == written


def test_baseline_files_without_a_module_count_once_all_shards_are_there():
    gone = {"gone": ("test_old.ctxguard.json",)}
    parts = [shard(0, SUITE[:4], **gone), shard(1, SUITE[4:], **gone)]

    assert rules(parts[0].run) == []
    assert results_of(merged(*parts)) == results_of(run(SUITE, **gone))
    assert {each.where for each in merged(*parts).findings} == {
        "test_old.ctxguard.json",
        "test_b.py::test_7",
    }


def test_a_baseline_has_guarded_tests_if_any_shard_has_some():
    names = {"unguarded": ("test_b.ctxguard.json",)}
    parts = [
        shard(0, SUITE[:4], guarded=(), narrowed=(), **names),
        shard(1, SUITE[4:], guarded=(), narrowed=()),
    ]

    assert merged(*parts).collection.unguarded == ()


def test_what_a_shard_found_of_itself_is_kept_once():
    own = finding("run.crashed", where="gw0")
    parts = [shard(0, SUITE[:4]), shard(1, SUITE[4:])]
    parts = [replace(each, run=replace(each.run, findings=(own,))) for each in parts]

    assert rules(merged(*parts)) == ["run.crashed", "baseline.stale"]


def test_a_merge_in_which_nothing_was_judged_is_inconclusive():
    tests = [skipped(f"test_{n}") for n in range(2)]
    ids = tuple(test.nodeid for test in tests)
    parts = [shard(n, [test], guarded=ids) for n, test in enumerate(tests)]

    assert all(each.run.passes for each in parts)
    found = merged(*parts)

    assert rules(found) == ["run.nothing-judged"]
    assert found.verdict == "inconclusive"
    assert not found.passes
    assert replace(found, tolerated=True).passes


def test_a_merged_run_comes_back_from_its_file(tmp_path):
    found = merged(shard(0, SUITE[:4]), shard(1, SUITE[4:]))
    path = tmp_path / "merged.json"
    path.write_text(dumps(found, indent=1))

    assert read_run(path) == found


# of a run as a whole


@pytest.mark.parametrize(
    ("tests", "measured", "remedy"),
    [
        ((), "no guarded test was collected", "give a test a ctx mark, or a ctx fixture; "),
        ((skipped("test_x"),), "1 guarded test was skipped", "take the skips away; "),
        (
            (skipped("test_x", unchecked=("answered(shard)",)), skipped("test_y")),
            "2 guarded tests were skipped",
            "run the model tier too; ",
        ),
    ],
    ids=["none", "skipped", "tier"],
)
def test_a_whole_run_that_judged_nothing_is_inconclusive(tests, measured, remedy):
    found = run(tests, baselines={})

    (nothing,) = found.findings
    assert nothing == nothing_judged(replace(found, findings=()))
    assert nothing.what == "no guarded test was judged"
    assert nothing.measured == measured
    assert nothing.remedy.startswith(remedy)
    assert found.verdict == "inconclusive"
    assert not found.passes


@pytest.mark.parametrize(
    "test",
    [
        result("test_x"),
        result("test_x", verdict="fail"),
        result("test_x", verdict="error", outcome="lost"),
        result("test_x", verdict="skipped", outcome="xfailed"),
    ],
    ids=["passed", "failed", "lost", "xfailed"],
)
def test_a_run_with_one_judged_test_judged_something(test):
    assert nothing_judged(run([test, skipped("test_y")], baselines={})) is None


def test_a_narrowed_run_may_judge_nothing():
    assert nothing_judged(run([], baselines={}, narrowed=(DESELECTED,))) is None
