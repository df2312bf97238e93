"""Pydantic AI's history processors and its harness's compaction on the two topologies."""

import copy
from functools import partial

from pytest_ctxguard.policies.adapters.pydantic_ai import pydantic_ai, pydantic_ai_model
from tests.policies.adapters.contracts import Case, Framework, Verdict


def newest(messages):
    """Keep the newest five, as the documentation's example does."""
    return messages[-5:]


def compaction(name, **options):
    from pydantic_ai_harness import compaction

    return pydantic_ai(getattr(compaction, name)(**options))


def summarising(recorder, **options):
    from pydantic_ai_harness.compaction import SummarizingCompaction

    return pydantic_ai(SummarizingCompaction(model=pydantic_ai_model(recorder), **options))


SIZES = {"chat": {"turns": 20}, "agentic": {"rounds": 20}}


def case(name, builder, policy, expect, finding):
    return Case(
        name=f"{name}-{builder}",
        builder=builder,
        arguments=SIZES[builder],
        every=True,
        budget=1500,
        policy=policy,
        expect=expect,
        finding=finding,
    )


NEWEST = partial(pydantic_ai, newest)
SLIDING = partial(compaction, "SlidingWindowCompaction", max_tokens=1500, keep_tokens=800)
CLEARING = partial(compaction, "ClearToolResults", max_tokens=1500)
SUMMARISING = partial(summarising, max_tokens=1500, keep_messages=4)

FRAMEWORK = Framework(
    name="pydantic_ai",
    packages=("pydantic-ai-slim", "pydantic-ai-harness"),
    cases=(
        case(
            "newest-five",
            "chat",
            NEWEST,
            Verdict(calls=40, untouched=3, system_lost=37, fact_lost=37, tokens=409),
            (
                "The documentation's example keeps no system message, from the sixth message of "
                "the framework on."
            ),
        ),
        case(
            "newest-five",
            "agentic",
            NEWEST,
            Verdict(calls=21, untouched=3, task_lost=18, system_lost=18, fact_lost=18, tokens=735),
            "In a tool loop it keeps neither the system message nor the task: 18 of 21 calls.",
        ),
        case(
            "sliding",
            "chat",
            SLIDING,
            Verdict(calls=40, untouched=9, over=13, tokens=1573),
            (
                "System message, first user message and pairs stay; by our estimate up to 1,573 "
                "for a trigger of 1,500, which it tests by characters alone."
            ),
        ),
        case(
            "sliding",
            "agentic",
            SLIDING,
            Verdict(calls=21, untouched=5, tokens=1489),
            "The task stays too.",
        ),
        case(
            "clearing",
            "chat",
            CLEARING,
            Verdict(calls=40, untouched=9, over=20, tokens=1866),
            "Only results shrink, so texts and calls outgrow the trigger in a long chat.",
        ),
        case(
            "clearing",
            "agentic",
            CLEARING,
            Verdict(calls=21, untouched=5, over=3, tokens=1619),
            (
                "The newest three pairs stay whole, and cleared ones leave their calls: up to "
                "1,619 for 1,500."
            ),
        ),
        case(
            "summarising",
            "chat",
            SUMMARISING,
            Verdict(calls=40, untouched=9, over=5, tokens=1585),
            "System message and first user message stay beside the summary.",
        ),
        case(
            "summarising",
            "agentic",
            SUMMARISING,
            Verdict(calls=21, untouched=5, over=2, tokens=1510),
            (
                "The summariser is shown the task each time, and the first 500 characters of each "
                "result."
            ),
        ),
    ),
    round_trips={
        "as they are": lambda: pydantic_ai(lambda messages: messages),
        "copies": lambda: pydantic_ai(copy.deepcopy),
        "sliding": partial(compaction, "SlidingWindowCompaction", max_tokens=10**9),
    },
)
