"""One LangChain message, and its content blocks of every age, as OpenAI's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.messages import ROLES
from pytest_ctxguard.transcript.readers.checked import first, name, whole
from pytest_ctxguard.transcript.reading import count
from pytest_ctxguard.transcript.wire.typed import mapping

Data = Mapping[str, Any]

ROLE_OF = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
CALL_BLOCKS = ("tool_use", "tool_call", "function_call", "tool_call_chunk", "invalid_tool_call")
PLAIN = ("type", "text", "cache_control", "index", "id")  # of a block of text
READ = (
    *("type", "content", "name", "tool_call_id", "tool_calls", "invalid_tool_calls", "status"),
    *("role", "additional_kwargs", "response_metadata", "usage_metadata", "tool_call_chunks"),
)
READ_EXTRA = ("tool_calls", "function_call", "refusal", "reasoning_content", "__openai_role__")
MODEL = ("model_name", "model", "model_id")
FINISH = ("finish_reason", "stop_reason", "stopReason", "done_reason")
READ_RESPONSE = (*MODEL, *FINISH, "token_usage", "usage", "id", "created_at", "model_provider")


def chat_message(kind: str, data: Data, passed_over: dict[str, int]) -> dict[str, Any]:
    """Return a message in OpenAI chat format.

    Raises:
        ValueError: it cannot be one; says why.
    """
    extra = mapping(data.get("additional_kwargs"))
    message: dict[str, Any] = {"role": _role(kind, data, extra), "content": None}
    calls = _tool_calls(data, extra)
    message |= _content(data.get("content"), calls, passed_over)
    if name(data.get("name")):
        message["name"] = data["name"]
    if message["role"] == "tool":
        if kind == "tool" and name(data.get("tool_call_id")) is None:
            raise ValueError("a tool message needs its `tool_call_id`. Mend it.")
        message["tool_call_id"] = data.get("tool_call_id")
        if data.get("status") == "error":
            message["is_error"] = True
    if calls:
        message["tool_calls"] = calls
    for key in ("refusal", "reasoning_content"):
        if isinstance(extra.get(key), str):
            message[key] = extra[key]
    for key, value in data.items():
        if key not in READ and value not in (None, False, [], {}):
            count(passed_over, key)
    for key, value in extra.items():
        if key not in READ_EXTRA and value is not None:
            count(passed_over, f"additional_kwargs.{key}")
    return message


def call_facts(data: Data, passed_over: dict[str, int]) -> dict[str, Any]:
    """Return what is known of the call that an answer came from."""
    response = mapping(data.get("response_metadata"))
    for key, value in response.items():
        if key not in READ_RESPONSE and value is not None:
            count(passed_over, f"response_metadata.{key}")
    facts = {
        "model": name(first(response, MODEL)),
        "finish_reason": name(first(response, FINISH)),
        "response_id": name(response.get("id")),
        "provider": name(response.get("model_provider")),
        "time": name(response.get("created_at")),
        **_usage(mapping(data.get("usage_metadata"))),
    }
    if not data.get("usage_metadata"):
        old = mapping(first(response, ("token_usage", "usage")))
        facts["prompt_tokens"] = whole(old.get("prompt_tokens"))
        facts["completion_tokens"] = whole(old.get("completion_tokens"))
    return {key: value for key, value in facts.items() if value is not None}


def _usage(usage: Data) -> dict[str, int | None]:
    """Read ``usage_metadata``; its input tokens are all of them, cached or not."""
    read = mapping(usage.get("input_token_details"))
    written = [
        whole(read.get(key))
        for key in ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
    ]
    known = [value for value in written if value is not None]
    return {
        "prompt_tokens": whole(usage.get("input_tokens")),
        "completion_tokens": whole(usage.get("output_tokens")),
        "cached_tokens": whole(read.get("cache_read")),
        "cache_written_tokens": (written[0] or sum(known)) if known else None,
        "reasoning_tokens": whole(mapping(usage.get("output_token_details")).get("reasoning")),
    }


def _role(kind: str, data: Data, extra: Data) -> str:
    if kind == "chat":
        role = data.get("role")
        if role not in ROLES:
            raise ValueError(f"the role of a chat message is one of {', '.join(ROLES)}. Mend it.")
        return str(role)
    if kind == "function":  # its call has no id either
        return "tool"
    if kind == "system" and extra.get("__openai_role__") == "developer":
        return "developer"
    return ROLE_OF[kind]


def _tool_calls(data: Data, extra: Data) -> list[dict[str, Any]]:
    """Return the calls, with the arguments as the model wrote them where that is kept."""
    raw = list(map(mapping, _list(extra, "tool_calls")))
    if not all(isinstance(call.get("id"), str | None) for call in raw):
        raise ValueError("the `id` of a call in `additional_kwargs.tool_calls` is text. Mend it.")
    written = {call.get("id"): mapping(call.get("function")).get("arguments") for call in raw}
    calls = []
    for key in ("tool_calls", "invalid_tool_calls"):
        for index, call in enumerate(_list(data, key)):
            if not isinstance(call, dict) or not isinstance(call.get("id"), str | None):
                raise ValueError(f"`{key}[{index}]` must be an object with an `id`. Mend it.")
            text = written.get(call.get("id"), call.get("args"))
            if not isinstance(text, str):
                text = json.dumps({} if text is None else text, ensure_ascii=False)
            function = {"name": call.get("name") or "", "arguments": text}
            calls.append({"id": call.get("id"), "type": "function", "function": function})
    order = list(written)
    calls.sort(key=lambda call: order.index(call["id"]) if call["id"] in written else len(order))
    known = {call["id"] for call in calls}
    calls += [dict(call) for call in raw if call.get("id") not in known]
    if isinstance(extra.get("function_call"), dict):
        calls.append({"type": "function", "function": extra["function_call"]})
    return calls


def _list(data: Data, key: str) -> Sequence[Any]:
    value = data.get(key)
    if not isinstance(value, list | None):
        raise ValueError(f"`{key}` must be a list. Mend it.")
    return value or ()


def _content(
    content: Any, calls: Sequence[Mapping[str, Any]], passed_over: dict[str, int]
) -> dict[str, Any]:
    """Return content, and the keys that blocks of reasoning become."""
    if not isinstance(content, list):
        return {"content": content}
    ids = {call.get("id") for call in calls}
    found: list[parts.Part] = []
    reasoning: list[str] = []
    kept: dict[str, Any] = {}
    for index, block in enumerate(content):
        if isinstance(block, str):
            found.append(parts.text(block))
            continue
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(kind, str):
            raise ValueError(
                f"`content[{index}]` must be text or an object with a `type`. Mend it."
            )
        if kind in ("thinking", "redacted_thinking"):
            kept.setdefault("thinking_blocks", []).append(block)
            reasoning += _texts(block.get("thinking"))
        elif kind == "reasoning":
            if set(block) - {"type", "reasoning", "index", "id"}:  # a signature, or OpenAI's item
                kept.setdefault("reasoning_items", []).append(block)
            reasoning += _texts(block.get("reasoning"), block.get("summary"))
        elif kind in CALL_BLOCKS and ids & {name(block.get("id")), name(block.get("call_id"))} - {
            None
        }:
            count(passed_over, f"content {kind} (again in tool_calls)")
        else:
            found.append(_part(kind, block))
            for key in block if found[-1]["type"] == "text" else ():
                if key not in PLAIN and block[key]:
                    count(passed_over, f"content text.{key}")
    if reasoning:
        kept["reasoning_content"] = "\n".join(reasoning)
    return {"content": parts.content(found), **kept}


def _texts(*values: Any) -> list[str]:
    found: list[str] = []
    for value in values:
        if isinstance(value, str) and value:
            found.append(value)
        elif isinstance(value, list):
            texts = (name(mapping(item).get("text")) for item in value)
            found += [text for text in texts if text is not None]
    return found


def _part(kind: str, block: Mapping[str, Any]) -> parts.Part:
    """Return one block as a part of OpenAI's, or an opaque one."""
    marks = {"cache_control": block["cache_control"]} if block.get("cache_control") else {}
    if kind in ("text", "output_text", "input_text") and isinstance(block.get("text"), str):
        return parts.text(block["text"], **marks)
    if kind in ("image", "image_url"):
        url = _url(block)
        if url is not None:
            return parts.image(url, **marks)
    if (kind == "file" and isinstance(block.get("file"), dict)) or (
        kind == "input_audio" and isinstance(block.get("input_audio"), dict)
    ):
        return dict(block)
    data, media = first(block, ("base64", "data")), name(block.get("mime_type"))
    if kind == "audio" and isinstance(data, str) and media:
        audio = {"data": data, "format": media.partition("/")[2]}
        return {"type": "input_audio", "input_audio": audio, **marks}
    if kind == "file" and name(first(block, ("file_id", "id"))) and data is None:
        return {"type": "file", "file": {"file_id": first(block, ("file_id", "id"))}, **marks}
    if kind == "file" and isinstance(data, str) and media:
        file = {"file_data": parts.data_url(media, data)}
        title = first({**mapping(block.get("extras")), **block}, ("filename", "name"))
        return {"type": "file", "file": file | ({"filename": title} if title else {}), **marks}
    return parts.opaque(f"langchain/{kind}", dict(block))


def _url(block: Mapping[str, Any]) -> str | None:
    """Return the address of an image, in the forms of OpenAI, Anthropic and LangChain."""
    inner = block.get("image_url")
    source = {**block, **mapping(block.get("source"))}
    data, media = first(source, ("base64", "data")), first(source, ("mime_type", "media_type"))
    if isinstance(inner, str):
        return inner
    if isinstance(inner, dict) and isinstance(inner.get("url"), str):
        return str(inner["url"])
    if isinstance(data, str) and isinstance(media, str):
        return parts.data_url(media, data)
    return source["url"] if isinstance(source.get("url"), str) else None
