"""The items of OpenAI's Responses API as chat messages.

What a model said in one go comes as several items: reasoning, texts, calls. Here they are one
assistant message, up to the next item that came from elsewhere, so that parallel calls are one
tool round, and an answer is the message it becomes when it is sent back. Ids, nulls and the
status ``completed`` are left out, for many clients do not send them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wire import typed
from pytest_ctxguard.transcript.wire.openai_values import (
    argument_text,
    objects,
    optional_text,
    text,
)

# Type of a call that the client answers -> name of the tool, where the item has none.
CALLS = {
    "function_call": None,
    "custom_tool_call": None,
    "mcp_approval_request": None,
    "tool_search_call": "tool_search",
    "computer_call": "computer",
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
}
# Type of the client's answer -> where it names the call.
RESULTS = {
    "function_call_output": "call_id",
    "custom_tool_call_output": "call_id",
    "mcp_approval_response": "approval_request_id",
    "tool_search_output": "call_id",
    "computer_call_output": "call_id",
    "local_shell_call_output": "call_id",
    "shell_call_output": "call_id",
    "apply_patch_call_output": "call_id",
}
SERVED = ("tool_search_call", "tool_search_output")  # run by the provider where `call_id` is null
CONTROLS = ("additional_tools", "configuration_update", "compaction_trigger")  # of the client
KINDS = {"function_call": "function", "custom_tool_call": "custom"}
ROLES = ("user", "system", "developer", "assistant")


def messages(value: Any, where: str) -> tuple[Message, ...]:
    """Read a list of items.

    Raises:
        ValueError: one is none; the text says what is wrong, where.
    """
    reader = _Items()
    for index, item in enumerate(objects(value, where)):
        reader.take(item, f"{where}[{index}]")
    return tuple(reader.messages)


class _Items:
    """Reads items in order; knows the answer that is being put together."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._answer: dict[str, Any] | None = None
        self._parts: list[parts.Part] = []

    def take(self, item: dict[str, Any], where: str) -> None:
        """Read the next item."""
        kind = item.get("type", "message" if "role" in item else None)
        kind = text(kind, f"{where}.type")
        served = kind in SERVED and item.get("call_id") is None
        if kind == "message":
            self._message(item, where)
        elif kind in CALLS and not served:
            self._open().setdefault("tool_calls", []).append(_call(kind, item, where))
        elif kind in RESULTS and not served:
            self._other(_result(kind, item, where))
        elif kind in CONTROLS:
            role = item.get("role") if item.get("role") in ROLES else "developer"
            self._other({"role": role, "content": [_opaque(item)]})
        elif kind == "reasoning":
            apart = ("content",) if item.get("content") == [] else ()
            known = _apart_from_completed(typed.rest(item, *apart))
            self._open().setdefault("reasoning_items", []).append(known)
        else:
            self._said([_opaque(item)])

    def _open(self) -> dict[str, Any]:
        if self._answer is None:
            self._answer, self._parts = {"role": "assistant", "content": None}, []
            self.messages.append(self._answer)
        return self._answer

    def _said(self, said: list[parts.Part]) -> None:
        answer = self._open()
        self._parts += said
        answer["content"] = parts.content(self._parts)

    def _other(self, message: Message) -> None:
        self._answer = None
        self.messages.append(message)

    def _message(self, item: dict[str, Any], where: str) -> None:
        role = item.get("role")
        if role not in ROLES:
            raise ValueError(f"`{where}` needs a `role`: one of {', '.join(ROLES)}")
        said, beside = _content(item.get("content"), f"{where}.content")
        apart = ("type", "id", "role", "content")
        rest = _apart_from_completed({**beside, **typed.rest(item, *apart)})
        optional_text(rest.get("refusal"), f"{where}.refusal")
        for key in ("annotations", "logprobs"):
            objects(rest.get(key), f"{where}.{key}")
        if role != "assistant":
            self._other({"role": role, "content": parts.content(said), **rest})
            return
        answer = self._open()
        for key, value in rest.items():
            if key == "phase" and answer.get(key, value) != value:
                said = [{**part, key: value} for part in said]
            elif key in ("refusal", "annotations", "logprobs") and key in answer:
                answer[key] = answer[key] + value
            else:
                answer[key] = value
        self._said(said)


