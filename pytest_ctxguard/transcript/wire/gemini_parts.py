"""Gemini's contents and tool definitions, in OpenAI chat format.

REST and the clients' dumps write the same field ``functionCall`` or ``function_call``; both are
read. A signature stands where Google's own OpenAI-compatible endpoint has it:
``extra_content.google.thought_signature`` of the call or part.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.messages import Message, tool_calls
from pytest_ctxguard.transcript.wire import typed
from pytest_ctxguard.transcript.wire.wire import Body

ROLES = ("user", "model", "function", "tool")  # the last two carry results
DECLARED = ("name", "description", "parameters", "parametersJsonSchema")
BLOB = ("mimeType", "mime_type", "data", "fileUri", "file_uri")


def field(body: Mapping[str, Any], name: str) -> Any:
    """Return a field by its camelCase name, however it is written."""
    value = body.get(name)
    return body.get(_snake(name)) if value is None else value


class History:
    """Reads the contents of one request in order, for calls and results to find each other.

    A call of an older version of the API has no id. It is given one made from its name, its
    arguments and, where the same call was made before, how often: the same in every request that
    holds it and, but for a repeated call, in the answer that makes it. A result without an id
    answers the oldest open call of its name.
    """

    def __init__(self) -> None:
        self._made: dict[str, int] = {}
        self._open: list[tuple[str, str]] = []  # id and name, of the last answer's calls

    def content(self, content: Body, place: str) -> Iterator[Message]:
        """Yield what one content becomes.

        Raises:
            ValueError: it is not as the API has it.
        """
        role = content.get("role") or "user"
        if not isinstance(role, str) or role not in ROLES:
            raise ValueError(f"`{place}.role` is {role!r}; it must be one of {', '.join(ROLES)}")
        given = content.get("parts")
        items = typed.objects([] if given is None else given, f"{place}.parts")
        if role == "model":
            yield self.answer(items, f"{place}.parts")
            return
        others, results = list[parts.Part](), 0
        for number, item in enumerate(items):
            response = field(item, "functionResponse")
            where = f"{place}.parts[{number}]"
            if response is None:
                others.append(_part(item, where))
            else:
                yield self._result(response, where)
                results += 1
        if others or not results:
            yield {"role": "user", "content": parts.content(others) or ""}

    def answer(self, items: Sequence[Body], place: str) -> Message:
        """Return the parts of an answer as an assistant message; its calls are open then.

        Raises:
            ValueError: a part is not as the API has it.
        """
        others: list[parts.Part] = []
        calls: list[dict[str, Any]] = []
        thoughts: list[Body] = []
        for number, item in enumerate(merged(items)):
            where = f"{place}[{number}]"
            call = field(item, "functionCall")
            if call is not None:
                calls.append(self._call(call, item, where))
            elif item.get("thought") and isinstance(item.get("text"), str):
                thoughts.append(item)
            else:
                others.append(_part(item, where))
        message: dict[str, Any] = {"role": "assistant", "content": parts.content(others) or ""}
        if calls:
            message["content"] = parts.content(others)
            message["tool_calls"] = calls
        signed = [thought for thought in thoughts if field(thought, "thoughtSignature")]
        if signed:
            message["thinking_blocks"] = signed
        if any(thought["text"] for thought in thoughts):
            message["reasoning_content"] = "".join(thought["text"] for thought in thoughts)
        self._open = [(call["id"], call["function"]["name"]) for call in tool_calls(message)]
        return message

    def _call(self, call: Any, item: Body, place: str) -> dict[str, Any]:
        if not isinstance(call, dict):
            raise ValueError(f"`{place}.functionCall` must be an object")
        for name in ("partialArgs", "willContinue"):
            if field(call, name):
                raise ValueError(
                    f"`{place}` is a function call in pieces ({name}), which is not read. Record "
                    "without streamFunctionCallArguments."
                )
        name = typed.text(call, "name", f"{place}.functionCall")
        given = call.get("args")
        arguments = json.dumps({} if given is None else given, ensure_ascii=False)
        id_ = call.get("id")
        return {
            **_marks(item, "functionCall"),
            **typed.rest(call, "id", "name", "args"),
            "id": id_ if isinstance(id_, str) and id_ else self._id(name, arguments),
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }

    def _id(self, name: str, arguments: str) -> str:
        made = f"{name}-{zlib.crc32(arguments.encode('utf-8', 'replace')):08x}"
        times = self._made[made] = self._made.get(made, 0) + 1
        return made if times == 1 else f"{made}-{times}"

    def _result(self, response: Any, place: str) -> Message:
        if not isinstance(response, dict):
            raise ValueError(f"`{place}.functionResponse` must be an object")
        name = typed.text(response, "name", f"{place}.functionResponse")
        id_ = response.get("id")
        fits = [open_ for open_ in self._open if id_ and open_[0] == id_]
        fits = fits or [open_ for open_ in self._open if open_[1] == name]
        if fits:
            self._open.remove(fits[0])
        call_id = fits[0][0] if fits else id_ if isinstance(id_, str) else f"{name}-uncalled"
        value = response.get("response")
        items = [parts.text(json.dumps(value, ensure_ascii=False))] if value is not None else []
        where = f"{place}.functionResponse.parts"
        more = typed.objects(response.get("parts") or [], where)
        items += [_part(item, f"{where}[{n}]") for n, item in enumerate(more)]
        others = typed.rest(response, "id", "name", "response", "parts")
        content = parts.content(items) or ""
        return {**others, "role": "tool", "tool_call_id": call_id, "name": name, "content": content}


def merged(items: Sequence[Body]) -> list[Body]:
    """Return parts with neighbours of nothing but text made one, thoughts apart from the answer.

    A stream cuts its text anywhere, and a client sends back the pieces or the whole.
    """
    whole: list[Body] = []
    for item in items:
        before = whole[-1] if whole else {}
        texts = [typed.string(one.get("text")) for one in (before, item)]
        alike = bool(before.get("thought")) == bool(item.get("thought"))
        if alike and set(before) | set(item) <= {"text", "thought"} and None not in texts:
            whole[-1] = {**before, "text": "".join(map(str, texts))}
        else:
            whole.append(item)
    return whole


def tools(value: Any) -> Iterator[dict[str, Any]]:
    """Yield tool definitions as OpenAI has them.

    A declaration's schema is kept as it is, in OpenAPI's upper-case types or JSON Schema's. A tool
    that Google itself runs is kept whole under ``gemini``, with its field as name.

    Raises:
        ValueError: one is not as the API has it.
    """
    for number, tool in enumerate(typed.objects(value or [], "tools")):
        for key, given in tool.items():
            if key not in ("functionDeclarations", "function_declarations"):
                if given is not None:
                    yield {"type": "function", "function": {"name": key}, "gemini": {key: given}}
                continue
            place = f"tools[{number}].{key}"
            for index, declared in enumerate(typed.objects(given, place)):
                yield _function(declared, f"{place}[{index}]")


def _function(declared: Body, place: str) -> dict[str, Any]:
    schema = field(declared, "parametersJsonSchema")
    function = {
        "name": typed.text(declared, "name", place),
        "description": declared.get("description"),
        "parameters": declared.get("parameters") if schema is None else schema,
    }
    others = typed.rest(declared, *DECLARED, _snake(DECLARED[-1]))
    return {**others, "type": "function", "function": typed.rest(function)}


def _part(item: Body, place: str) -> parts.Part:
    if isinstance(item.get("text"), str):
        return {**_marks(item, "text"), **parts.text(item["text"])}
    for name in ("inlineData", "fileData"):
        value = field(item, name)
        if value is not None:
            if not isinstance(value, dict):
                raise ValueError(f"`{place}.{name}` must be an object")
            made = _media(value, f"{place}.{name}")
            if made is not None:
                return {**_marks(item, name), **typed.rest(value, *BLOB), **made}
    kinds = [key for key in item if key not in ("thought", "thoughtSignature", "thought_signature")]
    return parts.opaque(f"gemini/{kinds[0] if kinds else 'empty'}", dict(item))


def _media(blob: Body, place: str) -> parts.Part | None:
    """Return an image, audio or document as OpenAI's part for it; ``None``: it has none."""
    media_type = field(blob, "mimeType") or ""
    kind, _, subtype = str(media_type).partition("/")
    uri = field(blob, "fileUri")
    if isinstance(uri, str):
        return parts.image(uri) if kind == "image" else None
    data = typed.text(blob, "data", place)
    url = parts.data_url(str(media_type), data)
    if kind == "image":
        return parts.image(url)
    if kind == "audio":
        return {"type": "input_audio", "input_audio": {"data": data, "format": subtype}}
    return {"type": "file", "file": {"file_data": url}} if kind in ("application", "text") else None


def _marks(item: Body, *handled: str) -> dict[str, Any]:
    """Return what else a part says, the signature where OpenAI's format has it."""
    names = (*handled, *map(_snake, handled), "thoughtSignature", "thought_signature")
    marks = typed.rest(item, *names)
    signature = field(item, "thoughtSignature")
    if signature is not None:
        marks["extra_content"] = {"google": {"thought_signature": signature}}
    return marks


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", name)
