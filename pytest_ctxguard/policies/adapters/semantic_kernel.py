"""Chat history reducers of Semantic Kernel.

A reducer is the chat history itself, so what it drops is gone for good.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, Literal

from pytest_ctxguard.policies.adapters.fields import (
    UNNAMED,
    call_names,
    function_call,
    image_url,
    part_text,
    parts_of,
    plain_text,
)
from pytest_ctxguard.policies.adapters.framework import require, unknown
from pytest_ctxguard.policies.adapters.kept import Room, Store, keeping
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.messages import Message, tool_calls


def semantic_kernel(
    make: Callable[..., Any], *, reduced: Literal["each call", "each turn"] = "each call"
) -> Policy:
    """Adapt a ``ChatHistoryReducer``; state lives as long as one replay.

    Each message is added to the history once, the system message too (``auto_reduce`` acts then),
    and ``reduce`` is called before the messages are sent. Reasoning is left out; a result's parts
    other than text, and others' other than text and images, stand as their kind in brackets.

    Args:
        make: makes the reducer, for example
            ``lambda: ChatHistoryTruncationReducer(target_count=10)``.
        reduced: when ``reduce`` is called: before each model call, or only before the first one of
            each turn, as an agent's caller does, whose tool loop runs inside.

    Raises:
        UsageError: ``make`` is no factory.
        FrameworkMissing: semantic-kernel is not installed (when the policy runs).
    """
    store = Store(
        adapter="semantic_kernel",
        needs=_contents,
        make=make,
        hold=lambda made: SimpleNamespace(history=made, due=True),
        read=_read,
        back=_back,
        tell=_tell,
        ask=partial(_ask, each_call=reduced == "each call"),
        apart=False,
    )
    return keeping(store)


def _contents() -> ModuleType:
    return require(
        "semantic_kernel.contents", adapter="semantic_kernel", pip="semantic-kernel>=1.45"
    )


async def _tell(agent: Any, message: Any) -> None:
    agent.due = agent.due or message.role.value == "user"
    await agent.history.add_message_async(message)


async def _ask(agent: Any, _: Room, *, each_call: bool) -> list[Any]:
    if agent.due or each_call:
        await agent.history.reduce()
    agent.due = False
    return list(agent.history.messages)


def _read(messages: Sequence[Message], start: int) -> Iterator[tuple[Any, range]]:
    kinds, names = _contents(), call_names(messages)
    for place in range(start, len(messages)):
        message = messages[place]
        if message.get("role") == "tool":
            items = [_result(kinds, message, names)]
        else:
            items = [_item(kinds, part) for part in parts_of(message)]
            items += [_call(kinds, call) for call in tool_calls(message)]
        role = kinds.AuthorRole(message.get("role"))
        made = kinds.ChatMessageContent(role=role, items=items, name=message.get("name"))
        yield made, range(place, place + 1)


def _result(kinds: ModuleType, message: Message, names: Mapping[Any, str]) -> Any:
    call_id = message.get("tool_call_id")
    return kinds.FunctionResultContent(
        id=str(call_id),
        name=message.get("name") or names.get(call_id, UNNAMED),
        result=plain_text(message),
    )


def _item(kinds: ModuleType, part: parts.Part) -> Any:
    url = image_url(part)
    if url is None:
        return kinds.TextContent(text=part_text(part))
    try:
        return kinds.ImageContent(**{"data_uri" if url.startswith("data:") else "uri": url})
    except Exception:  # a damaged address raises whatever the framework's parser meets
        return kinds.TextContent(text=part_text(part))


def _call(kinds: ModuleType, call: Mapping[str, Any]) -> Any:
    function = call.get("function") or {}
    return kinds.FunctionCallContent(
        id=str(call.get("id")),
        name=function.get("name") or UNNAMED,
        arguments=function.get("arguments"),
    )


def _back(message: Any) -> list[Message]:
    if not hasattr(message, "items") or not hasattr(getattr(message, "role", None), "value"):
        raise unknown(message, adapter="semantic_kernel")
    results, calls, said = list[Message](), list[dict[str, Any]](), list[parts.Part]()
    for item in message.items:
        if item.content_type == "function_result":
            results.append({"role": "tool", "tool_call_id": item.id, "content": _text(item.result)})
        elif item.content_type == "function_call":
            calls.append(
                function_call(item.id or "", item.name or UNNAMED, arguments=_text(item.arguments))
            )
        else:
            said.append(_part(item))
    if results and not said:
        return results
    spoken: Message = {"role": message.role.value, "content": parts.content(said)}
    return [*results, {**spoken, "tool_calls": calls} if calls else spoken]


def _text(value: Any) -> str:
    """Return a value as text: arguments, a result."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)


def _part(item: Any) -> parts.Part:
    if item.content_type == "text":
        return parts.text(item.text)
    if item.content_type == "image":
        return parts.image(item.data_uri or str(item.uri))
    return parts.opaque(f"semantic-kernel/{item.content_type}", item.model_dump(mode="json"))
