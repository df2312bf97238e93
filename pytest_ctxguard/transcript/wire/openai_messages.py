"""Chat-completions messages, checked, and brought to the one form that policies see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.messages import ROLES, Message
from pytest_ctxguard.transcript.wire import typed
from pytest_ctxguard.transcript.wire.openai_values import (
    argument_text,
    objects,
    optional_text,
    text,
)

OWN_PARTS = ("input_audio", "file", "refusal", "audio_url", "video_url")  # kept as they are
KNOWN_PARTS = ("text", "image_url", *OWN_PARTS)


class Messages:
    """Reads the messages of one request, in order.

    The deprecated ``function_call`` becomes a tool call, and the ``function`` message that answers
    it a tool message, with an id that says where in the request the call stands.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._functions: dict[str, str] = {}  # name of a called function -> id of the open call

    def add(self, value: Any, *, where: str) -> None:
        """Read the next message.

        Raises:
            ValueError: it is none; the text says what is wrong, where.
        """
        call_id = f"function_call-{len(self.messages)}"
        if isinstance(value, dict) and value.get("role") == "function":
            name = text(value.get("name"), f"{where}.name")
            answered = {"tool_call_id": self._functions.pop(name, None), **value, "role": "tool"}
            self.messages.append(message(answered, where=where, call_id=call_id))
            return
        self.messages.append(message(value, where=where, call_id=call_id))
        if isinstance(value.get("function_call"), dict):
            self._functions[value["function_call"]["name"]] = call_id


def message(value: Any, *, where: str, call_id: str) -> Message:
    """Read one message.

    Fields without a value, and empty ``annotations``, say nothing and are left out: clients leave
    them out, too, when they send an answer back.

    Args:
        value: the JSON value.
        where: its place, for errors.
        call_id: id for a deprecated function call, which has none.

    Raises:
        ValueError: it is no message; the text says what is wrong, where.
    """
    role = value.get("role") if isinstance(value, dict) else None
    if role not in ROLES:
        raise ValueError(f"`{where}` needs a `role`: one of {', '.join(ROLES)}")
    read: dict[str, Any] = {"role": role, "content": content(value.get("content"), where)}
    rest = typed.rest(value, "role", "content", "tool_calls", "function_call")
    if rest.get("annotations") == []:
        del rest["annotations"]
    if value.get("tool_calls") is not None:
        calls = objects(value["tool_calls"], f"{where}.tool_calls")
        read["tool_calls"] = [_call(c, f"{where}.tool_calls[{i}]") for i, c in enumerate(calls)]
    if value.get("function_call") is not None:
        (function,) = objects([value["function_call"]], f"{where}.function_call")
        call = _call({"id": call_id, "function": function}, f"{where}.function_call")
        read["tool_calls"] = [*read.get("tool_calls", ()), call]
    for key in ("tool_call_id", "reasoning_content"):
        optional_text(rest.get(key), f"{where}.{key}")
    return {**read, **rest}


def content(value: Any, where: str) -> str | list[parts.Part] | None:
    """Read the content of a message.

    Raises:
        ValueError: it is neither text nor parts; the text says what is wrong, where.
    """
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise ValueError(f"`{where}.content` must be text, a list of parts, or null")
    return parts.content([_part(p, f"{where}.content[{i}]") for i, p in enumerate(value)])


def _part(part: Any, where: str) -> parts.Part:
    if isinstance(part, str):
        return parts.text(part)
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise ValueError(f"`{where}` needs a `type`")
    kind, marks = part["type"], typed.rest(part, "type", "text", "image_url")
    if kind == "text":
        return {**parts.text(text(part.get("text"), f"{where}.text")), **marks}
    if kind == "image_url":
        image = part.get("image_url")
        image = {"url": image} if isinstance(image, str) else image
        if not isinstance(image, dict):
            raise ValueError(f"`{where}.image_url` needs a `url`")
        sized = parts.image(text(image.get("url"), f"{where}.image_url.url"))
        return {**sized, **marks, "image_url": image}
    if kind in OWN_PARTS and isinstance(part.get("text"), str | None):
        return part
    return parts.opaque(f"openai-chat/{kind}", part)


def _call(call: Mapping[str, Any], where: str) -> dict[str, Any]:
    kind = text(call.get("type") or "function", f"{where}.type")
    function, custom = call.get("function"), call.get("custom")
    if not isinstance(function, dict) and isinstance(custom, dict):
        function = {"name": custom.get("name"), "arguments": custom.get("input")}
    if not isinstance(function, dict):
        raise ValueError(f"`{where}` needs a `function`")
    name = text(function.get("name"), f"{where}.function.name")
    called = {"name": name, "arguments": argument_text(function.get("arguments"))}
    rest = typed.rest(call, "type", "function", "custom", "index")
    optional_text(rest.get("id"), f"{where}.id")
    known_id = {"id": rest.pop("id")} if "id" in rest else {}
    extra = typed.rest(function, "name", "arguments")
    return {**known_id, "type": kind, "function": {**called, **extra}, **rest}


def plausible(value: Any) -> bool:
    """Tell whether a value is a message of this format rather than of a similar one."""
    if not isinstance(value, dict) or value.get("role") not in (*ROLES, "function"):
        return False
    said = ("content", "tool_calls", "function_call", "refusal", "audio")
    if not any(key in value for key in said) or "type" in value:
        return False
    content = value.get("content")
    if isinstance(content, list):
        return all(
            isinstance(part, str) or (isinstance(part, dict) and part.get("type") in KNOWN_PARTS)
            for part in content
        )
    return isinstance(content, str | None)
