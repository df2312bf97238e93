"""What LlamaIndex's memories give of a session."""

from functools import partial

from pytest_ctxguard.policies.adapters.llama_index import llama_index
from tests.policies.adapters.contracts import Case, Framework, Verdict


def buffer(limit, **options):
    def make():
        from llama_index.core.memory import ChatMemoryBuffer

        return ChatMemoryBuffer.from_defaults(token_limit=limit)

    return llama_index(make, **options)


def memory(limit, *, flush=300, **options):
    def make():
        from llama_index.core.memory import Memory

        return Memory.from_defaults(
            session_id="talk",
            token_limit=limit,
            chat_history_token_ratio=0.7,
            token_flush_size=flush,
        )

    return llama_index(make, **options)


CHAT, LOOP = {"turns": 20}, {"rounds": 20}
FRAMEWORK = Framework(
    name="llama_index",
    packages=("llama-index-core",),
    cases=(
        Case(
            name="buffer-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            budget=1500,
            policy=partial(buffer, 1500),
            expect=Verdict(calls=40, untouched=7, fact_lost=33, tokens=1183),
        ),
        Case(
            name="buffer-inside-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            budget=1500,
            policy=partial(buffer, 1500, system="inside"),
            finding="A memory that keeps the system message forgets it.",
            expect=Verdict(calls=40, untouched=7, system_lost=33, fact_lost=33, tokens=1161),
        ),
        Case(
            name="buffer-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            budget=1500,
            policy=partial(buffer, 1500),
            finding="A tool loop over the limit is cut to its last message, an orphan result.",
            expect=Verdict(
                calls=21,
                broken=16,
                refused=16,
                untouched=5,
                task_lost=16,
                fact_lost=16,
                tokens=1429,
            ),
        ),
        Case(
            name="memory-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            budget=1500,
            policy=partial(memory, 1500),
            expect=Verdict(calls=40, untouched=5, fact_lost=35, tokens=800),
        ),
        Case(
            name="memory-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            budget=1500,
            policy=partial(memory, 1500),
            finding="A tool loop is one turn, and a turn is never cut: nothing is.",
            expect=Verdict(calls=21, untouched=21, over=16, tokens=7131),
        ),
        Case(
            name="memory-inside-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            budget=1500,
            policy=partial(memory, 1500, system="inside"),
            finding="All is kept but the system message.",
            expect=Verdict(calls=21, untouched=3, system_lost=18, over=16, tokens=7109),
        ),
        Case(
            name="memory-scratchpad-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            budget=1500,
            policy=partial(memory, 1500, scratchpad=True),
            finding="The rounds of a running turn are not in the memory, which cannot cut them.",
            expect=Verdict(calls=21, untouched=21, over=16, tokens=7131),
        ),
    ),
    round_trips={
        "buffer": partial(buffer, 10_000_000),
        "buffer, system inside": partial(buffer, 10_000_000, system="inside"),
        "memory": partial(memory, 10_000_000),
        "memory and scratchpad": partial(memory, 10_000_000, scratchpad=True),
    },
)
