"""Anthropic's Messages API: ``POST /v1/messages``.

Source of fields and their meaning: the Messages API reference and the types of its Python client.

Compaction by the server (betas ``compact-2026-01-12``, ``compact-2026-09-04``): the answer begins
with a ``compaction`` block, and the API ignores whatever stands before that block when it is sent
back. The block stays in its message as an opaque part. The summary stands for what was before as a
user message, since the API does not say in whose words it shows it, and the answer of the assistant
follows it. A block without content is a compaction that failed, and changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wire import anthropic_blocks as blocks
from pytest_ctxguard.transcript.wire import typed
from pytest_ctxguard.transcript.wire.anthropic_stream import assemble
from pytest_ctxguard.transcript.wire.wire import Answer, Asked, Body, Wire

ROLES = ("user", "assistant", "system")
OTHER_PATHS = re.compile(  # count_tokens and batches are no calls; bedrock.py takes /model/…/invoke
    r"/(completions|responses|count_tokens|batches|converse|converse-stream)$|/model/|:[a-z]\w+$",
    re.IGNORECASE,
)
VERTEX = re.compile(r":(streamR|r)awPredict$")
ONLY_HERE = ("tool_use", "tool_result", "thinking", "redacted_thinking", "compaction", "document")


def takes(path: str, body: Body) -> bool:
    """Tell by the path; where that says nothing, by what no other provider's body has."""
    path = path.partition("?")[0].rstrip("/")
    if not isinstance(body.get("messages"), list):
        return False
    if path.endswith("/messages"):
        return True
    if VERTEX.search(path):
        return "anthropic_version" in body
    return not OTHER_PATHS.search(path) and _is_ours(body)


def asked(body: Body) -> Asked:
    """Read a request.

    Raises:
        ValueError: a field is missing or of a wrong type; the message names it.
    """
    messages: list[Message] = []
    if body.get("system"):
        messages += blocks.messages("system", body["system"], "system")
    for number, message in enumerate(typed.objects(body.get("messages"), "messages")):
        place = f"messages[{number}]"
        role = typed.text(message, "role", place)
        if role not in ROLES:
            raise ValueError(f"`{place}.role` is {role!r}; it must be one of {', '.join(ROLES)}")
        content = message.get("content")
        if not isinstance(content, str | list):
            raise ValueError(f"`{place}.content` must be text or a list of blocks")
        messages += blocks.messages(role, content, f"{place}.content")
    tools = typed.objects(body.get("tools") or [], "tools")
    return Asked(
        messages=tuple(messages),
        tools=tuple(blocks.tool(tool, f"tools[{n}]") for n, tool in enumerate(tools)),
        model=typed.string(body.get("model")),
        settings=_settings(body),
    )


def answer(body: Body) -> Answer:
    """Read a response, or an error.

    Raises:
        ValueError: it is neither.
    """
    if body.get("type") == "error" or ("error" in body and "content" not in body):
        error = body.get("error")
        facts = typed.mapping(error)
        said = [v for v in (facts.get("type"), facts.get("message")) if isinstance(v, str)]
        return Answer(refusal=": ".join(said) or str(error))
    content = typed.objects(body.get("content"), "content")
    return Answer(
        messages=(blocks.assistant(content, "content"),),
        call=_call(body),
        id=typed.string(body.get("id")),
        compacted=_compacted(content),
    )


def _is_ours(body: Body) -> bool:
    system, tools = body.get("system"), body.get("tools")
    if "anthropic_version" in body or isinstance(system, str):
        return True
    if any("type" in typed.mapping(b) for b in (system if isinstance(system, list) else ())):
        return True
    if any("input_schema" in typed.mapping(t) for t in (tools if isinstance(tools, list) else ())):
        return True
    contents = (typed.mapping(message).get("content") for message in body["messages"])
    found = [b for content in contents if isinstance(content, list) for b in content]
    return any(
        b.get("type") in ONLY_HERE or (b.get("type") == "image" and "source" in b)
        for b in map(typed.mapping, found)
    )


def _settings(body: Body) -> dict[str, Any]:
    """Return what else was asked; of MCP servers all but the tokens that open them."""
    handled = ("system", "messages", "tools", "model", "stream", "metadata")
    settings = typed.rest(body, *handled, "anthropic_version", "anthropic_beta", "betas")
    servers = settings.get("mcp_servers")
    if isinstance(servers, list):
        tokenless = (typed.rest(typed.mapping(s), "authorization_token") for s in servers)
        settings["mcp_servers"] = list(tokenless)
    return settings


def _call(body: Body) -> Mapping[str, Any]:
    """Return what is known of a call.

    ``prompt_tokens`` is the sum that the API documents as all of the input. The tokens of the
    server's own compaction are in none of the sums; they stand in ``iterations``, which is kept
    where there was more than one.
    """
    usage = typed.mapping(body.get("usage"))
    fresh = typed.integer(usage.get("input_tokens"))
    cached = typed.integer(usage.get("cache_read_input_tokens"))
    written = typed.integer(usage.get("cache_creation_input_tokens"))
    details = typed.mapping(usage.get("output_tokens_details"))
    iterations = usage.get("iterations")
    managed = typed.mapping(body.get("context_management"))
    return typed.rest(
        {
            "model": typed.string(body.get("model")),
            "prompt_tokens": None if fresh is None else fresh + (cached or 0) + (written or 0),
            "cached_tokens": cached,
            "cache_written_tokens": written,
            "cache_creation": usage.get("cache_creation") if written else None,
            "completion_tokens": typed.integer(usage.get("output_tokens")),
            "reasoning_tokens": typed.integer(details.get("thinking_tokens")),
            "finish_reason": typed.string(body.get("stop_reason")),
            "stop_sequence": body.get("stop_sequence"),
            "stop_details": body.get("stop_details"),
            "server_tool_use": usage.get("server_tool_use"),
            "service_tier": usage.get("service_tier"),
            "iterations": iterations if isinstance(iterations, list) and iterations[1:] else None,
            "applied_edits": managed.get("applied_edits") or None,
            "container": body.get("container"),
        }
    )


def _compacted(content: Sequence[Body]) -> tuple[Message, ...] | None:
    summaries = [block.get("content") for block in content if block.get("type") == "compaction"]
    last = next((text for text in reversed(summaries) if isinstance(text, str) and text), None)
    return None if last is None else ({"role": "user", "content": last},)


WIRE = Wire(name="anthropic", takes=takes, asked=asked, answer=answer, assemble=assemble)
