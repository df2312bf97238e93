"""OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wire import typed
from pytest_ctxguard.transcript.wire.openai_items import messages
from pytest_ctxguard.transcript.wire.openai_values import (
    count,
    definitions,
    error_text,
    moment,
    objects,
    optional_text,
    usage_of,
)
from pytest_ctxguard.transcript.wire.wire import Answer, Asked, Body, Wire

PATHS = ("/responses", "/responses/compact")
NOT_SETTINGS = (
    "input",
    "instructions",
    "tools",
    "model",
    "previous_response_id",
    "stream",
    "stream_options",
)
LAST = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


def takes(path: str, body: Body) -> bool:
    """Tell by the path, or by the body where there is none."""
    return path.split("?")[0].endswith(PATHS) if path else is_request(body)


def is_request(body: Any) -> bool:
    """Tell whether a body is in this format."""
    if not isinstance(body, dict) or "messages" in body or not isinstance(body.get("model"), str):
        return False
    items = body.get("input")
    if isinstance(items, str):  # so are the inputs of embeddings and moderations
        marks = ("instructions", "tools", "previous_response_id", "max_output_tokens", "store")
        return any(key in body for key in (*marks, "reasoning", "text", "conversation", "include"))
    return (
        isinstance(items, list)
        and bool(items)
        and all(isinstance(i, dict) and ("type" in i or "role" in i) for i in items)
    )


def asked(body: Body) -> Asked:
    """Read a request body; the ``instructions`` are its first message.

    Raises:
        ValueError: it is none; the text says what is wrong, where.
    """
    instructions = optional_text(body.get("instructions"), "instructions")
    lead: tuple[Message, ...] = ()
    if instructions is not None:
        lead = ({"role": "system", "content": instructions},)
    items = body.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    later = [
        tool
        for index, item in enumerate(objects(items, "input"))
        if item.get("type") == "additional_tools"
        for tool in definitions(item.get("tools"), f"input[{index}].tools")
    ]
    return Asked(
        messages=(*lead, *messages(items, "input")),
        tools=(*definitions(body.get("tools")), *later),
        model=optional_text(body.get("model"), "model"),
        previous=optional_text(body.get("previous_response_id"), "previous_response_id"),
        settings=typed.rest(body, *NOT_SETTINGS),
    )


def answer(body: Body) -> Answer:
    """Read a response body.

    A ``compaction`` item in the answer stands for all before the answer. What the compaction
    endpoint returns is no answer, but the messages to go on with.

    Raises:
        ValueError: it is neither an answer nor an error; the text says what is wrong, where.
    """
    answer_id = optional_text(body.get("id"), "id")
    refusal = error_text(body)
    if "output" not in body:
        if refusal is None:
            raise ValueError("the response has neither `output` nor an `error`")
        return Answer(id=answer_id, refusal=refusal)
    items = objects(body["output"], "output")
    said = messages(items, "output")
    if body.get("object") == "response.compaction":
        return Answer(id=answer_id, compacted=said)
    status = optional_text(body.get("status"), "status")
    if not said and refusal is None:
        refusal = f"the response has no output; its status is {status!r}"
    why = body.get("incomplete_details")
    reason = why.get("reason") if isinstance(why, dict) else None
    return Answer(
        messages=said,
        call=typed.rest(
            {
                "model": optional_text(body.get("model"), "model"),
                **_usage(usage_of(body)),
                "finish_reason": optional_text(reason, "incomplete_details.reason") or status,
                "time": moment(body.get("created_at")),
                "service_tier": body.get("service_tier"),
                "item_ids": [item["id"] for item in items if item.get("id") is not None] or None,
            }
        ),
        id=answer_id,
        refusal=refusal,
        compacted=() if any(item.get("type") == "compaction" for item in items) else None,
    )


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "prompt_tokens": count(usage, "input_tokens"),
        "cached_tokens": count(usage, "input_tokens_details", "cached_tokens"),
        "cache_written_tokens": count(usage, "input_tokens_details", "cache_write_tokens"),
        "completion_tokens": count(usage, "output_tokens"),
        "reasoning_tokens": count(usage, "output_tokens_details", "reasoning_tokens"),
    }


def assemble(events: Sequence[Body]) -> Body:
    """Return the body that the same answer would have had without streaming.

    It comes whole in the last event; where a server leaves its ``output`` empty, the items that
    were sent before fill it.

    Raises:
        ValueError: an event is none, or the stream breaks off before its last one.
    """
    items: list[tuple[int, int, Any]] = []
    whole: Body | None = None
    error: Body | None = None
    for number, event in enumerate(events, 1):
        kind = event.get("type")
        if kind == "response.output_item.done":
            index = event.get("output_index")
            items.append((index if isinstance(index, int) else number, number, event.get("item")))
        elif kind == "error":
            error = {"error": event.get("error") or typed.rest(event, "type")}
        elif kind in LAST:
            if not isinstance(event.get("response"), dict):
                raise ValueError(f"event {number} of the stream needs a `response`")
            whole = event["response"]
    if whole is None and error is not None:
        return error
    if whole is None:
        raise ValueError(
            f"the stream breaks off after {len(events)} events, before `response.completed`"
        )
    return (
        whole
        if whole.get("output")
        else {**whole, "output": [i for _, _, i in sorted(items, key=lambda i: i[:2])]}
    )


WIRE = Wire(name="openai-responses", takes=takes, asked=asked, answer=answer, assemble=assemble)
