"""A model call as OpenTelemetry's GenAI conventions describe it, as a request and its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.readers.checked import first, name, whole
from pytest_ctxguard.transcript.readers.genai_indexed import indexed_messages, indexed_tools
from pytest_ctxguard.transcript.readers.genai_message import chat_messages, instruction
from pytest_ctxguard.transcript.readers.otlp_spans import Span
from pytest_ctxguard.transcript.reading import count
from pytest_ctxguard.transcript.runs import Exchange
from pytest_ctxguard.transcript.wire.typed import mapping
from pytest_ctxguard.transcript.wire.wire import Answer, Asked

Attributes = Mapping[str, Any]

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
INSTRUCTIONS, TOOLS = "gen_ai.system_instructions", "gen_ai.tool.definitions"
OLD_INPUT, OLD_OUTPUT, OLD_TOOLS = "gen_ai.prompt.", "gen_ai.completion.", "llm.request.functions."
# the current name of each count, then the names it had
USAGE = {
    "prompt_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    "completion_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    "cached_tokens": (
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
    ),
    "cache_written_tokens": (
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
    ),
    "reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
    ),
}
READ = {
    *(INPUT, OUTPUT, INSTRUCTIONS, TOOLS),
    *(key for keys in USAGE.values() for key in keys),
    *("gen_ai.request.model", "gen_ai.response.model", "gen_ai.response.id"),
    *("gen_ai.response.finish_reasons", "gen_ai.operation.name", "gen_ai.conversation.id"),
    *("error.type", "llm.request.type"),
}


def has_messages(found: Attributes) -> bool:
    """Tell whether what was sent was captured."""
    return INPUT in found or any(key.startswith(OLD_INPUT) for key in found)


def read_call(span: Span, passed_over: dict[str, int]) -> Exchange:
    """Return a call's request and answer.

    Raises:
        ValueError: an attribute is not what the conventions say; says which, and where.
    """
    found = span.attributes
    asked = Asked(
        messages=(*_instructions(found), *_messages(found, INPUT, OLD_INPUT)),
        tools=_tools(found),
        model=name(found.get("gen_ai.request.model")),
        settings=_settings(found, passed_over),
    )
    output = _messages(found, OUTPUT, OLD_OUTPUT)
    answers = [message for message in output if message["role"] == "assistant"]
    for _ in answers[1:]:
        count(passed_over, "further choice of an answer")
    for message in output:
        if message["role"] != "assistant":
            count(passed_over, f"output message of role {message['role']}")
    refusal = None
    if not answers and (span.error is not None or "error.type" in found):
        reasons = dict.fromkeys(map(str, filter(None, (found.get("error.type"), span.error))))
        refusal = ": ".join(reasons)
    message = {key: v for key, v in answers[0].items() if key != "finish_reason"} if answers else {}
    answer = Answer(
        messages=(message,) if message else (),
        call=_call(span, answers[0] if answers else {}),
        id=name(found.get("gen_ai.response.id")),
        refusal=refusal,
    )
    return Exchange(asked=asked, answer=answer, line=span.line)


def decoded(found: Attributes, key: str) -> Any:
    """Return an attribute that is structured, or the same as JSON text.

    Raises:
        ValueError: its text is not JSON.
    """
    value = found.get(key)
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{key} is not JSON ({error}). It may have been cut by a limit on attribute lengths: "
            "raise OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT and record again."
        ) from error


def _messages(found: Attributes, key: str, old: str) -> Sequence[dict[str, Any]]:
    if key not in found:
        return indexed_messages(found, old)
    value = decoded(found, key)
    if not isinstance(value, list):
        raise ValueError(f"{key} must be a list of messages")
    messages: list[dict[str, Any]] = []
    for index, item in enumerate(value):
        try:
            messages += chat_messages(item)
        except ValueError as error:
            raise ValueError(f"{key}[{index}]: {error}") from error
    return messages


def _instructions(found: Attributes) -> Sequence[Message]:
    if INSTRUCTIONS not in found:
        return ()
    try:
        value = decoded(found, INSTRUCTIONS)
    except ValueError:
        value = found[INSTRUCTIONS]  # some write the text itself
    try:
        return (instruction(value),)
    except ValueError as error:
        raise ValueError(f"{INSTRUCTIONS}: {error}") from error


def _tools(found: Attributes) -> tuple[Mapping[str, Any], ...]:
    """Return the tools that were offered, as OpenAI defines them."""
    if TOOLS not in found:
        return indexed_tools(found, OLD_TOOLS)
    value = decoded(found, TOOLS)
    if not isinstance(value, list):
        raise ValueError(f"{TOOLS} must be a list")
    tools = []
    for index, tool in enumerate(value):
        function = mapping(tool).get("function")
        if not isinstance(function, dict):
            function = {
                key: v for key, v in mapping(tool).items() if key not in ("type", "function")
            }
        if not isinstance(function.get("name"), str):
            raise ValueError(f"{TOOLS}[{index}] has no `name`")
        tools.append({"type": mapping(tool).get("type") or "function", "function": function})
    return tuple(tools)


def _settings(found: Attributes, passed_over: dict[str, int]) -> dict[str, Any]:
    """Return what else is known, under its own name; other conventions' attributes are counted."""
    settings: dict[str, Any] = {}
    for key, value in found.items():
        if key in READ or key.startswith((OLD_INPUT, OLD_OUTPUT, OLD_TOOLS)):
            continue
        if key.startswith("gen_ai."):
            settings[key.removeprefix("gen_ai.request.").removeprefix("gen_ai.")] = value
        else:
            count(passed_over, f"attribute {key}")
    return settings


def _call(span: Span, answer: Mapping[str, Any]) -> dict[str, Any]:
    found = span.attributes
    reasons = found.get("gen_ai.response.finish_reasons")  # as the provider has it
    reason = reasons[0] if isinstance(reasons, list) and reasons else None
    facts = {
        "model": name(first(found, ("gen_ai.response.model", "gen_ai.request.model"))),
        **{key: whole(first(found, names)) for key, names in USAGE.items()},
        "finish_reason": name(reason) or name(answer.get("finish_reason")),
        "response_id": name(found.get("gen_ai.response.id")),
        "time": span.time,
        "duration_seconds": (span.end - span.start) / 1e9 if 0 < span.start < span.end else None,
        "trace_id": span.trace,
        "span_id": span.id,
    }
    return {key: value for key, value in facts.items() if value is not None}
