"""Haystack's compactors on the two topologies."""

import copy
from functools import partial

from pytest_ctxguard.policies.adapters.haystack import haystack, haystack_generator
from tests.policies.adapters.contracts import Case, Framework, Verdict


def hook(make):
    """Compact from 1,500 down to 800 tokens."""
    from haystack.hooks.compaction import CompactionHook

    return haystack(
        lambda: CompactionHook(make(), context_window=2000, compact_at=0.75, compact_to=0.4)
    )


def hooked(name, **options):
    from haystack.hooks import compaction

    return hook(partial(getattr(compaction, name), **options))


def compactor(name, **options):
    from haystack.hooks import compaction
    from haystack.token_counters import ApproximateTokenCounter

    made = getattr(compaction, name)(**options)
    counter = ApproximateTokenCounter()
    return haystack(partial(made.compact, target_tokens=1500, token_counter=counter))


def summarising(recorder):
    from haystack.hooks.compaction import SummarizationCompactor

    made = SummarizationCompactor(haystack_generator(recorder), approximate_summary_tokens=50)
    return hook(lambda: made)


SIZES = {"chat": "turns", "agentic": "rounds"}


def case(name, builder, policy, expect, finding, size=40):
    return Case(
        name=f"{name}-{builder}",
        builder=builder,
        arguments={SIZES[builder]: size},
        every=True,
        budget=1500,
        policy=policy,
        expect=expect,
        finding=finding,
    )


SLIDING = partial(hooked, "SlidingWindowCompactor")
PRUNING = partial(hooked, "ToolResultPruningCompactor", min_tokens=50)
ONCE = partial(compactor, "SlidingWindowCompactor")

FRAMEWORK = Framework(
    name="haystack",
    packages=("haystack-ai",),
    cases=(
        case(
            "sliding",
            "chat",
            SLIDING,
            Verdict(calls=80, untouched=8, fact_lost=72, tokens=1492),
            "Pairs, system message and current task stay; it compacts rarely and deep.",
        ),
        case(
            "sliding",
            "agentic",
            SLIDING,
            Verdict(calls=41, untouched=5, tokens=1458),
            "The task stays too where it is the only user message.",
        ),
        case(
            "pruning",
            "chat",
            PRUNING,
            Verdict(calls=40, untouched=8, over=2, tokens=1522),
            "Old results shrink to a note that says so; all else stays.",
            size=20,
        ),
        case(
            "pruning",
            "agentic",
            PRUNING,
            Verdict(calls=21, untouched=5, tokens=1467),
            "The task stays, and results below 50 tokens.",
            size=20,
        ),
        case(
            "summarising",
            "chat",
            summarising,
            Verdict(calls=80, untouched=8, fact_lost=72, over=1, tokens=1506),
            (
                "Each round of summarising sees new messages only, so summaries add up beside the "
                "system message and the current turn: 13 in the end."
            ),
        ),
        case(
            "summarising",
            "agentic",
            summarising,
            Verdict(calls=41, untouched=5, tokens=1486),
            "The task stays as it is, so no summariser is shown it: 12 summaries in the end.",
        ),
        case(
            "compactor-alone",
            "chat",
            ONCE,
            Verdict(calls=80, untouched=8, fact_lost=72, over=13, tokens=1536),
            (
                "Without the hook it compacts at every call; by our estimate up to 1,536 for a "
                "target of 1,500, since the note about what is left out comes on top."
            ),
        ),
        case(
            "compactor-alone",
            "agentic",
            ONCE,
            Verdict(calls=41, untouched=5, over=28, tokens=1519),
            "The same, up to 1,519.",
        ),
    ),
    round_trips={
        "as they are": lambda: haystack(lambda messages: messages),
        "copies": lambda: haystack(copy.deepcopy),
        "nothing done": lambda: haystack(lambda messages: None),
        "hook": lambda: haystack(Idle),
    },
)


class Idle:
    """A hook that leaves the state alone."""

    def run(self, state):
        """Do nothing."""
