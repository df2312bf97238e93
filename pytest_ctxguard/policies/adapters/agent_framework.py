"""Compaction strategies of Microsoft's Agent Framework.

A strategy marks messages as excluded and inserts summaries, on a list that lives on from call to
call: what is excluded once stays so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

from pytest_ctxguard.policies.adapters.fields import (
    UNNAMED,
    function_call,
    groups,
    image_url,
    part_text,
    parts_of,
)
from pytest_ctxguard.policies.adapters.framework import require, unknown
from pytest_ctxguard.policies.adapters.kept import Room, Store, keeping
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.messages import Message, tool_calls

IMAGES = "image/*"  # the framework wants a media type where the address does not say one


def agent_framework(make: Callable[..., Any], *, tokenizer: Any = None) -> Policy:
    """Adapt a ``CompactionStrategy``; state lives as long as one replay.

    It runs before each model call, through ``apply_compaction``, on one list of all messages, the
    system message among them: what an agent does in a run. A result's parts other than text, and
    others' other than text and images, stand as their kind in brackets.

    Args:
        make: makes the strategy, for example ``lambda: SlidingWindowStrategy(keep_last_groups=6)``.
        tokenizer: what ``apply_compaction`` takes, for example ``CharacterEstimatorTokenizer()``.

    Raises:
        UsageError: ``make`` is no factory.
        FrameworkMissing: agent-framework-core is not installed (when the policy runs).
    """

    async def ask(run: Any, _: Room) -> list[Any]:
        sent = await _framework().apply_compaction(
            run.messages, strategy=run.strategy, tokenizer=tokenizer
        )
        return list(sent)

    store = Store(
        adapter="agent_framework",
        needs=_framework,
        make=make,
        hold=lambda made: SimpleNamespace(messages=[], strategy=made),
        read=_read,
        back=_back,
        tell=_tell,
        ask=ask,
        apart=False,
    )
    return keeping(store)


def _framework() -> ModuleType:
    return require("agent_framework", adapter="agent_framework", pip="agent-framework-core>=1.23")


async def _tell(run: Any, message: Any) -> None:
    run.messages.append(message)


def _read(messages: Sequence[Message], start: int) -> Iterator[tuple[Any, range]]:
    framework = _framework()
    for group in groups(messages, start):
        message = messages[group.start]
        role = message.get("role")
        if role == "tool":
            contents = [_result(framework.Content, messages[place]) for place in group]
        else:
            contents = _contents(framework.Content, message)
        yield framework.Message(role=role, contents=contents), group


def _contents(content: Any, message: Message) -> list[Any]:
    thought = message.get("reasoning_content")
    made = [content.from_text_reasoning(text=thought)] if isinstance(thought, str) else []
    made += [
        _image(content, part) or content.from_text(part_text(part)) for part in parts_of(message)
    ]
    return made + [_call(content, call) for call in tool_calls(message)]


def _image(content: Any, part: parts.Part) -> Any:
    url = image_url(part)
    if url is None:
        return None
    try:
        return content.from_uri(url, media_type=None if url.startswith("data:") else IMAGES)
    except ValueError:  # no address by the framework's standards
        return None


def _call(content: Any, call: Mapping[str, Any]) -> Any:
    function = call.get("function") or {}
    return content.from_function_call(
        call_id=str(call.get("id")),
        name=function.get("name") or UNNAMED,
        arguments=function.get("arguments"),
    )


def _result(content: Any, message: Message) -> Any:
    said = [content.from_text(part_text(part)) for part in parts_of(message)]
    return content.from_function_result(call_id=str(message.get("tool_call_id")), result=said)


def _back(message: Any) -> list[Message]:
    if not hasattr(message, "contents") or not hasattr(message, "role"):
        raise unknown(message, adapter="agent_framework")
    results, calls = list[Message](), list[dict[str, Any]]()
    said, thoughts = list[parts.Part](), list[str]()
    for content in message.contents:
        if content.type == "function_result":
            results.append(_answer(content))
        elif content.type == "function_call":
            calls.append(_called(content))
        elif content.type == "text_reasoning":
            thoughts.append(content.text or "")
        else:
            said.append(_part(content))
    if results and not said:
        return results
    spoken: dict[str, Any] = {"role": str(message.role), "content": parts.content(said)}
    if thoughts:
        spoken["reasoning_content"] = "".join(thoughts)
    return [*results, {**spoken, "tool_calls": calls} if calls else spoken]


def _answer(content: Any) -> Message:
    items = [_part(item) for item in content.items or ()]
    said = parts.content(items) if items else str(content.result)
    return {"role": "tool", "tool_call_id": content.call_id, "content": said}


def _called(content: Any) -> dict[str, Any]:
    given = content.arguments
    text = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False)
    return function_call(content.call_id, content.name, arguments=text)


def _part(content: Any) -> parts.Part:
    if content.type == "text":
        return parts.text(content.text or "")
    if content.type in ("data", "uri") and content.uri:
        return parts.image(content.uri)
    return parts.opaque(f"agent-framework/{content.type}", content.to_dict())
