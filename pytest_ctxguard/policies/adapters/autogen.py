"""Model contexts of autogen-core.

A context keeps all it is told and cuts a view of it before each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, Literal

from pytest_ctxguard.policies.adapters.fields import (
    UNNAMED,
    call_names,
    function_call,
    groups,
    image_url,
    part_text,
    parts_of,
    plain_text,
)
from pytest_ctxguard.policies.adapters.framework import require, unknown
from pytest_ctxguard.policies.adapters.kept import Room, Store, keeping
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.messages import Message, is_instruction, tool_calls

SAID_BY = "user"


def autogen(make: Callable[..., Any], *, system: Literal["apart", "inside"] = "apart") -> Policy:
    """Adapt a ``ChatCompletionContext``; state lives as long as one replay.

    The context is told each message once, and the results of one round in one message, as an
    ``AssistantAgent`` does. A result's parts other than text, and a user's other than text and
    images, stand as their kind in brackets: the context does not see their size.

    Args:
        make: makes the context, for example ``lambda: BufferedChatCompletionContext(12)``.
        system: who keeps the system messages at the start: the agent, as an ``AssistantAgent``
            does (``apart``), or the context like all others (``inside``).

    Raises:
        UsageError: ``make`` is no factory.
        FrameworkMissing: autogen-core is not installed (when the policy runs).
    """
    store = Store(
        adapter="autogen",
        needs=_core,
        make=make,
        read=_read,
        back=_back,
        tell=_tell,
        ask=_ask,
        apart=system == "apart",
    )
    return keeping(store)


def _core() -> ModuleType:
    return require("autogen_core", adapter="autogen", pip="autogen-core>=0.7")


def _models() -> ModuleType:
    return require("autogen_core.models", adapter="autogen", pip="autogen-core>=0.7")


async def _tell(context: Any, message: Any) -> None:
    await context.add_message(message)


async def _ask(context: Any, _: Room) -> list[Any]:
    return list(await context.get_messages())


def _read(messages: Sequence[Message], start: int) -> Iterator[tuple[Any, range]]:
    names = call_names(messages)
    models = _models()
    for group in groups(messages, start):
        message = messages[group.start]
        if message.get("role") == "tool":
            results = [_result(models, messages[place], names) for place in group]
            yield models.FunctionExecutionResultMessage(content=results), group
        else:
            yield _said(models, message), group


def _result(models: ModuleType, message: Message, names: dict[Any, str]) -> Any:
    call_id = message.get("tool_call_id")
    return models.FunctionExecutionResult(
        content=plain_text(message),
        name=message.get("name") or names.get(call_id, UNNAMED),
        call_id=str(call_id),
        is_error=message.get("is_error"),
    )


def _said(models: ModuleType, message: Message) -> Any:
    if is_instruction(message):
        return models.SystemMessage(content=plain_text(message))
    if message.get("role") == "user":
        content = message.get("content")
        said = content if isinstance(content, str) else _user_parts(message)
        return models.UserMessage(content=said, source=message.get("name") or SAID_BY)
    calls = [
        _core().FunctionCall(
            id=str(call.get("id")),
            name=str((call.get("function") or {}).get("name")),
            arguments=str((call.get("function") or {}).get("arguments") or ""),
        )
        for call in tool_calls(message)
    ]
    text = plain_text(message)
    if calls:
        return models.AssistantMessage(content=calls, thought=text or None, source="assistant")
    thought = message.get("reasoning_content")
    return models.AssistantMessage(content=text, thought=thought, source="assistant")


def _user_parts(message: Message) -> list[Any]:
    return [_image(part) or part_text(part) for part in parts_of(message)]


def _image(part: parts.Part) -> Any:
    url = image_url(part)
    if url is None or not url.startswith("data:"):
        return None  # the framework has no images by address
    try:
        return _core().Image.from_uri(url)
    except Exception:  # a damaged image raises whatever the framework's reader meets
        return None


def _back(message: Any) -> list[Message]:
    kind = getattr(message, "type", "")
    if kind in ("SystemMessage", "UserMessage"):
        return _plain(message, kind.removesuffix("Message").lower())
    if kind == "AssistantMessage":
        return _assistant(message)
    if kind == "FunctionExecutionResultMessage":
        return _results(message)
    raise unknown(message, adapter="autogen")


def _plain(message: Any, role: str) -> list[Message]:
    content = message.content
    if not isinstance(content, str):
        content = [
            parts.text(p) if isinstance(p, str) else parts.image(p.data_uri) for p in content
        ]
    return [{"role": role, "content": content}]


def _assistant(message: Any) -> list[Message]:
    if isinstance(message.content, str):
        thought = {"reasoning_content": message.thought} if message.thought else {}
        return [{"role": "assistant", "content": message.content, **thought}]
    calls = [
        function_call(call.id, call.name, arguments=call.arguments) for call in message.content
    ]
    return [{"role": "assistant", "content": message.thought, "tool_calls": calls}]


def _results(message: Any) -> list[Message]:
    return [
        {"role": "tool", "tool_call_id": result.call_id, "content": result.content}
        for result in message.content
    ]
