"""A sample of trials: claims about these, about their population, and beside the baseline."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.sample import SampleCell, SampleClaim
from pytest_ctxguard.checks.sample_judging import judge_sample
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.stats import ask_until_decided
from tests.factories import case_of, replayed

FINGERPRINT = {"haystack": "register", "seed": "0", "numerics": "avx2"}
PLACE = "transcript small, policy keep_all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(SampleClaim):
    marker: ClassVar[str] = "ctx_sampled"
    usage: ClassVar[str] = "ctx_sampled(at_least=16)"


def keep_all(messages):
    return messages


def outcomes(hits, of, *, miss="neighbour"):
    return {f"t{n}": "hit" if n < hits else miss for n in range(of)}


def cell(hits, of, *, name="", planned=None, **more):
    return SampleCell(name, planned or of, outcomes(hits, of, **more))


def judge(claim, *cells, old=None, fingerprint=None, **changes):
    """Judge cells; ``old`` are the baseline's outcomes of the one cell there is."""
    if old is not None:
        recorded = Metric(
            sum(outcome == "hit" for outcome in old.values()),
            {**FINGERPRINT, "trials": str(cells[0].planned), **(fingerprint or {})},
            of=len(old),
            trials=old,
        )
        changes["recorded"] = lambda: {"recall": recorded}
    return judge_sample(
        case_of(replayed(keep_all), **changes),
        claim,
        cells,
        name="recall",
        fingerprint=FINGERPRINT,
        population="registers of 25 records",
        show=lambda id: f"trial {id}",
    )


def rules(judgement):
    return {finding.rule: finding for finding in judgement.findings}


def test_enough_hits_among_these_trials():
    judgement = judge(Claim(at_least=16), cell(16, 32))
    assert (judgement.verdict, judgement.state, judgement.promise) == ("pass", "new", "sampled")
    assert judgement.summary == (
        "16 of 32 trials, 95 % interval 0.336 to 0.664 (16 hit, 16 neighbour)"
    )
    [(name, metric)] = judgement.metrics.items()
    assert (name, metric.value, metric.of) == ("recall", 16, 32)
    assert metric.trials == outcomes(16, 32)
    assert metric.fingerprint == {**FINGERPRINT, "trials": "32"}


def test_too_few_hits_name_the_first_misses():
    judgement = judge(Claim(at_least=16), cell(15, 32))
    assert judgement.verdict == "fail"
    finding = rules(judgement)["ctx_sampled.too-few"]
    assert finding.what == "15 of these 32 trials are answered"
    assert finding.where == f"{PLACE}, trial t15, trial t16, trial t17"
    assert finding.allowed == "at least 16 of 32"


@pytest.mark.parametrize(
    ("hits", "verdict"), [(22, "pass"), (21, "inconclusive"), (11, "inconclusive"), (10, "fail")]
)
def test_a_rate_of_the_population(hits, verdict):
    judgement = judge(Claim(min_rate=0.5), cell(hits, 32))
    assert judgement.verdict == verdict
    thresholds = "min_rate=0.5 at alpha=0.05 passes at 22 or more of 32, fails at 10 or fewer"
    assert judgement.summary.endswith(f"; {thresholds}")
    for finding in judgement.findings:
        assert finding.rule == "ctx_sampled.rate"
        assert finding.allowed == thresholds
        assert finding.measured.endswith(", drawn from registers of 25 records")


def test_an_open_verdict_says_how_many_trials_it_takes():
    [finding] = judge(Claim(min_rate=0.5), cell(21, 32)).findings
    assert finding.what == "the trials do not show whether recall is 0.5 or more"
    assert finding.remedy == (
        "at the rate seen, 21 of 32, 62 trials show it four times in five; "
        "or gate these trials alone, with at_least"
    )
    [finding] = judge(Claim(min_rate=0.5), cell(16, 32)).findings
    assert finding.remedy.startswith("at the rate seen, 16 of 32, no number of trials shows it")


def test_a_rate_too_few_trials_to_refute():
    judgement = judge(Claim(min_rate=0.05), cell(0, 32))
    assert judgement.verdict == "inconclusive"
    assert judgement.findings[0].allowed.endswith("fails at no count: too few trials")


def test_every_cell_is_held_to_the_claim():
    judgement = judge(
        Claim(at_least=16, min_rate=0.5),
        cell(30, 32, name="depth=0"),
        cell(15, 32, name="depth=0.5"),
    )
    assert [finding.rule for finding in judgement.findings] == [
        "ctx_sampled.too-few",
        "ctx_sampled.rate",
    ]
    assert judgement.findings[0].where.startswith(f"{PLACE}, cell depth=0.5, trial t15")
    assert set(judgement.metrics) == {"recall.depth=0", "recall.depth=0.5"}
    assert judgement.summary.startswith("depth=0: 30 of 32 trials")


