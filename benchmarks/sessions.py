"""Sessions of any number of tool calls, out of a seed; the policies that are run on them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_ctxguard.policies.clear_tool_uses import ClearToolUses
from pytest_ctxguard.policies.elide_tool_results import ElideToolResults
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.policies.noted_compaction import NotedCompaction
from pytest_ctxguard.policies.pinned_at_end import PinnedAtEnd
from pytest_ctxguard.policies.pinned_in_system import PinnedInSystem
from pytest_ctxguard.policies.pipeline import Pipeline
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from pytest_ctxguard.policies.sub_agent_report import SubAgentReport
from pytest_ctxguard.policies.sub_agent_scope import SubAgentScope
from pytest_ctxguard.policies.summary_compaction import SummaryCompaction
from pytest_ctxguard.policies.three_step_fit import CountedThreeStepFit, ThreeStepFit
from pytest_ctxguard.policies.user_messages import UserMessages
from pytest_ctxguard.policies.user_turn_trimmer import UserTurnTrimmer
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Fact, Transcript

BUDGET = 5_000  # tokens; a session of 50 calls has about 8,000
CALLS_A_TURN = 5  # of the chat
RESULT = (60, 140)  # words
WORDS = [
    "queue", "shard", "disk", "latency", "replica", "commit", "lease", "retry", "index", "page",
    "cache", "probe", "quota", "socket", "thread", "worker", "backlog", "metric", "alert",
    "release", "rollback", "tenant", "bucket", "stream", "lock", "frame",
]  # fmt: skip
TOPOLOGIES = ("chat", "agentic")
TICKET = "OPS-48213"
READ: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "read_log",
        "description": "Read a part of a service's log.",
        "parameters": {
            "type": "object",
            "properties": {"service": {"type": "string"}, "page": {"type": "integer"}},
            "required": ["service", "page"],
        },
    },
}


def session(topology: str, calls: int) -> Transcript:
    """Return a session of so many tool calls, the same each time.

    A *chat* has a turn for every five of them, an *agentic* session one turn; both end before
    the last answer. A ticket's number is planted in the first user message.
    """
    draw = random.Random(f"{topology}-{calls}")  # noqa: S311  a fixed text, nothing secret
    messages: list[Message] = [
        {"role": "system", "content": "You look after the services of a shop."},
        {"role": "user", "content": f"This is for ticket {TICKET}. {_text(draw, 30)}"},
    ]
    for number in range(calls):
        if topology == "chat" and number and number % CALLS_A_TURN == 0:
            messages.append({"role": "assistant", "content": _text(draw, 40)})
            messages.append({"role": "user", "content": _text(draw, 25)})
        messages += _round(draw, number)
    wordings = ("What is the number of the ticket?", "For which ticket is all this?")
    fact = Fact(
        name="ticket", value=TICKET, kind="identifier", planted_at=1, wordings=wordings,
        shape=r"OPS-\d+",
    )  # fmt: skip
    return Transcript(
        name=f"{topology}-{calls}", messages=tuple(messages), tools=(READ,), facts=(fact,)
    )


def _round(draw: random.Random, number: int) -> list[Message]:
    arguments = json.dumps({"service": draw.choice(WORDS), "page": number})
    function = {"name": "read_log", "arguments": arguments}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    result = f"page {number}: {_text(draw, draw.randint(*RESULT))}"
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": result},
    ]


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(WORDS, k=words)).capitalize() + "."


def summarise(shown: str | Sequence[Message]) -> str:
    """Stand for a model that summarises: a text of one length, whatever it was shown."""
    return f"{len(shown)} parts of the session were read. {' '.join(WORDS)}."


class Remembered:
    """A policy with state: it cuts when it must, and stays with its cut until it must again."""

    def __init__(self) -> None:
        self.start = 0

    def __call__(
        self, messages: list[Message], budget: int, *, count: Callable[[Sequence[Message]], int]
    ) -> list[Message]:
        """Return the task and what follows the cut."""
        sent = [*messages[:2], *messages[max(2, self.start) :]]
        if count(sent) <= budget:
            return sent
        rounds = [i for i in range(2, len(messages)) if messages[i].get("tool_calls")]
        self.start = rounds[-10:][0] if rounds else 2
        return [*messages[:2], *messages[self.start :]]


def drop_oldest(messages: list[Message]) -> None:
    """Edit the history in place: the task and the newest rounds stay."""
    rounds = [i for i in range(2, len(messages)) if messages[i].get("tool_calls")]
    if len(rounds) > 20:
        del messages[2 : rounds[-20]]


async def newest_turns(messages: list[Message]) -> list[Message]:
    """Keep the newest turns, as an async policy."""
    return SlidingWindow(last=30)(messages)


POLICIES: Mapping[str, Callable[[], Policy]] = {
    "full-history": lambda: full_history,
    "sliding-window-20": lambda: SlidingWindow(last=20),
    "user-messages": lambda: UserMessages(),
    "user-turn-trimmer": lambda: UserTurnTrimmer(),
    "elide-tool-results": lambda: ElideToolResults(),
    "clear-tool-uses": lambda: ClearToolUses(trigger=BUDGET),
    "clear-tool-uses-inputs": lambda: ClearToolUses(
        trigger=20, trigger_by="tool_uses", keep=10, clear_tool_inputs=True
    ),
    "three-step-fit": lambda: ThreeStepFit(),
    "three-step-fit-counted": lambda: CountedThreeStepFit(),
    "pinned-in-system": lambda: PinnedInSystem(),
    "pinned-at-end": lambda: PinnedAtEnd(),
    "sub-agent-scope": lambda: SubAgentScope(first_turn=1, last_turn=2),
    "sub-agent-report": lambda: SubAgentReport(first_turn=1, last_turn=2),
    "summary-compaction": lambda: SummaryCompaction(),
    "noted-compaction": lambda: NotedCompaction(),
    "pipeline": lambda: Pipeline(SummaryCompaction(), CountedThreeStepFit()),
    "stateful": Remembered,
    "persisting": lambda: CountedThreeStepFit(clear_batch=8),
    "in-place": lambda: drop_oldest,
    "async": lambda: newest_turns,
}
"""Name in the report -> what makes the policy, anew for each replay."""
PERSISTS = ("persisting",)
MUTATES = ("in-place",)


def adapted() -> Mapping[str, Callable[[], Policy] | str]:
    """Return each framework's first case of the adapters' contract, or why it is left out."""
    from tests.policies.adapters.contracts import framework, names

    found: dict[str, Callable[[], Policy] | str] = {}
    for each in map(framework, names()):
        if each.versions() is None:
            found[f"adapt.{each.name}"] = f"{each.packages[0]} is not installed here"
            continue
        case = next(case for case in each.cases if not case.expect.failed)
        found[f"adapt.{each.name}:{case.name}"] = case.made
    return found
