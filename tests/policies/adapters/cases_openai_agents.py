"""What the OpenAI Agents SDK sends: with ToolOutputTrimmer, and with a session's limit."""

import copy
from functools import partial

from pytest_ctxguard.policies.adapters.openai_agents import openai_agents, openai_session
from tests.policies.adapters.contracts import Case, Framework, Verdict


def trimmer(**options):
    from agents.extensions import ToolOutputTrimmer

    return openai_agents(ToolOutputTrimmer(**options))


def session():
    from agents import SQLiteSession

    return SQLiteSession("talk")


def limited(limit):
    from agents import RunConfig, SessionSettings

    return openai_session(
        session, run_config=RunConfig(session_settings=SessionSettings(limit=limit))
    )


def by_hand(limit):
    """Return the newest items of a session, as one gets them without a runner."""

    async def newest(data):
        kept = session()
        await kept.add_items(data.model_data.input)
        data.model_data.input = await kept.get_items(limit=limit)
        return data.model_data

    return openai_agents(newest)


def changing(change):
    def changed(data):
        data.model_data.input = change(data.model_data.input)
        return data.model_data

    return openai_agents(changed)


FRAMEWORK = Framework(
    name="openai_agents",
    packages=("openai-agents",),
    cases=(
        Case(
            name="trimmer-chat",
            builder="chat",
            policy=trimmer,
            expect=Verdict(calls=1, tokens=1371),
        ),
        Case(
            name="trimmer-every-chat",
            builder="chat",
            arguments={"turns": 12},
            every=True,
            policy=trimmer,
            expect=Verdict(calls=24, untouched=4, tokens=1796),
        ),
        Case(
            name="trimmer-loop",
            builder="agentic",
            arguments={"rounds": 40},
            every=True,
            policy=trimmer,
            finding="A tool loop has one user message, so no output is ever old enough to trim.",
            expect=Verdict(calls=41, untouched=41, tokens=14371),
        ),
        Case(
            name="trimmer-one-turn-loop",
            builder="agentic",
            arguments={"rounds": 40},
            every=True,
            policy=partial(trimmer, recent_turns=1),
            finding="With recent_turns=1 all of the only turn is recent.",
            expect=Verdict(calls=41, untouched=41, tokens=14371),
        ),
        Case(
            name="session-limit-by-hand-chat",
            builder="chat",
            arguments={"turns": 40},
            every=True,
            policy=partial(by_hand, 9),
            finding="The newest nine items may begin with a result whose call is cut off.",
            expect=Verdict(calls=80, broken=38, refused=38, untouched=5, fact_lost=75, tokens=1140),
        ),
        Case(
            name="session-limit-by-hand-loop",
            builder="agentic",
            arguments={"rounds": 40},
            every=True,
            policy=partial(by_hand, 9),
            finding="An odd limit begins every request of a tool loop with an orphan.",
            expect=Verdict(
                calls=41,
                broken=36,
                refused=36,
                untouched=5,
                task_lost=36,
                fact_lost=36,
                tokens=1822,
            ),
        ),
        Case(
            name="session-limit-chat",
            builder="chat",
            arguments={"turns": 40},
            every=True,
            policy=partial(limited, 10),
            expect=Verdict(calls=80, untouched=6, fact_lost=74, tokens=1171),
        ),
        Case(
            name="session-limit-loop",
            builder="agentic",
            arguments={"rounds": 40},
            every=True,
            policy=partial(limited, 10),
            finding="A run takes from the session once, so the limit never cuts a tool loop.",
            expect=Verdict(calls=41, untouched=41, tokens=14371),
        ),
    ),
    round_trips={
        "the same items": partial(changing, list),
        "copies": partial(changing, copy.deepcopy),
        "session": partial(openai_session, session),
    },
)
