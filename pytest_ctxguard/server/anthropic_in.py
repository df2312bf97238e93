"""Read a request of ``POST /v1/messages`` and put it in OpenAI chat format.

Source of names and texts: Anthropic's Messages API reference, and error bodies its users reported.
``cache_control``, ``metadata`` and ``service_tier`` change no answer and are let through.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_ctxguard.backend import Sampling, ToolChoice
from pytest_ctxguard.server.ask import DEFAULT_MAX_TOKENS, Ask
from pytest_ctxguard.server.fields import Fields
from pytest_ctxguard.server.refusals import Refusal
from pytest_ctxguard.transcript.messages import Message

UNSUPPORTED = ("top_k", "mcp_servers", "container", "context_management", "output_config")
NON_EMPTY = (
    "messages.{}: all messages must have non-empty content except for the optional final "
    "assistant message"
)


def read_request(body: Mapping[str, Any], *, strict: bool, counting: bool = False) -> Ask:
    """Return what a request body asks for.

    Args:
        body: the JSON object.
        strict: refuse tool calls without results, and results without calls.
        counting: it is a request of ``/v1/messages/count_tokens``, which names no ``max_tokens``.
    """
    fields = Fields(body, _missing, _wrong)
    model = fields.text("model", required=True) or ""
    max_tokens = fields.integer("max_tokens", required=not counting, minimum=1)
    messages = fields.array("messages", required=True) or []
    for name in UNSUPPORTED:
        if body.get(name):
            raise Refusal(400, f"{name}: pytest-ctxguard's server does not support it")
    if (fields.object("thinking") or {}).get("type", "disabled") != "disabled":
        raise Refusal(400, "thinking: pytest-ctxguard's server has no model that thinks")
    rows = [_blocks(fields, index, message) for index, message in enumerate(messages)]
    _check_turns(rows)
    if strict:
        check_pairs(rows)
    tools = tuple(_tool(fields, i, tool) for i, tool in enumerate(fields.array("tools") or ()))
    choice, forced, one_call = _tool_choice(fields, tools)
    return Ask(
        model=model,
        messages=(*_system(fields), *(m for role, blocks in rows for m in _chat(role, blocks))),
        tools=tools,
        tool_choice=choice,
        forced=forced,
        one_call=one_call,
        max_tokens=max_tokens or DEFAULT_MAX_TOKENS,
        stop=tuple(text for text in fields.texts("stop_sequences") if text),
        sampling=Sampling(
            temperature=fields.number("temperature", maximum=1, default=0.0),
            top_p=fields.number("top_p", maximum=1, default=1.0),
        ),
        stream=fields.flag("stream"),
    )


Row = tuple[str, list[dict[str, Any]]]  # role and content blocks of one message


def _blocks(fields: Fields, index: int, message: Any) -> Row:
    place = f"messages.{index}"
    row = fields.at(place, message)
    role = row.text("role", required=True)
    if role == "system":
        raise Refusal(
            400,
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` '
            'parameter, not "system" as an input message role.',
        )
    if role not in ("user", "assistant"):
        raise Refusal(400, f"{place}.role: Input should be 'user' or 'assistant'")
    content = row.body.get("content")
    if isinstance(content, str):
        return role, [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        raise (
            _missing(f"{place}.content")
            if content is None
            else _wrong(f"{place}.content", "a string or an array of blocks", content)
        )
    kinds = ("text", "tool_use") if role == "assistant" else ("text", "tool_result")
    for number, block in enumerate(content):
        _check_block(fields, f"{place}.content.{number}", block, kinds=kinds)
    return role, content


def _check_block(fields: Fields, place: str, block: Any, *, kinds: Sequence[str]) -> None:
    row = fields.at(place, block)
    kind = row.text("type", required=True)
    if kind not in kinds:
        raise Refusal(
            400,
            f"{place}: pytest-ctxguard's server takes no {kind!r} block here, only "
            f"{' and '.join(kinds)}",
        )
    if kind == "text":
        if not row.text("text", required=True):
            raise Refusal(400, "messages: text content blocks must be non-empty")
    elif kind == "tool_use":
        row.text("id", required=True)
        row.text("name", required=True)
        row.object("input", required=True)
    else:
        row.text("tool_use_id", required=True)
        content = row.body.get("content")
        if isinstance(content, list):
            for number, part in enumerate(content):
                _check_block(fields, f"{place}.content.{number}", part, kinds=("text",))
        elif not isinstance(content, str | None):
            raise _wrong(f"{place}.content", "a string or an array of blocks", content)


def _check_turns(rows: Sequence[Row]) -> None:
    if not rows:
        raise Refusal(400, "messages: at least one message is required")
    for index, (_, blocks) in enumerate(rows):
        if not blocks:
            raise Refusal(400, NON_EMPTY.format(index))
    if rows[-1][0] == "assistant":
        raise Refusal(
            400,
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message.",
        )


def check_pairs(rows: Sequence[Row]) -> None:
    """Refuse tool calls that the next message does not answer, and results of no such call."""
    called: list[str] = []
    for index, (role, blocks) in enumerate([*rows, ("", [])]):
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        open_calls = [id_ for id_ in called if id_ not in results]
        if open_calls:
            raise Refusal(
                400,
                f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(open_calls)}. Each `tool_use` block must have a "
                "corresponding `tool_result` block in the next message.",
            )
        for number, block in enumerate(blocks):
            if block["type"] == "tool_result" and block["tool_use_id"] not in called:
                raise Refusal(
                    400,
                    f"messages.{index}.content.{number}: unexpected `tool_use_id` found in "
                    f"`tool_result` blocks: {block['tool_use_id']}. Each `tool_result` block must "
                    "have a corresponding `tool_use` block in the previous message.",
                )
        called = [b["id"] for b in blocks if b["type"] == "tool_use"] if role else []


def _chat(role: str, blocks: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    """Yield a message in OpenAI format: results first, as messages of their own."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    text = "\n".join(texts)
    for block in blocks:
        if block["type"] == "tool_result":
            content = block.get("content") or ""
            if isinstance(content, list):
                content = "\n".join(part["text"] for part in content)
            yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": content}
    calls = [
        {
            "id": block["id"],
            "type": "function",
            "function": {
                "name": block["name"],
                "arguments": json.dumps(block["input"], ensure_ascii=False),
            },
        }
        for block in blocks
        if block["type"] == "tool_use"
    ]
    if calls:
        yield {"role": role, "content": text or None, "tool_calls": calls}
    elif texts:
        yield {"role": role, "content": text}


