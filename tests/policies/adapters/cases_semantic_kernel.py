"""What Semantic Kernel's truncating chat history sends."""

from functools import partial

from pytest_ctxguard.policies.adapters.semantic_kernel import semantic_kernel
from tests.policies.adapters.contracts import Case, Framework, Verdict


def truncation(target, *, reduced="each call", **options):
    def make():
        from semantic_kernel.contents import ChatHistoryTruncationReducer

        return ChatHistoryTruncationReducer(target_count=target, **options)

    return semantic_kernel(make, reduced=reduced)


CHAT, LOOP = {"turns": 40}, {"rounds": 40}
FRAMEWORK = Framework(
    name="semantic_kernel",
    packages=("semantic-kernel",),
    cases=(
        Case(
            name="each-call-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=partial(truncation, 10),
            expect=Verdict(calls=80, untouched=5, fact_lost=75, tokens=1150),
        ),
        Case(
            name="each-turn-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=partial(truncation, 10, reduced="each turn"),
            expect=Verdict(calls=80, untouched=6, fact_lost=74, tokens=1162),
        ),
        Case(
            name="whole-loop",
            builder="agentic",
            arguments={"rounds": 8},
            policy=partial(truncation, 10),
            finding="It drops the only user message and keeps all rounds, far more than ten.",
            expect=Verdict(calls=1, task_lost=1, fact_lost=1, tokens=2798),
        ),
        Case(
            name="each-call-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=partial(truncation, 10),
            finding="After the task it drops nothing more: a run of calls and results is not cut.",
            expect=Verdict(calls=41, untouched=5, task_lost=36, fact_lost=36, tokens=14352),
        ),
        Case(
            name="each-turn-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=partial(truncation, 10, reduced="each turn"),
            finding="A tool loop is one turn, so nothing is ever cut.",
            expect=Verdict(calls=41, untouched=41, tokens=14371),
        ),
    ),
    round_trips={
        "high target": partial(truncation, 10_000),
        "added and reduced": partial(truncation, 10_000, auto_reduce=True),
    },
)
