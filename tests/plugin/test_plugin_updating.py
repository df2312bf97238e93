"""What an update makes of a baseline's entries."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.baseline import Accepted
from pytest_ctxguard.plugin.controller.updating import of_modules, removable, updated, with_reason
from pytest_ctxguard.report.run import Change
from tests.report.measuring import about, failed, metric, result, subject

OLD = {("test_x", ""): {"cost": metric(100)}, ("test_y", "l"): {"cost": metric(7)}}


def gone(test, label="", name=""):
    return Change(nodeid=f"test_a.py::{test}", label=label, metric=name, state="stale")


def test_what_passed_is_written_and_the_others_stay():
    tests = [result("test_x", subject(cost=metric(120), hits=metric(3)))]
    assert updated(OLD, tests) == {
        ("test_x", ""): {"cost": metric(120), "hits": metric(3)},
        ("test_y", "l"): {"cost": metric(7)},
    }
    assert OLD[("test_x", "")] == {"cost": metric(100)}


def test_a_replay_and_a_recall_of_one_label_share_an_entry():
    tests = [result("test_z", subject(cost=metric(1)), subject(hits=metric(2)))]
    assert updated({}, tests) == {("test_z", ""): {"cost": metric(1), "hits": metric(2)}}


def test_what_did_not_pass_changes_nothing():
    measured = subject("", about(), cost=metric(120))
    for test in (
        failed("test_x", measured),
        result("test_x", measured, outcome="xfailed", verdict="skipped"),
        result("test_x", measured, outcome="xpassed"),
        result("test_x", measured, outcome="skipped"),
        result("test_x", measured, outcome="lost", verdict="error"),
    ):
        assert updated(OLD, [test]) == OLD


def test_only_what_is_missing_is_added():
    tests = [
        result("test_x", subject(cost=metric(120), hits=metric(3)), subject("l", cost=metric(1)))
    ]
    assert updated(OLD, tests, only_new=True) == {
        ("test_x", ""): {"cost": metric(100), "hits": metric(3)},
        ("test_x", "l"): {"cost": metric(1)},
        ("test_y", "l"): {"cost": metric(7)},
    }


def test_what_is_stale_is_removed_and_what_is_left_empty_goes():
    tests = [result("test_x", subject(hits=metric(3)))]
    stale = [gone("test_x", name="cost"), gone("test_y", "l"), gone("test_never")]
    assert updated(OLD, tests, removable=stale) == {("test_x", ""): {"hits": metric(3)}}
    assert updated(OLD, [], removable=[gone("test_x"), gone("test_y", "l")]) == {}


def test_what_is_stale_of_a_test_that_did_not_pass_may_not_be_removed():
    assert removable(gone("test_x"), [])
    assert removable(gone("test_x"), [result("test_x"), failed("test_y")])
    assert not removable(gone("test_x"), [failed("test_x")])


def test_what_is_stale_is_removed_from_its_own_module():
    other = Change(nodeid="test_b.py::test_x", label="", metric="", state="stale")
    assert of_modules([gone("test_z"), other], [result("test_x")]) == (gone("test_z"),)


REASON = Accepted("longer logs", was=90)
SAID = replace(metric(100), accepted=REASON)


def test_a_reason_stays_while_the_same_is_measured():
    assert with_reason(metric(100), SAID) == SAID
    elsewhere = metric(100, fingerprint={"counter": "letters", "numerics": "neon"})
    assert with_reason(elsewhere, SAID) == replace(elsewhere, accepted=REASON)


def test_another_value_drops_the_reason():
    assert with_reason(metric(101), SAID) == metric(101)
    assert with_reason(metric(99), SAID) == metric(99)
    assert with_reason(metric(100), None) == metric(100)
    hits = metric(1, of=2, trials={"a": "hit", "b": "other"})
    others = metric(1, of=2, trials={"a": "other", "b": "hit"})
    assert with_reason(others, replace(hits, accepted=REASON)) == others


@given(st.lists(st.sampled_from("xyz"), unique=True), st.booleans())
def test_an_update_made_twice_is_the_update_made_once(names, only_new):
    tests = [result(f"test_{name}", subject(cost=metric(5))) for name in names]
    once = updated(OLD, tests, only_new=only_new)
    assert updated(once, tests, only_new=only_new) == once
