"""Agentfit's fit on the two topologies."""

import copy
from functools import partial

from pytest_ctxguard.policies.adapters.agentfit import agentfit
from tests.policies.adapters.contracts import Case, Framework, Verdict


def fit(**options):
    from agentfit import fit

    options = {"max_tokens": 1500, "on_over_budget": "return-partial", **options}
    return agentfit(partial(fit, **options))


LONG = {"chat": {"turns": 40}, "agentic": {"rounds": 40}}


def case(builder, strategy, expect, finding):
    return Case(
        name=f"{strategy}-{builder}",
        builder=builder,
        arguments=LONG[builder],
        every=True,
        budget=1500,
        policy=partial(fit, strategy=strategy),
        expect=expect,
        finding=finding,
    )


FRAMEWORK = Framework(
    name="agentfit",
    packages=("agentfit-py",),
    cases=(
        case(
            "chat",
            "drop-oldest",
            Verdict(calls=80, broken=7, refused=7, untouched=8, fact_lost=72, tokens=1492),
            "It knows nothing of pairs: 7 of 80 calls start with a result whose call was dropped.",
        ),
        case(
            "chat",
            "drop-middle",
            Verdict(calls=80, broken=59, refused=59, untouched=8, tokens=1492),
            "Dropping from the middle keeps the first turn, and breaks a pair in 59 of 80 calls.",
        ),
        case(
            "agentic",
            "drop-oldest",
            Verdict(calls=41, untouched=5, task_lost=36, fact_lost=36, tokens=1470),
            "The one user message is the oldest and goes first: 36 of 41 calls are without a task.",
        ),
        case(
            "agentic",
            "drop-middle",
            Verdict(calls=41, broken=36, refused=36, untouched=5, tokens=1484),
            "The task stays, and every call it trims has a broken pair: 36 of 41.",
        ),
        Case(
            name="throws-over-budget",
            builder="agentic",
            policy=partial(fit, max_tokens=100, preserve_last_n=2, on_over_budget="throw"),
            expect=Verdict(failed=1),
            finding="By default it raises rather than send too much.",
        ),
    ),
    round_trips={
        "as they are": lambda: agentfit(lambda messages: messages),
        "copies": lambda: agentfit(copy.deepcopy),
        "its own": partial(fit, max_tokens=10**9),
    },
)
