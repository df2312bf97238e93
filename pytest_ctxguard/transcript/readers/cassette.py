"""vcrpy cassettes: the model calls among a test's recorded HTTP requests."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.cassettes.interactions import Interaction, interactions, is_cassette
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.reading import Reader, Reading, count
from pytest_ctxguard.transcript.runs import Exchange, join
from pytest_ctxguard.transcript.wire import (
    anthropic,
    bedrock,
    eventstream,
    gemini,
    openai_chat,
    openai_responses,
    sse,
)
from pytest_ctxguard.transcript.wire.wire import Answer, Wire

WIRES: tuple[Wire, ...] = (
    openai_chat.WIRE,
    openai_responses.WIRE,
    anthropic.WIRE,
    gemini.WIRE,
    bedrock.WIRE,
)
# What is asked there is chat; a body that cannot be read is then no other traffic, but a loss.
CHAT = re.compile(
    r"/(chat/completions|responses|v1/messages|converse|converse-stream)$"
    r"|:(generateContent|streamGenerateContent)$"
)
# A request in a chat's format that is only counted, not answered.
COUNTED = re.compile(r"/(count_tokens|count-tokens|input_tokens)$|:countTokens$")
# Bedrock and Gemini name the model in the path, and nowhere else.
MODEL = re.compile(r"/model/(.+)/[\w-]+$|/models/([^/]+):\w+$")
STREAM = re.compile(r"\s*(data|event|id|retry)?:")
SHOWN = 200  # characters of an error page


def read(document: Document) -> Reading:
    """Read every exchange with a chat model; other requests are counted by method and path.

    Raises:
        TranscriptError: the cassette is broken, holds no exchange with a chat model, or one that
            cannot be read.
    """
    recorded, further = interactions(document)
    passed_over: dict[str, int] = {f"cassette field {key}": 1 for key in further}
    exchanges = []
    for interaction in recorded:
        for key in interaction.unknown:
            count(passed_over, f"interaction field {key}")
        exchange = _exchange(document, interaction, wires=WIRES)
        if exchange is None:
            count(passed_over, f"{interaction.method} {interaction.path}")
        else:
            exchanges.append(exchange)
    if not exchanges:
        raise _nothing(document, recorded)
    runs, notes = join(document, exchanges, recorded_by="vcrpy")
    return Reading(format=READER.name, runs=runs, passed_over=passed_over, notes=notes)


READER = Reader(name="vcrpy", recognises=is_cassette, read=read)


def _nothing(document: Document, recorded: Sequence[Interaction]) -> TranscriptError:
    held: dict[str, int] = {}
    for interaction in recorded:
        count(held, f"{interaction.method} {interaction.path}")
    what = ", ".join(f"{n} x {kind}" for kind, n in held.items()) or "no requests at all"
    return document.fail(
        f"no request to a chat model in this cassette; it holds {what}. Name the cassette of a "
        "test that asks a model."
    )


def _exchange(
    document: Document, interaction: Interaction, *, wires: Sequence[Wire]
) -> Exchange | None:
    """Return an interaction as an exchange with a chat model, or ``None`` if it is none."""
    path = interaction.path
    if interaction.method != "POST" or COUNTED.search(path):
        return None
    part = f"the request to {path}"
    try:
        body, wrong = _parsed(interaction.request_body()), None
    except ValueError as error:
        body, wrong = None, error
    wire = _wire(path, body, wires)
    try:
        if wire is None:
            if CHAT.search(path):
                raise wrong or ValueError("its body is in no format that is read")
            return None
        asked = wire.asked(body)
        part = "the response"
        answer = _answer(interaction, wire)
    except ValueError as error:
        what = f"interaction {interaction.number}: {part}: {error}. Mend it, or record it again."
        raise document.fail(what, interaction.line) from error
    if asked.model is None:
        asked = replace(asked, model=_model(path))
    return Exchange(asked=asked, answer=_timed(answer, interaction), line=interaction.line)


def _wire(path: str, body: Any, wires: Sequence[Wire]) -> Wire | None:
    if not isinstance(body, dict):
        return None
    return next((wire for wire in wires if wire.takes(path, body)), None)


def _model(path: str) -> str | None:
    named = MODEL.search(path)
    return unquote(named[1] or named[2]) if named else None


def _parsed(body: Any) -> Any:
    if not isinstance(body, str):
        return body
    try:
        return json.loads(body)
    except RecursionError as error:
        raise ValueError("its body is nested too deep") from error
    except ValueError as error:
        raise ValueError(f"its body is not JSON ({error})") from error


def _answer(interaction: Interaction, wire: Wire) -> Answer:
    if interaction.status >= 400:
        return _refused(interaction, wire)
    body = interaction.response_body()
    if body is None:
        raise ValueError("it has no body")
    if isinstance(body, bytes):
        value: Any = eventstream.events(body)
    elif isinstance(body, str) and _is_stream(body, interaction.response_headers):
        value = sse.events(body)
    else:
        value = _parsed(body)
    if isinstance(value, list):  # of events, or Gemini's stream without `alt=sse`
        if not value or not all(isinstance(event, dict) for event in value):
            raise ValueError("its stream has no events, or one that is no object")
        value = wire.assemble(value)
    if not isinstance(value, dict):
        raise ValueError("its body must be a JSON object")
    return wire.answer(value)


def _is_stream(body: str, headers: Mapping[str, str]) -> bool:
    return "text/event-stream" in headers.get("content-type", "") or bool(STREAM.match(body))


def _refused(interaction: Interaction, wire: Wire) -> Answer:
    """Return the answer to a request that was refused, in the provider's words if it has some."""
    body = interaction.response_body()
    if isinstance(body, bytes):  # of an event stream, which no refusal is
        body = body.decode("utf-8", "replace")
    text = "" if body is None else body if isinstance(body, str) else json.dumps(body)
    try:
        value = _parsed(body)
        refusal = wire.answer(value).refusal if isinstance(value, dict) else None
    except ValueError:  # a gateway's page, whose text says enough
        refusal = None
    return Answer(refusal=f"{interaction.status} {refusal or text[:SHOWN]}".rstrip())


def _timed(answer: Answer, interaction: Interaction) -> Answer:
    if not answer.messages or answer.call.get("time") is not None:
        return answer
    time = interaction.recorded_at or _date(interaction.response_headers.get("date"))
    return answer if time is None else replace(answer, call={**answer.call, "time": time})


def _date(header: str | None) -> str | None:
    try:
        moment: datetime = parsedate_to_datetime(header or "")
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):  # scrubbed, or none
        return None
