"""OpenAI's chat completions, and what else speaks that format (DeepSeek, vLLM, OpenRouter, …)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_ctxguard.transcript.wire import typed
from pytest_ctxguard.transcript.wire.openai_chunks import assemble
from pytest_ctxguard.transcript.wire.openai_messages import Messages, message, plausible
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

PATH = "/chat/completions"
LOOKED_AT = 40  # messages that are looked at to recognise the format
NOT_SETTINGS = ("messages", "tools", "functions", "model", "stream", "stream_options")


def takes(path: str, body: Body) -> bool:
    """Tell by the path, or by the body where there is none."""
    return path.split("?")[0].endswith(PATH) if path else is_request(body)


def is_request(body: Any) -> bool:
    """Tell whether a body is in this format, and not in Anthropic's or Bedrock's similar ones."""
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not messages:
        return False
    tools = body.get("tools")
    foreign = isinstance(tools, list) and any(
        isinstance(tool, dict) and "input_schema" in tool for tool in tools
    )
    if foreign or any(key in body for key in ("system", "anthropic_version", "modelId")):
        return False
    return all(map(plausible, messages[:LOOKED_AT]))


def asked(body: Body) -> Asked:
    """Read a request body.

    Raises:
        ValueError: it is none; the text says what is wrong, where.
    """
    if not isinstance(body.get("messages"), list):
        raise ValueError("`messages` must be a list")
    messages = Messages()
    for index, value in enumerate(body["messages"]):
        messages.add(value, where=f"messages[{index}]")
    functions = [
        {"type": "function", "function": function}
        for function in objects(body.get("functions"), "functions")
    ]
    return Asked(
        messages=tuple(messages.messages),
        tools=(*definitions(body.get("tools")), *definitions(functions, "functions")),
        model=optional_text(body.get("model"), "model"),
        settings=typed.rest(body, *NOT_SETTINGS),
    )


def answer(body: Body) -> Answer:
    """Read a response body. Of several choices, the first is the answer.

    The others are kept in what is known of the call, as ``other_choices``; they are not part of
    the history.

    Raises:
        ValueError: it is neither an answer nor an error; the text says what is wrong, where.
    """
    answer_id = optional_text(body.get("id"), "id")
    choices = objects(body.get("choices"), "choices")
    if not choices:
        refusal = error_text(body)
        if refusal is None:
            raise ValueError("the response has neither `choices` nor an `error`")
        return Answer(id=answer_id, refusal=refusal)
    first = choices[0]
    said = first.get("message")
    if not isinstance(said, dict):
        raise ValueError("`choices[0].message` must be an object")
    said = {**said, "role": said.get("role") or "assistant"}
    if said.get("tool_calls") == []:  # as vLLM writes it; no request may have it
        del said["tool_calls"]
    if said["role"] != "assistant":
        raise ValueError("`choices[0].message.role` must be assistant")
    call_id = f"function_call-{answer_id or 'answer'}"
    return Answer(
        messages=(message(said, where="choices[0].message", call_id=call_id),),
        call=typed.rest(
            {
                "model": optional_text(body.get("model"), "model"),
                **_usage(usage_of(body)),
                "finish_reason": optional_text(
                    first.get("finish_reason"), "choices[0].finish_reason"
                ),
                "error": first.get("error"),  # OpenRouter, where a provider fails half-way
                "time": moment(body.get("created")),
                "service_tier": body.get("service_tier"),
                "system_fingerprint": body.get("system_fingerprint"),
                "logprobs": first.get("logprobs"),
                "other_choices": choices[1:] or None,
            }
        ),
        id=answer_id,
    )


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usual keys; a provider's own names stand in where OpenAI's are missing."""
    cached = count(usage, "prompt_tokens_details", "cached_tokens")
    written = count(usage, "prompt_tokens_details", "cache_write_tokens")
    if cached is None:
        cached = count(usage, "prompt_cache_hit_tokens")  # DeepSeek
    return {
        "prompt_tokens": count(usage, "prompt_tokens"),
        "cached_tokens": cached,
        "cache_written_tokens": written,
        "completion_tokens": count(usage, "completion_tokens"),
        "reasoning_tokens": count(usage, "completion_tokens_details", "reasoning_tokens"),
        "cost": usage.get("cost"),  # OpenRouter, in US dollars
    }


WIRE = Wire(name="openai-chat", takes=takes, asked=asked, answer=answer, assemble=assemble)
