"""Curtailment: stop where the trials that remain cannot change a verdict.

Why a curtailed run gives the same verdict and the same report however it was spread:

1. A trial's outcome depends on the trial alone (its id, the seed, greedy decoding), so the
   outcomes in id order are one fixed sequence ``x``, whoever asks them and when.
2. A claim's verdict never falls as hits are added (``fails_at < passes_at``). After ``m`` of
   ``n`` trials with ``h`` hits, the final count lies in ``h .. h + n - m``, and every count in
   it can come about. So all endings agree exactly if the two ends do: the claim is *decided*.
3. Once decided, it stays decided with the same verdict: the range of final counts only shrinks.
   So there is one first ``m`` at which every claim is decided, :func:`needed_prefix`. It is a
   function of ``x`` and the claims, not of workers or batches; it looks at no trial after ``m``.
4. Whoever has asked a longer prefix finds the same ``m``, cuts there, and reports ``x[:m]``. At
   ``m = n`` the two ends are one count, so ``m`` always exists, and by 2 the verdict is the one
   that all ``n`` trials give.

:func:`least_more` is the number of trials without which no ending decides, so a batch of that
size never goes beyond ``m``: batching computes nothing in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.stats.arguments import require_count
from pytest_ctxguard.stats.claims import Claim

HIT = "hit"

Limits = tuple[tuple[int, int], ...]
"""Of each claim: fewest hits that pass, most that fail; beyond any count where none does."""


def needed_prefix(hits: Sequence[bool], claims: Sequence[Claim]) -> int:
    """Return how many leading trials decide every claim; all of them where they do not.

    Args:
        hits: of each trial in id order, whether it was a hit; all that are planned, or fewer.
        claims: about these trials; without one, every trial is needed.
    """
    trials = _planned(claims, least=len(hits))
    limits = _limits(claims)
    count = 0
    for done, hit in enumerate(hits):
        if limits and _wanted(limits, count, trials - done) == 0:
            return done
        count += hit
    return len(hits)


def least_more(hits: Sequence[bool], claims: Sequence[Claim]) -> int:
    """Return how many further trials it takes at least to decide every claim; 0: it is decided.

    Args:
        hits: of each trial asked so far, in id order, whether it was a hit.
        claims: about the planned trials, one or more.

    Raises:
        UsageError: no claim, or more outcomes than planned.
    """
    if not claims:
        raise UsageError("without a claim nothing is decided early: ask every trial")
    trials = _planned(claims, least=len(hits))
    return _wanted(_limits(claims), sum(map(bool, hits)), trials - len(hits))


def ask_until_decided(
    ids: Sequence[str],
    ask: Callable[[Sequence[str]], Sequence[str]],
    *,
    claims: Sequence[Claim],
    batch: int | None = None,
) -> dict[str, str]:
    """Ask trials in batches until every claim is decided; return id -> outcome in id order.

    Args:
        ids: the planned trials, in the order that counts.
        ask: from trial ids to their outcomes, in order; never called without ids.
        claims: about these trials; without one, every trial is asked.
        batch: trials at a time; default: as many as are needed in any case. The result is the
            same for every size.

    Raises:
        UsageError: the ids repeat, a claim plans another number of trials, or the answers are
            not as many as the questions.
    """
    if len(set(ids)) != len(ids):
        raise UsageError("a trial id stands twice in the plan; give each trial its own")
    if batch is not None:
        require_count("batch", batch, least=1)
    if claims and _planned(claims, least=0) != len(ids):
        raise UsageError(f"the claims plan {claims[0].trials} trials, the ids are {len(ids)}")
    outcomes: list[str] = []
    while len(outcomes) < len(ids):
        hits = [outcome == HIT for outcome in outcomes]
        more = least_more(hits, claims) if claims else len(ids) - len(outcomes)
        if more == 0:
            break
        wanted = ids[len(outcomes) : len(outcomes) + (more if batch is None else batch)]
        answers = ask(wanted)
        if len(answers) != len(wanted):
            raise UsageError(f"{len(wanted)} trials were asked, {len(answers)} outcomes came back")
        outcomes += answers
    asked = needed_prefix([outcome == HIT for outcome in outcomes], claims)
    return dict(zip(ids[:asked], outcomes[:asked], strict=True))


def _planned(claims: Sequence[Claim], *, least: int) -> int:
    """Return the number of trials the claims share."""
    numbers = {claim.trials for claim in claims}
    if len(numbers) > 1:
        raise UsageError(f"claims about different numbers of trials: {sorted(numbers)}")
    trials = max(numbers, default=least)
    if trials < least:
        raise UsageError(f"{least} outcomes are more than the {trials} trials of the claim")
    return trials


def _limits(claims: Sequence[Claim]) -> Limits:
    return tuple(
        (
            claim.trials + 1 if (passes := claim.passes_at) is None else passes,
            -1 if (fails := claim.fails_at) is None else fails,
        )
        for claim in claims
    )


def _wanted(limits: Limits, hits: int, left: int) -> int:
    return max(_wanted_by(passes, fails, hits, left) for passes, fails in limits)


def _wanted_by(passes: int, fails: int, hits: int, left: int) -> int:
    """Return the fewest further trials after which one claim can be decided.

    After all hits it passes, after all misses it fails. Between (neither the lowest final count
    fails nor the highest passes) it takes enough of both to rule both out.
    """
    most = hits + left
    to_pass = max(0, passes - hits)
    to_fail = max(0, most - fails)
    to_neither = max(0, fails + 1 - hits) + max(0, most - (passes - 1))
    return min(to_pass, to_fail, to_neither, left)
