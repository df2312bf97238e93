"""Read a request of ``POST /v1/chat/completions``.

Source of names and texts: OpenAI's API reference, and error bodies its users reported. A parameter
that would change the answer and is not supported is refused; those that would not (``user``,
``metadata``, ``store``, …) are let through.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.backend import Sampling, ToolChoice
from pytest_ctxguard.server.ask import DEFAULT_MAX_TOKENS, Ask
from pytest_ctxguard.server.fields import Fields
from pytest_ctxguard.server.refusals import Refusal
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed import openai_rules

MAX_STOPS = 4
# parameter -> values that ask for nothing this server does not do
UNSUPPORTED: Mapping[str, tuple[Any, ...]] = {
    "n": (None, 1),
    "logprobs": (None, False),
    "top_logprobs": (None, 0),
    "response_format": (None, {"type": "text"}),
    "logit_bias": (None, {}),
    "presence_penalty": (None, 0),
    "frequency_penalty": (None, 0),
    "functions": (None, []),
    "function_call": (None,),
    "audio": (None,),
    "modalities": (None, ["text"]),
}


def fields_of(body: Mapping[str, Any]) -> Fields:
    """Return the fields of a body, with OpenAI's words for what is wrong with one."""
    return Fields(body, _missing, _wrong)


def read_request(body: Mapping[str, Any], *, strict: bool) -> Ask:
    """Return what a request body asks for.

    Args:
        body: the JSON object.
        strict: refuse what OpenAI's own rules for messages refuse.
    """
    fields = fields_of(body)
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise Refusal(400, "you must provide a model parameter")
    messages = fields.array("messages", required=True) or []
    tools = tuple(_tool(fields, i, tool) for i, tool in enumerate(fields.array("tools") or ()))
    for name, harmless in UNSUPPORTED.items():
        if body.get(name) not in harmless:
            raise _unsupported(name, body[name])
    _check_messages(fields, messages, tools=tools, strict=strict)
    choice, forced = _tool_choice(fields, tools)
    stream = fields.flag("stream")
    options = fields.object("stream_options")
    if options is not None and not stream:
        raise Refusal(
            400,
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            param="stream_options",
        )
    return Ask(
        model=model,
        messages=tuple(messages),
        tools=tools,
        tool_choice=choice,
        forced=forced,
        one_call=not fields.flag("parallel_tool_calls", default=True),
        max_tokens=_max_tokens(fields),
        stop=_stop(fields),
        sampling=Sampling(
            temperature=fields.number("temperature", maximum=2, default=0.0),
            top_p=fields.number("top_p", maximum=1, default=1.0),
            seed=fields.integer("seed") or 0,
        ),
        stream=stream,
        include_usage=bool(options and options.get("include_usage")),
    )


def _check_messages(
    fields: Fields, messages: Sequence[Any], *, tools: Sequence[Any], strict: bool
) -> None:
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise _wrong(f"messages[{index}]", "an object", message)
        _check_content(index, message)
    if not messages or strict:
        for problem in openai_rules(messages, tools):
            if problem.refusal:
                raise Refusal(400, problem.refusal, param=_place(problem.rule, problem.index))


def _check_content(index: int, message: Message) -> None:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return
    place = f"messages[{index}].content"
    if not isinstance(content, list):
        raise _wrong(place, "a string or an array of parts", content)
    for number, part in enumerate(content):
        if not isinstance(part, dict):
            raise _wrong(f"{place}[{number}]", "an object", part)
        kind = part.get("type")
        if kind not in ("text", "refusal"):
            raise Refusal(
                400,
                f"Invalid content type. {kind} is only supported by certain models.",
                param=f"messages.[{index}].content.[{number}].type",
            )
        if kind == "text" and not isinstance(part.get("text"), str):
            raise _wrong(f"{place}[{number}].text", "a string", part.get("text"))


def _place(rule: str, index: int | None) -> str:
    role = rule in ("orphan-result", "unknown-role") and index is not None
    return f"messages.[{index}].role" if role else "messages"


def _tool(fields: Fields, index: int, tool: Any) -> Mapping[str, Any]:
    place = f"tools[{index}]"
    row = fields.at(place, tool)
    kind = row.text("type", required=True)
    if kind != "function":
        raise Refusal(
            400,
            f"Invalid value: '{kind}'. Supported values are: 'function'.",
            code="invalid_value",
            param=f"{place}.type",
        )
    row.at(f"{place}.function", row.object("function", required=True)).text("name", required=True)
    return dict(row.body)


def _tool_choice(fields: Fields, tools: Sequence[Any]) -> tuple[ToolChoice, str | None]:
    choice = fields.body.get("tool_choice")
    if choice is None:
        return "auto", None
    if not tools:
        raise Refusal(
            400,
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are "
            "specified.",
            param="tool_choice",
        )
    if choice in ("auto", "none", "required"):
        return choice, None
    if isinstance(choice, str):
        raise Refusal(
            400,
            f"Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'.",
            code="invalid_value",
            param="tool_choice",
        )
    row = fields.at("tool_choice", choice)
    function = row.object("function", required=True)
    name = row.at("tool_choice.function", function).text("name", required=True)
    if name not in [tool["function"]["name"] for tool in tools]:
        raise Refusal(
            400,
            f"Invalid value for 'tool_choice': no function named '{name}' was specified in the "
            "'tools' parameter.",
            param="tool_choice",
        )
    return "required", name


def _max_tokens(fields: Fields) -> int:
    old = fields.integer("max_tokens", minimum=1)
    new = fields.integer("max_completion_tokens", minimum=1)
    if old is not None and new is not None:
        raise Refusal(
            400,
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            code="invalid_parameter_combination",
            param="max_tokens",
        )
    return new or old or DEFAULT_MAX_TOKENS


def _stop(fields: Fields) -> tuple[str, ...]:
    stop = fields.texts("stop")
    if len(stop) > MAX_STOPS:
        raise Refusal(
            400,
            f"Invalid 'stop': array too long. Expected an array with maximum length {MAX_STOPS}, "
            f"but got an array with length {len(stop)} instead.",
            code="array_above_max_length",
            param="stop",
        )
    return tuple(text for text in stop if text)


def _missing(name: str) -> Refusal:
    return Refusal(
        400, f"Missing required parameter: '{name}'.", code="missing_required_parameter", param=name
    )


def _wrong(name: str, expected: str, value: Any) -> Refusal:
    found = "null" if value is None else KINDS.get(type(value), "a value of another type")
    in_range = " >= " in expected or " from " in expected  # the kind is right, the value is not
    what, code = ("value", "invalid_value") if in_range else ("type", "invalid_type")
    return Refusal(
        400,
        f"Invalid {what} for '{name}': expected {expected}, but got "
        f"{json.dumps(value) if in_range else found} instead.",
        code=code,
        param=name,
    )


KINDS = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    list: "an array",
    dict: "an object",
}


def _unsupported(name: str, value: Any) -> Refusal:
    return Refusal(
        400,
        f"Unsupported parameter: '{name}' is not supported with this model "
        f"(pytest-ctxguard serves one plain-text answer; got {str(value)[:60]}).",
        code="unsupported_parameter",
        param=name,
    )
