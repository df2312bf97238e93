"""mini-swe-agent's trajectories (``.traj.json``), format ``mini-swe-agent-1`` and 1.x.

A message's ``extra`` is never sent; of it, the response's usage, the cost and the time are kept as
facts of the call. The closing ``exit`` message was sent to no model.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.readers.checked import first, name, objects, whole
from pytest_ctxguard.transcript.reading import Reader, Reading, count
from pytest_ctxguard.transcript.wire import openai_items, openai_responses
from pytest_ctxguard.transcript.wire.typed import mapping

FORMAT = "mini-swe-agent-"
VERSION = f"{FORMAT}1"
FACTS = ("exit_status", "model_stats", "mini_version")
ALWAYS = ("role", "content")
SENT = (
    *(*ALWAYS, "tool_calls", "tool_call_id", "name"),
    *("reasoning_content", "thinking_blocks", "refusal"),
)


def recognises(document: Document) -> bool:
    """Tell by the format's name; files of version 0 have only the agent's version."""
    value = mapping(document.value)
    named = name(value.get("trajectory_format")) or ""
    return named.startswith(FORMAT) or (
        "messages" in value and "mini_version" in mapping(value.get("info"))
    )


def read(document: Document) -> Reading:
    """Read the one session."""
    value = mapping(document.json)
    named = value.get("trajectory_format", VERSION)
    if named != VERSION and not str(named).startswith(f"{VERSION}."):
        raise document.fail(
            f"trajectory format {named!r} is not known; this release reads {VERSION} and "
            f"{VERSION}.x. Upgrade pytest-ctxguard."
        )
    builder = Builder(document, name=document.path.name.removesuffix(".traj.json"))
    passed_over: dict[str, int] = {}
    for index, item in enumerate(objects(document, value.get("messages"), where="messages")):
        where = f"messages[{index}]"
        if item.get("role") == "exit":
            count(passed_over, "exit message")
            continue
        extra = mapping(item.get("extra"))
        if "role" not in item and ("output" in item or "call_id" in item):
            for message, call in _of_responses(document, item, where=where):
                builder.add(message, where=where, call=call and {**call, **_call(extra)})
            continue
        known = {key: item.get(key) for key in SENT}
        message = {key: v for key, v in known.items() if v is not None or key in ALWAYS}
        call = _call(extra) if message["role"] == "assistant" else None
        builder.add(message, where=where, call=call)
        if call is None and extra.get("response"):
            count(passed_over, "answer that is not in the history")
            builder.note(
                f"`{where}` asks again after an answer that the agent could not use; the model was "
                "never shown that answer, and it is not among the messages"
            )
        for key, other in item.items():
            if key not in SENT and other not in (None, [], {}):
                count(passed_over, f"messages.{key}")
    for key in value:
        if key not in ("messages", "info", "trajectory_format"):
            count(passed_over, key)
    info = mapping(value.get("info"))
    for key in info:
        if key not in (*FACTS, "config"):
            count(passed_over, f"info.{key}")
    config = mapping(info.get("config"))
    transcript = builder.build(
        **{key: info.get(key) for key in FACTS},
        agent_type=name(config.get("agent_type")),
        model_name=name(mapping(config.get("model")).get("model_name")),
    )
    return Reading(
        format=READER.name,
        runs=(transcript,),
        passed_over=passed_over,
        notes=tuple(builder.notes),
    )


READER = Reader(name="mini-swe-agent", recognises=recognises, read=read)


def _of_responses(
    document: Document, item: Mapping[str, Any], *, where: str
) -> list[tuple[Mapping[str, Any], dict[str, Any] | None]]:
    """Return the messages of a response of OpenAI's Responses API, or of a result it is sent."""
    body = {key: value for key, value in item.items() if key != "extra"}
    try:
        if "call_id" in body:
            return [(message, None) for message in openai_items.messages([body], "items")]
        answer = openai_responses.WIRE.answer(body)
    except ValueError as error:
        raise document.fail(f"`{where}`: {error}. Mend or remove it.") from error
    if not answer.messages:
        raise document.fail(f"`{where}` has no answer: {answer.refusal}. Remove it.")
    facts = {"response_id": answer.id, **answer.call}
    return [(message, facts if k == 0 else None) for k, message in enumerate(answer.messages)]


def _call(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a call, from the response as LiteLLM gives it."""
    response = mapping(extra.get("response"))
    usage = mapping(response.get("usage"))
    read = mapping(usage.get("prompt_tokens_details"))
    wrote = mapping(usage.get("completion_tokens_details"))
    choices = response.get("choices")
    choice = mapping(choices[0]) if isinstance(choices, list) and choices else {}
    facts = {
        "model": name(response.get("model")),
        "prompt_tokens": whole(usage.get("prompt_tokens")),
        "completion_tokens": whole(usage.get("completion_tokens")),
        "cached_tokens": whole(
            first({**usage, **read}, ("cached_tokens", "cache_read_input_tokens"))
        ),
        "cache_written_tokens": whole(
            first({**read, **usage}, ("cache_creation_input_tokens", "cache_creation_tokens"))
        ),
        "reasoning_tokens": whole(wrote.get("reasoning_tokens")),
        "finish_reason": name(choice.get("finish_reason")),
        "response_id": name(response.get("id")),
        "time": _time(first({**response, **extra}, ("timestamp", "created"))),
        "cost": extra.get("cost") if isinstance(extra.get("cost"), int | float) else None,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _time(seconds: Any) -> str | None:
    if not isinstance(seconds, int | float) or not 0 < seconds < 2**35:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat()
