"""Amazon Bedrock: Converse, ConverseStream, and InvokeModel with an Anthropic body.

The model stands in the path of a request only; a body that has it as ``modelId``, as the arguments
of the Python client do, is read with it. A streamed body is an AWS event stream: ``eventstream``
decodes it into the events that ``assemble`` takes.

Source of fields and their meaning: the Amazon Bedrock runtime API reference.
"""

from __future__ import annotations

import re
from typing import Any

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wire import anthropic, typed
from pytest_ctxguard.transcript.wire import bedrock_blocks as blocks
from pytest_ctxguard.transcript.wire.bedrock_stream import assemble
from pytest_ctxguard.transcript.wire.wire import Answer, Asked, Body, Wire

CONVERSE = re.compile(r"/converse(-stream)?$")
INVOKE = re.compile(r"/model/.+/invoke(-with-response-stream)?$")
HANDLED = ("messages", "system", "toolConfig", "modelId", "requestMetadata")


def takes(path: str, body: Body) -> bool:
    """Tell by the path; where there is none, by content blocks that are named by their key."""
    path = path.partition("?")[0].rstrip("/")
    if not isinstance(body.get("messages"), list):
        return False
    if CONVERSE.search(path):
        return True
    if INVOKE.search(path):
        return "anthropic_version" in body
    if path:
        return False
    if "toolConfig" in body or "inferenceConfig" in body:
        return True
    contents = [typed.mapping(message).get("content") for message in body["messages"]]
    found = [block for c in contents if isinstance(c, list) for block in map(typed.mapping, c)]
    return bool(found) and all(block and "type" not in block for block in found)


def asked(body: Body) -> Asked:
    """Read a request.

    Raises:
        ValueError: a field is missing or of a wrong type; the message names it.
    """
    if "anthropic_version" in body:
        return anthropic.asked(body)
    messages: list[Message] = []
    if body.get("system"):
        messages += blocks.messages("system", body["system"], "system")
    for number, message in enumerate(typed.objects(body.get("messages"), "messages")):
        place = f"messages[{number}]"
        role = typed.text(message, "role", place)
        if role not in ("user", "assistant", "system"):
            raise ValueError(f"`{place}.role` is {role!r}; it must be user, assistant or system")
        messages += blocks.messages(role, message.get("content"), f"{place}.content")
    config = typed.object_at(body, "toolConfig", "") if body.get("toolConfig") else {}
    return Asked(
        messages=tuple(messages),
        tools=tuple(blocks.tools(config.get("tools"))),
        model=typed.string(body.get("modelId")),
        settings={**typed.rest(body, *HANDLED), **typed.rest(config, "tools")},
    )


def answer(body: Body) -> Answer:
    """Read a response, or an error.

    Raises:
        ValueError: it is neither.
    """
    if "output" not in body and "content" in body:
        return anthropic.answer(body)
    said = body.get("message") or body.get("Message")
    if "output" not in body and isinstance(said, str):
        kind = body.get("__type")
        return Answer(refusal=f"{kind}: {said}" if isinstance(kind, str) else said)
    message = typed.object_at(typed.object_at(body, "output", ""), "message", "output")
    content = message.get("content")
    messages = blocks.messages("assistant", content, "output.message.content")
    return Answer(messages=tuple(messages), call=_call(body))


def _call(body: Body) -> dict[str, Any]:
    """Return what is known of a call; ``inputTokens`` has neither cached nor written ones in it."""
    usage = typed.mapping(body.get("usage"))
    fresh = typed.integer(usage.get("inputTokens"))
    cached = typed.integer(usage.get("cacheReadInputTokens"))
    written = typed.integer(usage.get("cacheWriteInputTokens"))
    return typed.rest(
        {
            "prompt_tokens": None if fresh is None else fresh + (cached or 0) + (written or 0),
            "cached_tokens": cached,
            "cache_written_tokens": written,
            "cache_details": usage.get("cacheDetails") or None,
            "completion_tokens": typed.integer(usage.get("outputTokens")),
            "finish_reason": typed.string(body.get("stopReason")),
            "latency_ms": typed.integer(typed.mapping(body.get("metrics")).get("latencyMs")),
        }
    )


WIRE = Wire(name="bedrock", takes=takes, asked=asked, answer=answer, assemble=assemble)
