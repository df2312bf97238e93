"""Judge a whole answer: of a text probe what it says, of a tool probe the call it makes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.errors import BackendError
from pytest_ctxguard.recall.asking import Question
from pytest_ctxguard.recall.outcomes import Outcome, judge, judged_text
from pytest_ctxguard.recall.phrases import declines
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Fact, ToolProbe

CALL_TOKENS = 128
"""Longest answer to a tool probe, in tokens: a call of four short arguments takes about 60."""

Called = Literal[
    "", "right", "wrong_argument", "no_argument", "wrong_tool", "unknown_tool", "broken", "no_call"
]
CALLED: Mapping[Called, str] = {
    "right": "the tool was called",
    "wrong_argument": "another argument of the call is wrong",
    "no_argument": "the call leaves the argument out",
    "wrong_tool": "another tool was called",
    "unknown_tool": "a tool was called that does not exist",
    "broken": "the call is no whole JSON object",
    "no_call": "no tool was called",
}
"""What a tool probe was answered with, and what that means; a text probe has the empty one."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer, judged.

    Attributes:
        outcome: what it amounts to.
        text: all that it says.
        called: of a tool probe, what the call was.
    """

    outcome: Outcome
    text: str
    called: Called = ""


def probe_question(
    fact: Fact, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]]
) -> Question:
    """Return a probe's request as what is asked: a tool probe asks for a call, and for longer."""
    if fact.tool is None:
        return Question(messages, tools=tools)
    return Question(messages, tools=tools, tool_choice="required", max_tokens=CALL_TOKENS)


def judge_told(fact: Fact, question: Question, answer: Completion | BackendError) -> Judged:
    """Judge what came of a probe's question: an answer, or an error in its place."""
    if isinstance(answer, BackendError):
        return Judged("error", str(answer))
    return judge_answer(answer, fact, request=question.messages, tools=question.tools)


def judge_answer(
    completion: Completion,
    fact: Fact,
    *,
    request: Sequence[Message],
    tools: Sequence[Mapping[str, Any]] = (),
) -> Judged:
    """Classify an answer as :func:`~pytest_ctxguard.recall.outcomes.judge` does.

    A text probe is judged on all that the answer says. A tool probe is judged on one argument
    of the call: with the right tool, the argument's value makes a *hit*, *neighbour*, *invented*
    or *abstained* as a text would. A hit whose other arguments are not as they must be, a call
    without the argument, one of another tool or of none that exists, and one that is no JSON
    object are *other*, whatever they say: the agent's act was another one. Without a call, a
    phrase that declines is *abstained*.

    Args:
        completion: the answer.
        fact: what was asked for.
        request: the messages the model was shown.
        tools: the tool definitions it was shown.
    """
    text = judged_text(completion)
    if fact.tool is None:
        return Judged(judge(text, fact, request, tools=tools), text)
    call, called = _call(completion, fact.tool, tools)
    if call is None:
        declined = called == "no_call" and declines(text)
        return Judged("abstained" if declined else "other", text, called)
    if fact.tool.argument not in call:
        return Judged("other", text, "no_argument")
    outcome = judge(_as_text(call[fact.tool.argument]), fact, request, tools=tools)
    wanted = fact.tool.arguments.items()
    if outcome == "hit" and any(_differs(call.get(name), value) for name, value in wanted):
        return Judged("other", text, "wrong_argument")
    return Judged(outcome, text, "right")


def _call(
    completion: Completion, probe: ToolProbe, tools: Sequence[Mapping[str, Any]]
) -> tuple[Mapping[str, Any] | None, Called]:
    """Return the arguments of the first call of the right tool, or what there is instead."""
    if not completion.tool_calls:
        return None, "broken" if completion.finish_reason == "length" else "no_call"
    right = [call for call in completion.tool_calls if call.name == probe.name]
    if not right:
        known = {tool["function"]["name"] for tool in tools}
        exists = any(call.name in known for call in completion.tool_calls)
        return None, "wrong_tool" if exists else "unknown_tool"
    arguments = _arguments(right[0])
    return arguments, "right" if arguments is not None else "broken"


def _arguments(call: ToolCall) -> Mapping[str, Any] | None:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return None
    return arguments if isinstance(arguments, dict) else None


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _differs(value: Any, wanted: str) -> bool:
    return _as_text(value).strip().casefold() != wanted.strip().casefold()
