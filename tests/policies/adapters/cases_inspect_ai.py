"""Inspect's trim_messages and compaction strategies on the two topologies."""

import copy
from functools import partial

from pytest_ctxguard.policies.adapters.inspect_ai import inspect_ai, inspect_ai_model
from tests.policies.adapters.contracts import Case, Framework, Verdict


def trim(**options):
    from inspect_ai.model import trim_messages

    return inspect_ai(partial(trim_messages, **options))


def strategy(name, **options):
    from inspect_ai import model

    return inspect_ai(getattr(model, name)(memory=False, **options))


def summarise(recorder):
    from inspect_ai.model import CompactionSummary

    summary = CompactionSummary(threshold=1500, memory=False)
    return inspect_ai(summary, model=inspect_ai_model(recorder))


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


TRIM = partial(trim, preserve=0.4)
EDIT = partial(strategy, "CompactionEdit", threshold=1500, keep_tool_uses=2)
TRIMMING = partial(strategy, "CompactionTrim", threshold=1500, preserve=0.4)

FRAMEWORK = Framework(
    name="inspect_ai",
    packages=("inspect-ai",),
    cases=(
        case(
            "trim",
            "chat",
            TRIM,
            Verdict(calls=40, untouched=1, over=21, tokens=3105),
            (
                "It keeps a share of the messages, whatever they weigh: it trims a history of six "
                "messages, and sends 3,105 tokens of the longest one."
            ),
        ),
        case(
            "trim",
            "agentic",
            TRIM,
            Verdict(calls=21, untouched=1, over=9, tokens=2937),
            "System message and task stay, pairs stay whole.",
        ),
        case(
            "edit",
            "chat",
            EDIT,
            Verdict(calls=40, untouched=9, over=10, tokens=1784),
            ("Only results are cleared, so texts and calls outgrow the threshold in a long chat."),
        ),
        case(
            "edit",
            "agentic",
            EDIT,
            Verdict(calls=21, untouched=5, over=1, tokens=1549),
            "The task stays, and the newest two results.",
        ),
        case(
            "compaction-trim",
            "chat",
            TRIMMING,
            Verdict(calls=40, untouched=9, over=8, tokens=1564),
            "It compacts rarely, and keeps the first turn's question.",
        ),
        case(
            "compaction-trim",
            "agentic",
            TRIMMING,
            Verdict(calls=21, untouched=5, tokens=1489),
            "The same in a loop.",
        ),
        case(
            "summary",
            "chat",
            summarise,
            Verdict(calls=40, untouched=9, task_lost=4, over=1, tokens=1513),
            "In 4 of 40 calls the current question is in the summary alone.",
        ),
        case(
            "summary",
            "agentic",
            summarise,
            Verdict(calls=21, untouched=5, over=1, tokens=1507),
            "The task stays beside the summary.",
        ),
        Case(
            name="trim-after-answer",
            builder="chat",
            policy=TRIM,
            expect=Verdict(tokens=1145),
            finding="It never ends on an assistant message: the answer that came last is dropped.",
        ),
    ),
    round_trips={
        "as they are": lambda: inspect_ai(lambda messages: messages),
        "copies": lambda: inspect_ai(copy.deepcopy),
        "strategy": partial(strategy, "CompactionEdit", threshold=10**9),
    },
)
