"""What Microsoft's Agent Framework sends after compaction."""

import copy
from functools import partial

from pytest_ctxguard.policies.adapters.agent_framework import agent_framework
from tests.policies.adapters.contracts import Case, Framework, Verdict


def truncation(most, to, **options):
    import agent_framework as framework

    tokenizer = framework.CharacterEstimatorTokenizer()

    def make():
        return framework.TruncationStrategy(
            max_n=most, compact_to=to, tokenizer=tokenizer, **options
        )

    return agent_framework(make, tokenizer=tokenizer)


def strategy(name, **options):
    import agent_framework as framework

    return agent_framework(
        lambda: getattr(framework, name)(**options),
        tokenizer=framework.CharacterEstimatorTokenizer(),
    )


async def nothing(messages):
    return False


async def copies(messages):
    messages[:] = copy.deepcopy(messages)
    return True


CHAT, LOOP = {"turns": 40}, {"rounds": 40}
FRAMEWORK = Framework(
    name="agent_framework",
    packages=("agent-framework-core",),
    cases=(
        Case(
            name="truncation-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            budget=1500,
            policy=partial(truncation, 1500, 1000),
            expect=Verdict(calls=80, untouched=6, fact_lost=74, tokens=1150),
        ),
        Case(
            name="truncation-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            budget=1500,
            policy=partial(truncation, 1500, 1000),
            finding="The only user message is the oldest, and the first to go.",
            expect=Verdict(calls=41, untouched=4, task_lost=37, fact_lost=37, tokens=1108),
        ),
        Case(
            name="truncation-first-user-kept-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            budget=1500,
            policy=partial(truncation, 1500, 1000, preserve_first_user_group=True),
            expect=Verdict(calls=41, untouched=4, tokens=1127),
        ),
        Case(
            name="sliding-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=partial(strategy, "SlidingWindowStrategy", keep_last_groups=6),
            expect=Verdict(calls=80, untouched=4, fact_lost=76, tokens=788),
        ),
        Case(
            name="sliding-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=partial(strategy, "SlidingWindowStrategy", keep_last_groups=6),
            finding="Six groups of a tool loop are six rounds, without the task.",
            expect=Verdict(calls=41, untouched=6, task_lost=35, fact_lost=35, tokens=2194),
        ),
        Case(
            name="tool-calls-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=partial(
                strategy, "SelectiveToolCallCompactionStrategy", keep_last_tool_call_groups=2
            ),
            expect=Verdict(calls=80, untouched=5, tokens=1584),
        ),
        Case(
            name="tool-results-loop",
            builder="agentic",
            arguments={"rounds": 12},
            every=True,
            policy=partial(strategy, "ToolResultCompactionStrategy", keep_last_tool_call_groups=2),
            finding="What it writes in place of old results repeats them word for word.",
            expect=Verdict(calls=13, untouched=3, tokens=4195),
        ),
    ),
    round_trips={
        "nothing done": partial(agent_framework, lambda: nothing),
        "copies": partial(agent_framework, lambda: copies),
    },
)