def test_more_cells_make_a_wrong_fail_no_likelier():
    ten = [cell(10, 32, name="0"), *(cell(30, 32, name=str(n)) for n in range(1, 9))]
    assert judge(Claim(min_rate=0.5), *ten).verdict == "inconclusive"
    assert judge(Claim(min_rate=0.5), cell(7, 32, name="0"), *ten[1:]).verdict == "fail"


def test_a_stopped_run_shows_the_interval_that_asking_on_would_have_stayed_in():
    judgement = judge(Claim(min_rate=0.5), cell(22, 24, planned=32))
    assert judgement.verdict == "pass"
    assert judgement.summary.startswith(
        "22 of 24 trials (decided; 32 planned), 95 % interval 0.514 to 0.983"
    )


def test_trials_that_leave_the_verdict_open_are_not_judged():
    with pytest.raises(UsageError) as caught:
        judge(Claim(min_rate=0.5), cell(20, 24, planned=32))
    assert str(caught.value) == (
        "recall: 24 of 32 trials do not decide the verdict; ask 2 more at least"
    )
    with pytest.raises(UsageError, match="ask 8 more at least"):
        judge(Claim(at_least=1, max_lost=0), cell(24, 24, planned=32))


@given(
    st.lists(st.booleans(), min_size=32, max_size=32),
    st.sampled_from([Claim(at_least=16), Claim(min_rate=0.5), Claim(at_least=20, min_rate=0.7)]),
    st.integers(1, 40),
)
def test_a_curtailed_run_is_judged_as_the_whole_one(hits, claim, batch):
    whole = {f"t{n}": "hit" if hit else "other" for n, hit in enumerate(hits)}

    def asked(batch):
        kept = ask_until_decided(
            list(whole),
            lambda ids: [whole[id] for id in ids],
            claims=claim.claims(trials=32),
            batch=batch,
        )
        return judge(claim, SampleCell("", 32, kept))

    judgement = asked(batch)
    assert judgement == asked(None)
    assert judgement.verdict == judge(claim, SampleCell("", 32, whole)).verdict


def test_lost_hits_are_listed():
    old, now = outcomes(20, 32), outcomes(20, 32)
    now.update(t3="abstained", t7="invented", t30="hit")
    judgement = judge(Claim(max_lost=1), SampleCell("", 32, now), old=old)
    assert (judgement.verdict, judgement.state) == ("fail", "regressed")
    finding = rules(judgement)["ctx_sampled.lost-hits"]
    assert finding.what == "2 trials that were answered no longer are"
    assert finding.measured == "t3 abstained, t7 invented"
    assert finding.where == f"{PLACE}, trial t3, trial t7"
    assert judgement.summary.endswith("; 2 lost and 1 gained of 32 paired")
    assert judge(Claim(max_lost=2), SampleCell("", 32, now), old=old).verdict == "pass"


@pytest.mark.parametrize(
    ("lost", "verdict"),
    [(0, "pass"), (1, "pass"), (2, "inconclusive"), (8, "inconclusive"), (11, "fail")],
)
def test_a_margin_against_the_baseline(lost, verdict):
    now = outcomes(32 - lost, 32)
    judgement = judge(Claim(margin=0.15), SampleCell("", 32, now), old=outcomes(32, 32))
    assert judgement.verdict == verdict
    assert judgement.state == ("regressed" if lost else "unchanged")
    if verdict == "inconclusive":
        takes = "about 48 trials show it four times in five" if lost == 2 else "no number of trials"
        seen = f"at the changes seen, {lost} lost and 0 gained of 32, "
        assert judgement.findings[0].remedy.startswith(seen + takes)
    for finding in judgement.findings:
        assert finding.rule == "ctx_sampled.inferior"
        assert finding.measured.startswith(f"{lost} lost and 0 gained of 32; p=")


def test_where_only_the_numerics_differ_losses_are_inconclusive():
    judgement = judge(
        Claim(margin=0.15, max_lost=0),
        cell(10, 32),
        old=outcomes(32, 32),
        fingerprint={"numerics": "neon"},
    )
    assert [finding.inconclusive for finding in judgement.findings] == [True, True]
    assert {finding.why for finding in judgement.findings} == {
        "only the numerics differ from the baseline's, so near-ties may have flipped"
    }


def test_more_hits_than_the_baseline_improve():
    judgement = judge(Claim(at_least=1), cell(20, 32), old=outcomes(19, 32))
    assert (judgement.verdict, judgement.state) == ("pass", "improved")


def test_a_baseline_that_stopped_elsewhere_is_paired_where_nothing_is_claimed_of_it():
    judgement = judge(Claim(at_least=16), cell(16, 16, planned=32), old=outcomes(14, 18))
    assert (judgement.verdict, judgement.state) == ("pass", "improved")
    assert judgement.summary.endswith("0 lost and 2 gained of 16 paired")


