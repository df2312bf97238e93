"""Numbers: intervals, exact tests, when to stop, pairs. Pure functions of counts."""

from pytest_ctxguard.stats.binomial import p_at_least, p_at_most
from pytest_ctxguard.stats.claims import (
    MOST_TRIALS,
    Claim,
    CountClaim,
    RateClaim,
    Verdict,
    least_trials,
    needed_trials,
    verdict,
)
from pytest_ctxguard.stats.curtailing import ask_until_decided, least_more, needed_prefix
from pytest_ctxguard.stats.effective import Effective, LengthCell, effective_length
from pytest_ctxguard.stats.intervals import Interval, wilson
from pytest_ctxguard.stats.noninferiority import (
    Noninferiority,
    changed_needs,
    noninferior,
    unchanged_needs,
)
from pytest_ctxguard.stats.paired import Changes, changes, mcnemar

__all__ = [
    "MOST_TRIALS",
    "Changes",
    "Claim",
    "CountClaim",
    "Effective",
    "Interval",
    "LengthCell",
    "Noninferiority",
    "RateClaim",
    "Verdict",
    "ask_until_decided",
    "changed_needs",
    "changes",
    "effective_length",
    "least_more",
    "least_trials",
    "mcnemar",
    "needed_prefix",
    "needed_trials",
    "noninferior",
    "p_at_least",
    "p_at_most",
    "unchanged_needs",
    "verdict",
    "wilson",
]
