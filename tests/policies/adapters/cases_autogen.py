"""What autogen-core's model contexts send."""

from pytest_ctxguard.policies.adapters.autogen import autogen
from tests.policies.adapters.contracts import Case, Framework, Verdict


class QuarterCharacters:
    """A model client that only counts: a quarter of the characters of what a message prints as."""

    def count_tokens(self, messages, *, tools=()):
        return sum(len(str(message.content)) // 4 for message in messages)

    def remaining_tokens(self, messages, *, tools=()):
        return 1500 - self.count_tokens(messages)


def buffered(size, **options):
    def make():
        from autogen_core.model_context import BufferedChatCompletionContext

        return BufferedChatCompletionContext(buffer_size=size)

    return autogen(make, **options)


def head_and_tail(head, tail, **options):
    def make():
        from autogen_core.model_context import HeadAndTailChatCompletionContext

        return HeadAndTailChatCompletionContext(head_size=head, tail_size=tail)

    return autogen(make, **options)


def token_limited(limit, **options):
    def make():
        from autogen_core.model_context import TokenLimitedChatCompletionContext

        return TokenLimitedChatCompletionContext(QuarterCharacters(), token_limit=limit)

    return autogen(make, **options)


def unbounded(**options):
    def make():
        from autogen_core.model_context import UnboundedChatCompletionContext

        return UnboundedChatCompletionContext()

    return autogen(make, **options)


CHAT, LOOP = {"turns": 40}, {"rounds": 40}
FRAMEWORK = Framework(
    name="autogen",
    packages=("autogen-core",),
    cases=(
        Case(
            name="buffered-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=lambda: buffered(12),
            expect=Verdict(calls=80, untouched=6, fact_lost=74, tokens=1171),
        ),
        Case(
            name="buffered-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=lambda: buffered(12),
            finding="The last twelve messages of a tool loop are without the task.",
            expect=Verdict(calls=41, untouched=6, task_lost=35, fact_lost=35, tokens=2194),
        ),
        Case(
            name="buffered-inside-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=lambda: buffered(12, system="inside"),
            finding="A context that keeps the system message forgets it.",
            expect=Verdict(calls=80, untouched=6, system_lost=74, fact_lost=74, tokens=1149),
        ),
        Case(
            name="head-and-tail-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            policy=lambda: head_and_tail(2, 10),
            expect=Verdict(calls=80, untouched=6, tokens=1179),
        ),
        Case(
            name="head-and-tail-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            policy=lambda: head_and_tail(2, 10),
            expect=Verdict(calls=41, untouched=6, tokens=1860),
        ),
        Case(
            name="token-limited-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            budget=1500,
            policy=lambda: token_limited(1500),
            finding="It drops the message in the middle, half a tool round, until the rest fits.",
            expect=Verdict(calls=80, broken=37, refused=37, untouched=7, tokens=1164),
        ),
        Case(
            name="token-limited-inside-chat",
            builder="chat",
            arguments=CHAT,
            every=True,
            budget=1500,
            policy=lambda: token_limited(1500, system="inside"),
            finding="It drops the message in the middle, half a tool round, until the rest fits.",
            expect=Verdict(calls=80, broken=73, refused=73, untouched=7, tokens=1176),
        ),
        Case(
            name="token-limited-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            budget=1500,
            policy=lambda: token_limited(1500),
            finding="Nearly every request of a tool loop has half a tool round.",
            expect=Verdict(calls=41, broken=30, refused=30, untouched=5, tokens=1429),
        ),
        Case(
            name="token-limited-inside-loop",
            builder="agentic",
            arguments=LOOP,
            every=True,
            budget=1500,
            policy=lambda: token_limited(1500, system="inside"),
            finding="Nearly every request of a tool loop has half a tool round.",
            expect=Verdict(calls=41, broken=37, refused=37, untouched=4, tokens=1122),
        ),
    ),
    round_trips={
        "unbounded": unbounded,
        "unbounded, system inside": lambda: unbounded(system="inside"),
    },
)
