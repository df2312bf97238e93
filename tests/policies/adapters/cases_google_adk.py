"""What the Agent Development Kit's context filter leaves of a request."""

import copy
from functools import partial

from pytest_ctxguard.policies.adapters.google_adk import google_adk
from tests.policies.adapters.contracts import Case, Framework, Verdict


def keeping(invocations, **options):
    from google.adk.plugins.context_filter_plugin import ContextFilterPlugin

    return google_adk(ContextFilterPlugin(num_invocations_to_keep=invocations, **options))


def failing():
    """Return a filter whose own function raises."""

    def broken(contents):
        raise KeyError("role")

    return keeping(None, custom_filter=broken)


CHAT, LOOP = {"turns": 40}, {"rounds": 40}
FRAMEWORK = Framework(
    name="google_adk",
    packages=("google-adk",),
    cases=(
        Case(
            name="keep-3-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=partial(keeping, 3),
            expect=Verdict(calls=80, untouched=6, fact_lost=74, tokens=1162),
        ),
        Case(
            name="keep-3-remove-5-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=partial(keeping, 3, remove_amount=5),
            finding="From eight turns on it keeps three: remove_amount only delays the first cut.",
            expect=Verdict(calls=80, untouched=14, fact_lost=66, tokens=2596),
        ),
        Case(
            name="keep-3-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=partial(keeping, 3),
            finding="A tool loop is one invocation, so nothing is ever cut.",
            expect=Verdict(calls=41, untouched=41, tokens=14371),
        ),
        Case(
            name="failing-filter-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=failing,
            finding="A filter that raises is logged, and the request goes out uncut.",
            expect=Verdict(calls=41, untouched=41, tokens=14371),
        ),
    ),
    round_trips={
        "all invocations": partial(keeping, 1000),
        "copies": partial(keeping, None, custom_filter=copy.deepcopy),
    },
)
