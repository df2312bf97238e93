"""Decode AWS event streams: the binary bodies of Bedrock's streamed answers.

A stream is a row of frames: lengths of frame and headers, their checksum, headers, payload, and a
checksum of all that. Source: the "event stream encoding" of the Amazon Transcribe developer guide,
and https://smithy.io/2.0/aws/amazon-eventstream.html.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

PRELUDE = 12  # bytes: two lengths and a checksum
CLOSING = 4  # bytes: a checksum
WIDTHS = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}  # header type -> bytes of its value
LENGTHENED = (6, 7)  # header types with a length before the value: bytes, text


def events(data: bytes) -> list[dict[str, Any]]:
    """Return the events of a stream, each as ``{name: payload}``.

    The chunks of an ``InvokeModelWithResponseStream`` answer are unpacked: the JSON value that the
    model's own API streams.

    Raises:
        ValueError: a frame is damaged, cut off, or has no JSON in it; the message says where.
    """
    found: list[dict[str, Any]] = []
    for at, headers, payload in _frames(data):
        name = headers.get(":event-type") or headers.get(":exception-type")
        if name is None:  # an error that is none of the API's own
            message = headers.get(":error-message", "no reason given")
            found.append({str(headers.get(":error-code", "error")): {"message": message}})
            continue
        value = _json(payload, at)
        if name == "chunk" and isinstance(value.get("bytes"), str):
            try:
                found.append(_json(base64.b64decode(value["bytes"], validate=True), at))
            except ValueError as error:
                raise ValueError(f"the chunk of the frame at byte {at}: {error}") from error
        else:
            found.append({name: value})
    return found


def _frames(data: bytes) -> Iterator[tuple[int, dict[str, str], bytes]]:
    at = 0
    while at < len(data):
        prelude = data[at : at + PRELUDE]
        if len(prelude) < PRELUDE:
            raise ValueError(f"the event stream breaks off in the frame at byte {at}")
        length, head, checksum = struct.unpack(">III", prelude)
        if zlib.crc32(prelude[:8]) != checksum or length < PRELUDE + head + CLOSING:
            raise ValueError(f"byte {at} begins no frame of an AWS event stream, or a damaged one")
        frame = data[at : at + length]
        if len(frame) < length:
            raise ValueError(f"the event stream breaks off in the frame at byte {at}")
        if zlib.crc32(frame[:-CLOSING]) != struct.unpack(">I", frame[-CLOSING:])[0]:
            raise ValueError(f"the frame at byte {at} of the event stream is damaged (checksum)")
        split = PRELUDE + head
        yield at, _headers(frame[PRELUDE:split], at), frame[split:-CLOSING]
        at += length


def _headers(data: bytes, at: int) -> dict[str, str]:
    """Return the headers that are text; the others carry nothing of an answer."""
    found: dict[str, str] = {}
    try:
        while data:
            size = data[0]
            name, kind, data = data[1 : 1 + size], data[1 + size], data[2 + size :]
            width = WIDTHS.get(kind)
            if kind in LENGTHENED:
                width, data = struct.unpack(">H", data[:2])[0], data[2:]
            if width is None or width > len(data):
                raise ValueError("a header of an unknown type, or one that is cut off")
            if kind == LENGTHENED[1]:
                found[name.decode()] = data[:width].decode()
            data = data[width:]
    except (IndexError, struct.error, ValueError) as error:
        raise ValueError(f"the headers of the frame at byte {at} are damaged: {error}") from error
    return found


def _json(data: bytes, at: int) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the frame at byte {at} of the event stream has no JSON") from error
    if not isinstance(value, dict):
        raise ValueError(f"the frame at byte {at} of the event stream has no JSON object")
    return value
