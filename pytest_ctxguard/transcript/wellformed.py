"""What a provider demands of the messages of a request, and what it says when it refuses.

A rule set is a function from messages and tool definitions to problems. ``PROVIDERS`` names the
rule sets there are; another provider is one more entry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.transcript.messages import ROLES, Message

WHOLE_ROUND = "keep a call and all its results together, or drop them together"
FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing about a request that a provider refuses, or that no model can make sense of.

    Attributes:
        rule: id of the rule, in kebab-case.
        index: message index; ``None`` when it is the request as a whole or a tool definition.
        what: what is wrong, short.
        refusal: the text the provider's users see, or "" where it is not known for sure.
        remedy: what to do.
    """

    rule: str
    index: int | None
    what: str
    refusal: str
    remedy: str


Rules = Callable[..., list[Problem]]  # (messages, tools=()) -> problems


def openai_rules(
    messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()
) -> list[Problem]:
    """Check a request against the rules of OpenAI's chat completions.

    Sources: the reference of ``POST /v1/chat/completions`` and error bodies its users reported.
    Two rules go further: arguments that are not JSON (the API takes them, chat templates and
    other providers parse them) and half a surrogate pair (clients cannot send it as UTF-8).

    Returns:
        The problems, in message order; empty when the request is well-formed.
    """
    if not messages:
        refusal, remedy = _empty_array("messages"), "keep at least the current user message"
        return [Problem("empty-request", None, "there is no message", refusal, remedy)]
    problems = [p for i, m in enumerate(messages) for p in _message(i, m)]
    problems += _pairs(messages)
    problems.sort(key=lambda problem: problem.index or 0)
    return [*problems, *(p for i, tool in enumerate(tools) for p in _definition(i, tool))]


PROVIDERS: Mapping[str, Rules] = {"openai": openai_rules}


def _message(index: int, message: Message) -> Iterator[Problem]:
    role = message.get("role")
    if role not in ROLES:
        refusal = (
            f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', "
            "'function', 'tool', and 'developer'."
        )
        if not isinstance(role, str) or role == "function":  # older models still take that one
            refusal = ""
        remedy = f"use one of {', '.join(ROLES)}"
        yield Problem("unknown-role", index, f"role {role!r}", refusal, remedy)
    yield from _content(index, message)
    yield from _calls(index, message)
    if role == "tool" and not _id(message.get("tool_call_id")):
        yield Problem(
            "missing-tool-call-id",
            index,
            "a tool message without tool_call_id",
            "Missing parameter 'tool_call_id': messages with role 'tool' must have a "
            "'tool_call_id'.",
            "give it the id of the call it answers",
        )
    yield from _encodable(index, message, f"messages[{index}]")


def _content(index: int, message: Message) -> Iterator[Problem]:
    content = message.get("content")
    if isinstance(content, str) or (isinstance(content, Sequence) and content):
        return
    if content is None:
        excuses = ("tool_calls", "function_call", "refusal", "audio")
        if message.get("role") == "assistant" and any(message.get(key) for key in excuses):
            return
        yield Problem(
            "missing-content",
            index,
            f"a {message.get('role')} message without content",
            "Invalid value for 'content': expected a string, got null."
            if "content" in message
            else "",
            "give it text, or drop it; only an assistant message with tool calls may be without",
        )
    else:
        kind = "an empty list" if isinstance(content, Sequence) else f"a {type(content).__name__}"
        remedy = "content is a string or a list of parts"
        yield Problem("content-type", index, f"content is {kind}", "", remedy)


def _calls(index: int, message: Message) -> Iterator[Problem]:
    calls = message.get("tool_calls")
    if calls is None:
        return
    place = f"messages[{index}].tool_calls"
    if not isinstance(calls, Sequence) or not calls:
        refusal = _empty_array(place) if isinstance(calls, list) else ""
        remedy = "leave the key out of a message without tool calls"
        yield Problem("empty-tool-calls", index, f"tool_calls is {calls!r}", refusal, remedy)
        return
    ids = [_id(_get(call, "id")) for call in calls]
    for call_id in dict.fromkeys(i for i in ids if i and ids.count(i) > 1):
        yield Problem(
            "duplicate-call-id",
            index,
            f"{ids.count(call_id)} calls of one message have id {call_id!r}",
            "",
            "give each call an id of its own, and its result the same",
        )
    for number, call in enumerate(calls):
        yield from _call(index, call, f"{place}[{number}]")