@pytest.mark.parametrize("claim", [Claim(max_lost=0), Claim(margin=0.2)])
def test_a_claim_on_the_baseline_needs_all_its_trials(claim):
    judgement = judge(claim, cell(16, 16), old=outcomes(14, 15))
    assert (judgement.verdict, judgement.state) == ("fail", "incomparable")
    [finding] = judgement.findings
    assert finding.rule == "ctx_sampled.other-trials"
    assert finding.measured == "16 trials; not in both: t15"
    assert finding.remedy == 'record all of them: pytest-ctxguard accept NODEID --reason "…"'


@pytest.mark.parametrize("claim", [Claim(max_lost=0), Claim(margin=0.15)])
def test_while_the_baseline_is_rewritten_a_loss_is_said_and_fails_nothing(claim):
    judgement = judge(claim, cell(16, 32), old=outcomes(32, 32), updating=True)
    assert (judgement.verdict, judgement.state) == ("pass", "regressed")
    both = judge(replace(claim, at_least=20), cell(16, 32), old=outcomes(32, 32), updating=True)
    assert list(rules(both)) == ["ctx_sampled.too-few"]


def test_another_seed_is_another_sample_and_no_regression():
    old = {"old": outcomes(32, 32), "fingerprint": {"seed": "7", "numerics": "neon"}}
    judgement = judge(Claim(at_least=16), cell(16, 32), **old)
    assert (judgement.verdict, judgement.state) == ("pass", "incomparable")
    judgement = judge(Claim(max_lost=0), cell(16, 32), **old)
    assert [finding.rule for finding in judgement.findings] == ["ctx_sampled.incomparable"]


def test_another_instrument_is_incomparable():
    judgement = judge(
        Claim(at_least=16), cell(16, 32), old=outcomes(16, 32), fingerprint={"haystack": "pairs"}
    )
    assert (judgement.verdict, judgement.state) == ("fail", "incomparable")


def test_in_ci_what_is_not_recorded_fails():
    judgement = judge(Claim(at_least=16), cell(16, 32), require_recorded=True)
    assert [finding.rule for finding in judgement.findings] == ["ctx_sampled.new"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "it claims nothing; give at_least, min_rate, max_lost or margin"),
        ({"at_least": 0}, "at_least=0 is not a count of trials, 1 or more"),
        ({"at_least": True}, "at_least=True is not a count"),
        ({"at_least": 33, "trials": 32}, "at_least=33 is more than the 32 trials there are"),
        ({"at_least": 1, "trials": 0}, "trials=0 is not a count"),
        ({"max_lost": -1}, "max_lost=-1 is not a count"),
        ({"min_rate": 1.0}, "min_rate=1.0 is not a number between 0 and 1, both excluded"),
        ({"min_rate": 1}, "min_rate=1 is not a number between 0 and 1"),
        ({"min_rate": float("nan")}, "min_rate=nan is not a number between"),
        ({"min_rate": 0.5, "alpha": 0.0}, "alpha=0.0 is not a number between"),
        ({"margin": 2.5}, "margin=2.5 is not a number between"),
        (
            {"min_rate": 5 / 6, "trials": 16},
            "min_rate=0.833333 cannot pass with 16 trials at alpha=0.05, not even with 16 hits; "
            "it takes 17",
        ),
        (
            {"margin": 0.1, "trials": 28},
            "margin=0.1 cannot pass with 28 trials at alpha=0.05, not even where nothing changes; "
            "it takes 29",
        ),
    ],
)
def test_impossible_arguments_are_errors_when_the_mark_is_read(arguments, message):
    with pytest.raises(UsageError) as caught:
        Claim(**arguments)
    assert str(caught.value).startswith(f"ctx_sampled: {message}")
    assert str(caught.value).endswith("Usage: ctx_sampled(at_least=16)")


@pytest.mark.parametrize("claim", [Claim(at_least=33), Claim(min_rate=0.95), Claim(margin=0.05)])
def test_too_few_trials_are_an_error_when_they_are_known(claim):
    with pytest.raises(UsageError, match="trials"):
        claim.check(trials=32)
    with pytest.raises(UsageError, match="trials"):
        judge(claim, cell(32, 32))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SampleCell("", 3, {}),
        lambda: SampleCell("", 1, outcomes(1, 2)),
        lambda: SampleCell("", 1, {"t0": "miss"}),
        lambda: judge(Claim(at_least=1)),
        lambda: judge(Claim(at_least=1), cell(1, 1), cell(1, 1)),
    ],
)
def test_cells_that_are_none_are_errors(wrong):
    with pytest.raises(UsageError):
        wrong()


def test_what_ends_a_cell_early():
    both = Claim(at_least=16, min_rate=0.5)
    assert [type(part).__name__ for part in both.claims(trials=32)] == ["CountClaim", "RateClaim"]
    assert replace(both, max_lost=3).claims(trials=32) == ()
    assert Claim(min_rate=0.5, margin=0.2).family(9) == 18
