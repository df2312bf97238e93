"""A metric against the baseline: the states every gated check shares."""

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.compare import Standing, standing, standing_findings
from pytest_ctxguard.checks.finding import Finding
from tests.factories import case_of, replay_of

METRIC = Metric(120, {"counter": "letters", "numerics": "avx2"})


def stand(old, **changes):
    recorded = {} if old is None else {"billed": old}
    case = case_of(replay_of(1), recorded=lambda: recorded, **changes)
    return standing(case, "ctx_token_cost", name="billed", metric=METRIC)


def test_while_the_baseline_is_rewritten_nothing_that_it_says_stands():
    mine, its = (
        Finding(
            rule="x", what="", where="", measured="", allowed="", why="", remedy="", baseline=about
        )
        for about in (False, True)
    )
    kept = case_of(replay_of(1))
    rewritten = case_of(replay_of(1), updating=True)
    assert standing_findings(kept, [mine, its]) == (mine, its)
    assert standing_findings(rewritten, [mine, its]) == (mine,)


def test_what_was_never_recorded_is_new():
    assert stand(None) == Standing(state="new")


def test_where_a_record_is_required_new_is_a_finding():
    found = stand(None, require_recorded=True, record="pytest --ctxguard-update")
    assert found == Standing(
        state="new",
        finding=Finding(
            rule="ctx_token_cost.new",
            what="billed is not in the baseline",
            where="transcript small, policy cut",
            measured="120",
            allowed="a recorded value, since CI is set",
            why="without one, a later regression could not be seen",
            remedy="record it and commit the file: pytest --ctxguard-update",
            baseline=True,
        ),
    )


def test_the_same_instrument_is_compared():
    old = Metric(100, METRIC.fingerprint)
    assert stand(old) == Standing(old=old)


def test_other_numerics_are_compared_with_a_warning():
    old = Metric(100, {"counter": "letters", "numerics": "neon"})
    assert stand(old) == Standing(old=old, differing=("numerics",))


def test_numerics_that_were_not_recorded():
    old = Metric(100, {"counter": "letters"})
    assert stand(old) == Standing(old=old, differing=("numerics",))


def test_another_instrument_is_incomparable():
    old = Metric(100, {"counter": "words", "numerics": "neon", "rules": "1"})
    found = stand(old, accept="pytest-ctxguard accept")
    assert found == Standing(
        state="incomparable",
        finding=Finding(
            rule="ctx_token_cost.incomparable",
            what="billed cannot be compared with the baseline",
            where="transcript small, policy cut",
            measured="120, with counter letters, numerics avx2, rules unset",
            allowed="100, with counter words, numerics neon, rules 1",
            why="the two values were not measured with the same instrument",
            remedy="undo the change of counter, numerics, rules, or accept: pytest-ctxguard accept",
            baseline=True,
        ),
        differing=("counter", "numerics", "rules"),
    )
