"""LangChain's policies on the two topologies; see the findings for what each case documents."""

from functools import partial

from pytest_ctxguard.policies.adapters.langchain import langchain
from pytest_ctxguard.policies.adapters.langchain_model import langchain_model
from tests.policies.adapters.contracts import Case, Framework, Verdict


def trim(**options):
    from langchain_core.messages import trim_messages

    options = {"max_tokens": 1500, "token_counter": "approximate", **options}
    return langchain(partial(trim_messages, **options))


def clear(**options):
    from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware

    edit = ClearToolUsesEdit(**{"trigger": 1500, "keep": 3, **options})
    return langchain(ContextEditingMiddleware(edits=[edit]))


def summarise(recorder, *, prompt_in_state=False, **options):
    from langchain.agents.middleware import SummarizationMiddleware

    options = {"trigger": ("tokens", 1000), "keep": ("messages", 4), **options}
    middleware = SummarizationMiddleware(langchain_model(recorder), **options)
    return langchain(middleware, prompt_in_state=prompt_in_state)


def copies(messages):
    return [message.model_copy(deep=True) for message in messages]


def editing():
    from langchain.agents.middleware import ContextEditingMiddleware

    return langchain(ContextEditingMiddleware())


def never_summarising():
    from langchain.agents.middleware import SummarizationMiddleware

    return langchain(lambda: SummarizationMiddleware(langchain_model(lambda messages: "")))


DOCUMENTED = partial(trim, start_on="human", include_system=True)

FRAMEWORK = Framework(
    name="langchain",
    packages=("langchain", "langchain-core"),
    cases=(
        Case(
            name="trim-chat",
            builder="chat",
            arguments={"turns": 40},
            every=True,
            policy=DOCUMENTED,
            finding="Pairs stay whole; what the user said first is gone after 7 calls.",
            expect=Verdict(calls=80, untouched=7, fact_lost=73, tokens=1183),
        ),
        Case(
            name="trim-agentic",
            builder="agentic",
            arguments={"rounds": 40},
            every=True,
            policy=DOCUMENTED,
            finding=(
                "With the documented settings, the request is the system message alone as "
                "soon as the only user message leaves the window: 37 of 41 calls."
            ),
            expect=Verdict(calls=41, untouched=4, task_lost=37, fact_lost=37, tokens=1082),
        ),
        Case(
            name="trim-agentic-without-start-on",
            builder="agentic",
            arguments={"rounds": 40},
            every=True,
            policy=partial(trim, include_system=True),
            finding=(
                "Without start_on the task is gone all the same, and one call in 41 starts "
                "with the result of a call that was cut off."
            ),
            expect=Verdict(
                calls=41, broken=1, refused=1, untouched=4, task_lost=37, fact_lost=37, tokens=1430
            ),
        ),
        Case(
            name="trim-chat-by-default",
            builder="chat",
            policy=partial(trim, max_tokens=900),
            finding="Without include_system the system message is dropped.",
            expect=Verdict(system_lost=1, fact_lost=1, tokens=745),
        ),
        Case(
            name="clear-agentic",
            builder="agentic",
            arguments={"rounds": 40},
            policy=clear,
            finding="The oldest 37 of 40 results are cleared, every pair stays whole.",
            expect=Verdict(tokens=1756),
        ),
        Case(
            name="clear-agentic-at-least-800",
            builder="agentic",
            arguments={"rounds": 40},
            budget=1500,
            policy=partial(clear, clear_at_least=800),
            finding=(
                "clear_at_least stops the clearing once 800 tokens are cleared: 3 of 40 "
                "results, and nearly all tokens stay, far over the trigger."
            ),
            expect=Verdict(tokens=13381, over=1),
        ),
        Case(
            name="clear-agentic-at-least-unreachable",
            builder="agentic",
            arguments={"rounds": 40},
            policy=partial(clear, clear_at_least=100_000),
            finding=(
                "A clear_at_least nothing can reach clears all the same; Anthropic's own "
                "clears nothing then."
            ),
            expect=Verdict(tokens=1756),
        ),
        Case(
            name="summarise-chat",
            builder="chat",
            arguments={"turns": 24},
            policy=summarise,
            finding=(
                "The summariser is shown the last 4,000 tokens only, and so never the fact of "
                "the first turn."
            ),
            expect=Verdict(fact_lost=1, tokens=427),
        ),
        Case(
            name="summarise-chat-shown-all",
            builder="chat",
            arguments={"turns": 24},
            policy=partial(summarise, trim_tokens_to_summarize=None),
            finding="With trim_tokens_to_summarize=None it is shown everything.",
            expect=Verdict(fact_lost=1, tokens=427),
        ),
        Case(
            name="summarise-agentic",
            builder="agentic",
            arguments={"rounds": 24},
            policy=summarise,
            finding=(
                "No user message is within the last 4,000 tokens, so the summariser is not "
                "even asked: the history becomes a sentence saying that it was too long."
            ),
            expect=Verdict(task_lost=1, fact_lost=1, tokens=774),
        ),
        Case(
            name="summarise-agentic-prompt-in-state",
            builder="agentic",
            arguments={"rounds": 24},
            policy=partial(summarise, prompt_in_state=True),
            finding=(
                "With a system message among the messages the summariser is shown that alone, "
                "and the system message itself is dropped."
            ),
            expect=Verdict(task_lost=1, system_lost=1, fact_lost=1, tokens=746),
        ),
        Case(
            name="summarise-agentic-from-the-start",
            builder="agentic",
            arguments={"rounds": 24},
            every=True,
            policy=summarise,
            finding=(
                "Triggered early, the summariser is shown the task once; from then on it "
                "summarises its own summary and a round at every call."
            ),
            expect=Verdict(calls=25, untouched=3, task_lost=22, fact_lost=22, tokens=768),
        ),
    ),
    round_trips={
        "as they are": lambda: langchain(lambda messages: messages),
        "copies": lambda: langchain(copies),
        "edits": editing,
        "middleware": never_summarising,
    },
)