def _call(index: int, call: Any, place: str) -> Iterator[Problem]:
    for key in ("id", "type"):
        if not _get(call, key):
            yield Problem(
                f"missing-call-{key}",
                index,
                f"{place} has no {key}",
                f"Missing required parameter: '{place}.type'." if key == "type" else "",
                "send the call as the model made it" if key == "id" else 'add "type": "function"',
            )
    if _get(call, "type") not in (None, "function"):
        return
    function = _get(call, "function")
    yield from _name(index, _get(function, "name"), f"{place}.function.name")
    arguments = _get(function, "arguments")
    if not isinstance(arguments, str):
        yield Problem(
            "arguments-type",
            index,
            f"{place}.function.arguments is a {type(arguments).__name__}",
            f"Invalid type for '{place}.function.arguments': expected a string, but got an object "
            "instead."
            if isinstance(arguments, Mapping)
            else "",
            "arguments is JSON text: json.dumps(…)",
        )
        return
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        yield Problem(
            "arguments-json",
            index,
            f"{place}.function.arguments is not JSON: {arguments[:60]!r}",
            "",
            "do not cut inside arguments; replace them whole, by valid JSON",
        )


def _name(index: int | None, name: Any, place: str) -> Iterator[Problem]:
    if isinstance(name, str) and FUNCTION_NAME.fullmatch(name):
        return
    if not isinstance(name, str):
        refusal = ""
    elif not name:
        refusal = (
            f"Invalid '{place}': empty string. Expected a string with minimum length 1, but got "
            "an empty string instead."
        )
    elif len(name) > 64:
        refusal = (
            f"Invalid '{place}': string too long. Expected a string with maximum length 64, but "
            f"got a string with length {len(name)} instead."
        )
    else:
        refusal = (
            f"Invalid '{place}': string does not match pattern. Expected a string that matches "
            "the pattern '^[a-zA-Z0-9_-]+$'."
        )
    yield Problem(
        "function-name",
        index,
        f"{place} is {name!r}",
        refusal,
        "name it by 1 to 64 of the characters a-z A-Z 0-9 _ -",
    )


def _definition(number: int, tool: Mapping[str, Any]) -> Iterator[Problem]:
    if _get(tool, "type") == "function":
        name = _get(_get(tool, "function"), "name")
        yield from _name(None, name, f"tools[{number}].function.name")
    yield from _encodable(None, tool, f"tools[{number}]")


def _pairs(messages: Sequence[Message]) -> Iterator[Problem]:
    """Check that calls and results answer each other; both may only stand in one tool round."""
    caller, answers = 0, dict[str, int | None]()  # call id -> index of the result
    for index, message in enumerate([*messages, {}]):
        if message.get("role") == "tool":
            call_id = _id(message.get("tool_call_id"))
            if call_id in answers and answers[call_id] is None:
                answers[call_id] = index
            elif call_id:
                yield _stray(index, call_id, answers.get(call_id))
            continue
        unanswered = [call_id for call_id, answer in answers.items() if answer is None]
        if unanswered:
            names = ", ".join(unanswered)
            yield Problem(
                "unanswered-call",
                caller,
                f"no result follows for {names}",
                "An assistant message with 'tool_calls' must be followed by tool messages "
                "responding to each 'tool_call_id'. The following tool_call_ids did not have "
                f"response messages: {names}",
                WHOLE_ROUND,
            )
        calls = message.get("tool_calls")
        ids = [_id(_get(c, "id")) for c in calls] if isinstance(calls, Sequence) else []
        caller, answers = index, dict.fromkeys(filter(None, ids))


def _stray(index: int, call_id: str, answered: int | None) -> Problem:
    if answered is None:
        return Problem(
            "orphan-result",
            index,
            f"a tool result for {call_id}, which the assistant message before it did not call",
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            "message with 'tool_calls'.",
            WHOLE_ROUND,
        )
    return Problem(
        "duplicate-result",
        index,
        f"a second result for {call_id}; the first is message {answered}",
        f"Invalid parameter: Duplicate value for 'tool_call_id' of '{call_id}', in "
        f"messages[{answered}] and messages[{index}].",
        "keep one result for each call",
    )


def _encodable(index: int | None, value: Any, place: str) -> Iterator[Problem]:
    for path, text in _texts(value, place):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            yield Problem(
                "lone-surrogate",
                index,
                f"{path} has half a surrogate pair at character {error.start} and cannot be "
                "encoded as UTF-8",
                "",
                'cut text between characters; mend it by text.encode("utf-8", "replace")',
            )


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if not value.isascii():
            yield place, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, f"{place}.{key}")
    elif isinstance(value, Sequence):
        for number, item in enumerate(value):
            yield from _texts(item, f"{place}[{number}]")


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _id(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _empty_array(place: str) -> str:
    return (
        f"Invalid '{place}': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead."
    )
