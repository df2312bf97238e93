"""Every metric beside its baseline, and when something in a baseline is stale."""

import pytest

from pytest_ctxguard.baseline import Accepted
from pytest_ctxguard.report.beside_baseline import (
    changes,
    describe,
    stale,
    stale_findings,
    with_whole,
)
from pytest_ctxguard.report.run import Change, Collection
from tests.report.measuring import about, failed, metric, result, subject
from tests.report.runs import finding

FILE = "test_a.ctxguard.json"


def test_a_change_has_both_values_and_what_differs_in_their_instruments():
    was = metric(80, fingerprint={"counter": "words", "rules": "1"}, accepted=Accepted("so"))
    test = result("test_x", subject("one", state="incomparable", cost=metric(100)))
    assert changes([test], {FILE: {("test_x", "one"): {"cost": was}}}) == (
        Change(
            nodeid="test_a.py::test_x",
            label="one",
            metric="cost",
            state="incomparable",
            was=was,
            now=metric(100),
            differing=("counter", "rules"),
        ),
    )


def test_what_has_no_baseline_was_nothing():
    [change] = changes([result("test_x", subject(state="new", cost=metric()))], {})
    assert (change.state, change.was, change.differing) == ("new", None, ())


def test_changes_are_sorted_by_test_label_and_metric():
    tests = [
        result("test_z", subject(cost=metric())),
        result("test_a", subject("b", hits=metric(), cost=metric()), subject("a", cost=metric())),
    ]
    assert [describe(change) for change in changes(tests, {})] == [
        "test_a.py::test_a [a] cost",
        "test_a.py::test_a [b] cost",
        "test_a.py::test_a [b] hits",
        "test_a.py::test_z cost",
    ]


GUARDED = ("test_a.py::test_x", "test_a.py::test_y", "test_b.py::test_z")
X = result("test_x", subject(cost=metric()))
Y = result("test_y", subject(cost=metric()))
Z = result("test_z", subject(cost=metric()), module="test_b")


def whole(*tests, **collection):
    return with_whole(Collection(guarded=GUARDED, **collection), tests).whole


def test_a_module_ran_whole_when_every_guarded_test_of_it_was_judged():
    assert whole(X, Y, Z) == ("test_a.py", "test_b.py")
    assert whole(X, Z) == ("test_b.py",)
    assert whole() == ()
    assert whole(X, Y, Z, partly=("test_a.py",)) == ("test_b.py",)


@pytest.mark.parametrize(
    ("test", "is_whole"),
    [
        (failed("test_y", subject("", about(), cost=metric())), True),
        (failed("test_y", subject("", finding(), cost=metric()), verdict="inconclusive"), True),
        (failed("test_y"), False),  # an assertion in its body
        (failed("test_y", verdict="error"), False),
        (failed("test_y", subject("", about(), cost=metric()), verdict="error"), False),
        (result("test_y", outcome="skipped", verdict="skipped"), False),
        (result("test_y", outcome="xfailed", verdict="skipped"), False),
        (result("test_y", subject(cost=metric()), unchecked=("answered",)), False),
    ],
    ids=[
        "its gate failed",
        "inconclusive",
        "its body failed",
        "not judged",
        "partly judged",
        "skipped",
        "xfailed",
        "the tier left marks out",
    ],
)
def test_what_leaves_a_module_open(test, is_whole):
    assert ("test_a.py" in whole(X, test, Z)) == is_whole


def found(entries, *tests, **collection):
    kept = with_whole(Collection(guarded=GUARDED, **collection), tests)
    return [describe(each) for each in stale(tests, kept, {FILE: entries})]


KEPT = {("test_x", ""): {"cost": metric()}, ("test_y", ""): {"cost": metric()}}
GONE = {**KEPT, ("test_gone", "l"): {"cost": metric(), "hits": metric()}}


def test_a_test_a_label_and_a_metric_can_be_stale():
    assert found(KEPT, X, Y) == []
    assert found(GONE, X, Y) == ["test_a.py::test_gone [l]"]
    assert found({**KEPT, ("test_x", "l"): {"cost": metric()}}, X, Y) == ["test_a.py::test_x [l]"]
    more = {("test_x", ""): {"cost": metric(), "hits": metric()}}
    assert found({**KEPT, **more}, X, Y) == ["test_a.py::test_x hits"]
    assert found({**KEPT, ("test_x", "l"): {}}, X, Y) == ["test_a.py::test_x [l]"]


def test_nothing_is_stale_in_a_module_that_is_open():
    assert found(GONE, X) == []
    assert found(GONE, X, Y, partly=("test_a.py",)) == []


def test_what_a_failing_test_lacks_is_not_stale():
    broken = failed("test_y", subject("", about(), hits=metric()))
    assert found(KEPT, X, broken) == []
    assert found(GONE, X, broken) == ["test_a.py::test_gone [l]"]


def test_nor_is_what_a_test_lacks_that_was_expected_to_fail():
    assert found(KEPT, X, result("test_y", outcome="xpassed")) == []


def test_files_are_stale_unless_tests_were_left_out():
    files = {"gone": ("test_old.ctxguard.json",), "unguarded": ("test_plain.ctxguard.json",)}
    assert found(KEPT, X, Y, **files) == ["test_old.ctxguard.json", "test_plain.ctxguard.json"]
    assert found(KEPT, X, Y, narrowed=("--lf",), **files) == []


def test_a_finding_for_each_module_and_file():
    collection = Collection(gone=("test_old.ctxguard.json",), unguarded=("test_z.ctxguard.json",))
    rows = [
        Change(nodeid=f"test_a.py::test_{n}", label="", metric="", state="stale") for n in range(7)
    ]
    rows += stale([], collection, {})
    one, old, plain = stale_findings(rows, gone=collection.gone)
    assert one.what == "7 entries in the baseline of test_a.py are measured by no test"
    assert one.where.endswith("; test_a.py::test_4 and 2 more")
    assert one.remedy.endswith("pytest --ctxguard --ctxguard-update test_a.py")
    assert old.measured == "its module is gone"
    assert old.remedy.endswith("git rm test_old.ctxguard.json")
    assert "where its module was renamed, rename the file with it" in old.remedy
    assert plain.measured == "its module has no guarded test"