def _system(fields: Fields) -> Iterator[Message]:
    system = fields.body.get("system")
    if isinstance(system, list):
        for number, block in enumerate(system):
            _check_block(fields, f"system.{number}", block, kinds=("text",))
        system = "\n".join(block["text"] for block in system)
    elif not isinstance(system, str | None):
        raise _wrong("system", "a string or an array of blocks", system)
    if system:
        yield {"role": "system", "content": system}


def _tool(fields: Fields, index: int, tool: Any) -> Mapping[str, Any]:
    row = fields.at(f"tools.{index}", tool)
    if row.body.get("type") not in (None, "custom"):
        raise Refusal(
            400,
            f"tools.{index}: pytest-ctxguard's server runs no tools of its own; got type "
            f"{row.body['type']!r}",
        )
    function: dict[str, Any] = {"name": row.text("name", required=True)}
    description = row.text("description")
    if description is not None:
        function["description"] = description
    function["parameters"] = row.object("input_schema", required=True)
    return {"type": "function", "function": function}


def _tool_choice(
    fields: Fields, tools: Sequence[Mapping[str, Any]]
) -> tuple[ToolChoice, str | None, bool]:
    choice = fields.object("tool_choice")
    if choice is None:
        return "auto", None, False
    row = fields.at("tool_choice", choice)
    one_call = row.flag("disable_parallel_tool_use")
    kind = row.text("type", required=True)
    if kind in ("auto", "none"):
        return kind, None, one_call  # type: ignore[return-value]  # one of the two
    if kind not in ("any", "tool"):
        raise Refusal(400, "tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'")
    names = [tool["function"]["name"] for tool in tools]
    name = row.text("name", required=True) if kind == "tool" else None
    if not names or (name is not None and name not in names):
        what = "may only be specified while providing `tools`" if not names else "not in `tools`"
        raise Refusal(400, f"tool_choice: {name or kind} {what}")
    return "required", name, one_call


def _missing(name: str) -> Refusal:
    return Refusal(400, f"{name}: Field required")


def _wrong(name: str, expected: str, value: Any) -> Refusal:
    return Refusal(400, f"{name}: Input should be {expected}; got {str(value)[:60]}")
