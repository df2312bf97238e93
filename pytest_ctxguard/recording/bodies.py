"""The bytes of a request's or response's body, whatever client sent it and however it is packed."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_ctxguard.errors import RecordingError

UNPACKED_LIMIT = 128 * 2**20  # bytes a compressed body may unpack to
GZIP_OR_ZLIB = 47  # zlib's window bits that recognise either header
BOUNDARY = re.compile(r'multipart/[^;]+;.*?boundary="?([^";,]+)"?', re.IGNORECASE)


def body_bytes(body: Any) -> bytes:
    """Return a request's body as bytes; an object given to a client as JSON becomes JSON text.

    Raises:
        RecordingError: it is something whose bytes are not known before it is sent.
    """
    if body is None:
        return b""
    if hasattr(body, "read"):
        body = body.read()
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    if isinstance(body, dict | list | tuple) and not any(isinstance(row, bytes) for row in body):
        try:
            return json.dumps(body, ensure_ascii=False).encode()
        except (TypeError, ValueError) as error:
            raise _unknown(body) from error
    if isinstance(body, Iterable):
        return b"".join(map(_chunk, body))
    raise _unknown(body)


def _chunk(chunk: object) -> bytes:
    if isinstance(chunk, str):
        return chunk.encode()
    if isinstance(chunk, bytes | bytearray | memoryview):
        return bytes(chunk)
    raise _unknown(chunk)


def _unknown(body: object) -> RecordingError:
    return RecordingError(
        f"a request body of type {type(body).__module__}.{type(body).__qualname__} cannot be "
        "recorded: its bytes are not known before it is sent. Send bytes, text or JSON."
    )


def unpacked(body: bytes, encoding: str) -> bytes | None:
    """Return a body without its ``Content-Encoding``, or ``None`` where it is not in it.

    gzip, deflate and no encoding are known; a body that unpacks to more than 128 MiB counts as
    one that cannot be unpacked.
    """
    names = [name.strip().lower() for name in encoding.split(",") if name.strip()]
    for name in reversed(names):
        if name not in ("gzip", "x-gzip", "deflate", "identity"):
            return None
        unzipped = body if name == "identity" else _inflated(body)
        if unzipped is None:
            return None
        body = unzipped
    return body


def _inflated(body: bytes) -> bytes | None:
    for window in (GZIP_OR_ZLIB, -zlib.MAX_WBITS):  # deflate is sent with and without a header
        decompressor = zlib.decompressobj(window)
        try:
            data = decompressor.decompress(body, UNPACKED_LIMIT)
        except zlib.error:
            continue
        if decompressor.eof and not decompressor.unconsumed_tail:
            return data
    return None


def without_boundary(body: bytes, content_type: str) -> bytes:
    """Return a multipart body with a fixed boundary; clients draw a new one for each request."""
    found = BOUNDARY.match(content_type)
    if found is None:
        return body
    return body.replace(b"--" + found.group(1).strip().encode(), b"--boundary")


def header(headers: Mapping[str, Any], name: str) -> str:
    """Return a header's value as text; nothing where there is none."""
    for key, value in headers.items():
        if str(key).lower() == name:
            first = value[0] if isinstance(value, list | tuple) and value else value
            return first.decode("latin-1") if isinstance(first, bytes) else str(first)
    return ""
