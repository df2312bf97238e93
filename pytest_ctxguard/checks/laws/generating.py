"""Histories for the laws, drawn by Hypothesis: the same ones in every process."""

from __future__ import annotations

import random
from collections.abc import Callable

from pytest_ctxguard.checks.laws.runs import as_transcript
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Transcript

BYTES = 1 << 14  # for one history; one that needs more is left out
TRIES = 10  # for each history wanted


def for_each_history(visit: Callable[[Transcript], None], *, max_examples: int, seed: int) -> None:
    """Call a function with generated histories.

    They are drawn from bytes of our own, by Hypothesis's interface for fuzzers: its own engine
    mixes in constants it finds in the modules that happen to be loaded, and so draws other ones
    in an xdist worker. No profile of the user's counts, and nothing is stored.

    Args:
        visit: told each history, as a transcript.
        max_examples: how many.
        seed: draws the same histories wherever it is the same.

    Raises:
        UsageError: ``hypothesis`` is not installed.
    """
    try:
        import hypothesis as hy
    except ImportError as error:
        raise UsageError(
            "ctx_policy_laws draws its histories by hypothesis, which is not installed. Remedy: "
            "pip install 'pytest-ctxguard[laws]'"
        ) from error
    from pytest_ctxguard import strategies

    raised: list[Exception] = []
    seen = 0

    @hy.settings(database=None, deadline=None, suppress_health_check=list(hy.HealthCheck))
    @hy.given(strategies.policy_histories())
    def each(history: list[Message]) -> None:
        nonlocal seen
        seen += 1
        try:
            visit(as_transcript(history))
        except Exception as error:  # ours, not an example that Hypothesis is to look into
            raised.append(error)

    source = random.Random(seed)  # noqa: S311 - histories, no secrets
    for _ in range(TRIES * max_examples):
        if seen == max_examples or raised:
            break
        each.hypothesis.fuzz_one_input(source.randbytes(BYTES))  # type: ignore[attr-defined]
    if raised:
        raise raised[0]