def _content(value: Any, where: str) -> tuple[list[parts.Part], dict[str, Any]]:
    """Return a message's parts, and the fields that chat messages have beside them."""
    if value is None or isinstance(value, str):
        return ([] if value is None else [parts.text(value)]), {}
    said: list[parts.Part] = []
    beside: dict[str, Any] = {}
    for index, part in enumerate(objects(value, where)):
        place = f"{where}[{index}]"
        if part.get("type") == "refusal":
            beside["refusal"] = beside.get("refusal", "") + text(part.get("refusal"), place)
            continue
        for key in ("annotations", "logprobs"):
            if part.get(key):
                beside[key] = [*beside.get(key, ()), *objects(part[key], f"{place}.{key}")]
        said.append(_part(part, place))
    return said, beside


def _part(part: dict[str, Any], where: str) -> parts.Part:
    kind = text(part.get("type"), f"{where}.type")
    if kind in ("input_text", "output_text", "text"):
        marks = typed.rest(part, "type", "text", "annotations", "logprobs")
        return {**parts.text(text(part.get("text"), f"{where}.text")), **marks}
    if kind in ("input_image", "computer_screenshot") and isinstance(part.get("image_url"), str):
        image = {"url": part["image_url"], **typed.rest(part, "type", "image_url")}
        return {**parts.image(part["image_url"]), "image_url": image}
    if kind == "input_file":
        return {"type": "file", "file": typed.rest(part, "type")}
    if kind == "input_audio" and isinstance(part.get("input_audio"), dict):
        return part
    return _opaque(part)


def _call(kind: str, item: dict[str, Any], where: str) -> dict[str, Any]:
    key = "id" if kind == "mcp_approval_request" else "call_id"
    name = text(item.get("name") or CALLS[kind], f"{where}.name")
    apart = ("type", "id", "call_id", "status", "name")
    extra: dict[str, Any] = {}
    if kind == "custom_tool_call":
        arguments, extra = item.get("input"), typed.rest(item, *apart, "input")
    elif "arguments" in item or kind == "function_call":
        arguments, extra = item.get("arguments"), typed.rest(item, *apart, "arguments")
    else:
        arguments = typed.rest(item, *apart)
    return {
        "id": text(item.get(key), f"{where}.{key}"),
        "type": KINDS.get(kind, kind),
        "function": {"name": name, "arguments": argument_text(arguments)},
        **extra,
        **_apart_from_completed(typed.rest({"status": item.get("status")})),
    }


def _result(kind: str, item: dict[str, Any], where: str) -> dict[str, Any]:
    key = RESULTS[kind]
    if kind == "local_shell_call_output" and item.get(key) is None:
        key = "id"  # as documented
    read: dict[str, Any] = {
        "role": "tool",
        "tool_call_id": text(item.get(key), f"{where}.{key}"),
        "content": None,
    }
    if kind in ("mcp_approval_response", "tool_search_output"):
        return {**read, "content": [_opaque(item)]}
    if kind == "function_call_output" and item.get("output") is None:
        raise ValueError(f"`{where}.output` must be text or a list of parts")
    read["content"], beside = _output(item.get("output"), f"{where}.output")
    rest = typed.rest(item, "type", "id", "call_id", "output")
    return {**read, **beside, **_apart_from_completed(rest)}


def _output(value: Any, where: str) -> tuple[str | list[parts.Part] | None, dict[str, Any]]:
    """Return a result as content; what has no parts of known types is JSON text."""
    if isinstance(value, dict) and "type" in value:
        value = [value]
    if isinstance(value, list) and all(isinstance(p, dict) and "type" in p for p in value):
        said, beside = _content(value, where)
        return parts.content(said), beside
    return (None if value is None else argument_text(value)), {}


def _opaque(item: Mapping[str, Any]) -> parts.Part:
    return parts.opaque(f"openai-responses/{item['type']}", typed.rest(item))


def _apart_from_completed(fields: dict[str, Any]) -> dict[str, Any]:
    if fields.get("status") == "completed":
        del fields["status"]
    return fields
