"""What Strands Agents' sliding window leaves of an agent's messages."""

import copy
from functools import partial
from types import SimpleNamespace

from pytest_ctxguard.policies.adapters.strands import strands
from tests.policies.adapters.contracts import Case, Framework, Verdict


def window(size, *, overflow=False, **options):
    def make():
        from strands.agent.conversation_manager import SlidingWindowConversationManager

        return SlidingWindowConversationManager(window_size=size, **options)

    return strands(make, overflow=overflow)


def copying():
    """Return a manager that puts copies in place of the messages."""

    def swap(agent):
        agent.messages[:] = copy.deepcopy(agent.messages)

    return SimpleNamespace(apply_management=swap, register_hooks=lambda registry: None)


CHAT, LOOP = {"turns": 40}, {"rounds": 40}
FRAMEWORK = Framework(
    name="strands",
    packages=("strands-agents",),
    cases=(
        Case(
            name="after-turns-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=partial(window, 12),
            expect=Verdict(calls=80, untouched=8, fact_lost=72, tokens=1545),
        ),
        Case(
            name="after-turns-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=partial(window, 12),
            finding="By default it acts after a turn, and a tool loop is one turn.",
            expect=Verdict(calls=41, untouched=41, tokens=14371),
        ),
        Case(
            name="per-call-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=partial(window, 12, per_turn=True),
            expect=Verdict(calls=80, untouched=6, fact_lost=74, tokens=1162),
        ),
        Case(
            name="per-call-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=partial(window, 12, per_turn=True),
            finding="Cut before every call, a tool loop loses its task.",
            expect=Verdict(calls=41, untouched=6, task_lost=35, fact_lost=35, tokens=2194),
        ),
        Case(
            name="per-call-pinned-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=partial(window, 12, per_turn=True, pin_first=1),
            expect=Verdict(calls=41, untouched=7, tokens=2213),
        ),
        Case(
            name="overflow-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            budget=1500,
            policy=partial(window, 40, overflow=True),
            finding="It shortens the oldest result; if that is not enough it drops the task and "
            "that round, whatever the window.",
            expect=Verdict(calls=41, untouched=5, task_lost=36, fact_lost=36, tokens=1470),
        ),
        Case(
            name="proactive-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            budget=1500,
            policy=partial(window, 12, proactive_compression=True),
            finding="At 70 % of the context window it drops the task with the oldest round.",
            expect=Verdict(calls=41, untouched=3, task_lost=38, fact_lost=38, tokens=746),
        ),
    ),
    round_trips={
        "wide window": partial(window, 10_000, per_turn=True),
        "copies": partial(strands, copying),
    },
)
