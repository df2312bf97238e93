"""What AG2 1.x leaves of a stream."""

import copy
import importlib.util
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

from pytest_ctxguard.policies.adapters.ag2 import ag2, ag2_compact
from tests.policies.adapters.contracts import Case, Framework, Verdict


@dataclass(frozen=True, kw_only=True)
class Named(Framework):
    """A framework whose distribution holds another package from some version on."""

    module: str

    def versions(self):
        return super().versions() if importlib.util.find_spec(self.module) else None


def sliding(events, **options):
    from ag2.policies import SlidingWindowPolicy

    return ag2(SlidingWindowPolicy(max_events=events, **options))


def budgeted(tokens):
    from ag2.policies import TokenBudgetPolicy

    return ag2(TokenBudgetPolicy(max_tokens=tokens))


def tail(target, events):
    from ag2.compact import CompactTrigger, TailWindowCompact

    return ag2_compact(
        lambda: TailWindowCompact(target=target), trigger=CompactTrigger(max_events=events)
    )


def copying():
    async def apply(prompts, events, context):
        return list(prompts), copy.deepcopy(events)

    return ag2(SimpleNamespace(apply=apply))


CHAT, LOOP = {"turns": 40}, {"rounds": 40}
FRAMEWORK = Named(
    name="ag2",
    module="ag2",
    packages=("ag2",),
    cases=(
        Case(
            name="sliding-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=partial(sliding, 24),
            expect=Verdict(calls=80, untouched=7, fact_lost=73, tokens=1192),
        ),
        Case(
            name="sliding-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=partial(sliding, 24),
            finding="The last 24 events of a tool loop are four rounds, without the task.",
            expect=Verdict(calls=41, untouched=5, task_lost=36, fact_lost=36, tokens=1470),
        ),
        Case(
            name="budget-chat",
            builder="chat",
            arguments={"turns": 8},
            every=True,
            budget=1500,
            policy=partial(budgeted, 1500),
            expect=Verdict(calls=16, untouched=13, fact_lost=3, over=8, tokens=2577),
        ),
        Case(
            name="budget-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            budget=1500,
            policy=partial(budgeted, 1500),
            finding="It measures how an event prints, and long results print shortened: requests "
            "of over 2,500 tokens pass for 1,500.",
            expect=Verdict(calls=41, untouched=8, task_lost=33, fact_lost=33, over=36, tokens=2556),
        ),
        Case(
            name="tail-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=partial(tail, 20, 40),
            expect=Verdict(calls=80, untouched=12, fact_lost=68, tokens=2299),
        ),
        Case(
            name="tail-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=partial(tail, 20, 40),
            finding="Compaction runs after a turn, and a tool loop is one turn.",
            expect=Verdict(calls=41, untouched=41, tokens=14371),
        ),
    ),
    round_trips={
        "no policy": ag2,
        "wide window": partial(sliding, 10_000),
        "copies": copying,
        "high trigger": partial(tail, 10, 10_000),
    },
)
