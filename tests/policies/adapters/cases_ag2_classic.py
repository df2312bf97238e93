"""What the transforms of AG2 before 1.0 send."""

from functools import partial
from types import SimpleNamespace

from pytest_ctxguard.policies.adapters.ag2_classic import ag2_classic
from tests.policies.adapters.cases_ag2 import Named
from tests.policies.adapters.contracts import Case, Verdict


def limited(messages, *, system="apart", **options):
    from autogen.agentchat.contrib.capabilities.transforms import MessageHistoryLimiter

    return ag2_classic(MessageHistoryLimiter(max_messages=messages, **options), system=system)


CHAT, LOOP = {"turns": 40}, {"rounds": 40}
FRAMEWORK = Named(
    name="ag2_classic",
    module="autogen",
    packages=("ag2",),
    cases=(
        Case(
            name="limit-10-inside-chat",
            builder="chat",
            arguments={"turns": 8},
            policy=partial(limited, 10, system="inside"),
            finding="The tenth message from the end is put second: the order is broken.",
            expect=Verdict(calls=1, system_lost=1, fact_lost=1, tokens=745),
        ),
        Case(
            name="limit-10-every-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=partial(limited, 10),
            expect=Verdict(calls=80, broken=38, refused=38, untouched=5, fact_lost=75, tokens=1150),
        ),
        Case(
            name="limit-9-every-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=partial(limited, 9),
            expect=Verdict(calls=80, broken=37, refused=37, untouched=5, fact_lost=75, tokens=800),
        ),
        Case(
            name="limit-10-every-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=partial(limited, 10),
            expect=Verdict(
                calls=41,
                broken=36,
                refused=36,
                untouched=5,
                task_lost=36,
                fact_lost=36,
                tokens=1832,
            ),
        ),
        Case(
            name="limit-9-first-kept-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=partial(limited, 9, keep_first_message=True),
            expect=Verdict(calls=41, untouched=5, tokens=1489),
        ),
    ),
    round_trips={
        "no transform": ag2_classic,
        "high limit": partial(limited, 10_000),
        "inside": partial(ag2_classic, SimpleNamespace(apply_transform=list), system="inside"),
    },
)
