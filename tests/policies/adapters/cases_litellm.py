"""LiteLLM's trim_messages on the two topologies."""

import copy
import logging
from functools import partial

from pytest_ctxguard.policies.adapters.litellm import litellm
from tests.policies.adapters.contracts import Case, Framework, Verdict


def trim(**options):
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)  # it logs what it swallows
    from litellm.utils import trim_messages

    return litellm(partial(trim_messages, **options))


FRAMEWORK = Framework(
    name="litellm",
    packages=("litellm",),
    cases=(
        Case(
            name="trim-chat",
            builder="chat",
            arguments={"turns": 20},
            every=True,
            budget=1500,
            policy=partial(trim, max_tokens=1500),
            finding=(
                "Over the limit, each call after a user message starts with a tool result "
                'whose call is gone and whose middle is ".."; each call after a tool result '
                "is sent whole, whatever its size: 16 and 16 of 40."
            ),
            expect=Verdict(
                calls=40, broken=16, refused=16, untouched=24, fact_lost=16, over=16, tokens=7530
            ),
        ),
        Case(
            name="trim-chat-pads",
            builder="chat",
            arguments={"turns": 20, "pad": 20},
            every=True,
            budget=1500,
            policy=partial(trim, max_tokens=1500),
            finding=(
                "With small results, 20 of 40 calls start with such a result, and the last "
                "two are sent whole."
            ),
            expect=Verdict(
                calls=40, broken=20, refused=20, untouched=20, fact_lost=20, over=2, tokens=3030
            ),
        ),
        Case(
            name="trim-agentic",
            builder="agentic",
            arguments={"rounds": 20},
            every=True,
            budget=1500,
            policy=partial(trim, max_tokens=1500),
            finding=(
                "It raises a TypeError on the content None of a tool call, swallows it and "
                "returns its input: nothing is ever trimmed, 7,131 tokens go out for a limit "
                "of 1,500."
            ),
            expect=Verdict(calls=21, untouched=21, over=16, tokens=7131),
        ),
        Case(
            name="trim-unknown-model",
            builder="chat",
            arguments={"turns": 20},
            budget=1500,
            policy=partial(trim, model="the-new-one"),
            finding="A model it does not know means no limit at all, without a word.",
            expect=Verdict(untouched=1, over=1, tokens=7539),
        ),
    ),
    round_trips={
        "as they are": lambda: litellm(lambda messages: messages),
        "copies": lambda: litellm(copy.deepcopy),
        "its own": partial(trim, max_tokens=10**9),
    },
)
