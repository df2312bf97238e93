"""LangMem's summarize_messages on the two topologies."""

from functools import partial

from pytest_ctxguard.policies.adapters.langchain_model import langchain_model
from pytest_ctxguard.policies.adapters.langmem import langmem
from tests.policies.adapters.contracts import Case, Framework, Verdict


def summarise(recorder, **options):
    from langmem.short_term import summarize_messages

    options = {"max_tokens": 1500, "max_summary_tokens": 128, **options}
    return langmem(partial(summarize_messages, model=langchain_model(recorder), **options))


def never():
    return summarise(lambda messages: "", max_tokens=10**9)


SIZES = {"chat": {"turns": 24}, "agentic": {"rounds": 24}}


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


EARLY = partial(summarise, max_tokens_before_summary=1000)

FRAMEWORK = Framework(
    name="langmem",
    packages=("langmem", "langchain-core"),
    cases=(
        case(
            "running",
            "chat",
            EARLY,
            Verdict(calls=48, untouched=5, task_lost=8, fact_lost=43, tokens=828),
            (
                "Pairs and the system message stay. 8 of 48 calls end with a result that is "
                "summarised with all before it: system message and summary are all that is sent, "
                "the current question included only if the summary says it."
            ),
        ),
        case(
            "running",
            "agentic",
            EARLY,
            Verdict(calls=25, untouched=3, task_lost=22, fact_lost=22, tokens=765),
            (
                "The task is in the summary alone. The first summary is made from it, each later "
                "one from the last summary and new rounds."
            ),
        ),
        case(
            "late",
            "chat",
            summarise,
            Verdict(calls=48, untouched=7, task_lost=6, fact_lost=41, tokens=1211),
            (
                "When summarising starts only above max_tokens, the first summary is already made "
                "without the first turn: the summariser is shown the last 1,500 tokens."
            ),
        ),
        case(
            "late",
            "agentic",
            summarise,
            Verdict(calls=25, untouched=5, task_lost=20, fact_lost=20, tokens=1429),
            (
                "The same setting in a loop: no cut fits, so the summariser is shown everything, "
                "with a warning."
            ),
        ),
    ),
    round_trips={"never summarising": never},
)
