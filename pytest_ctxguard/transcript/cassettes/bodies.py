"""Read the body of a recorded request or response, however it was kept."""

from __future__ import annotations

import base64
import binascii
import importlib
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any

LIMIT = 64 * 2**20  # bytes of one body after decompression; a full context window has some 4 MiB
GZIP = b"\x1f\x8b"
CHARSET = re.compile(r"charset\s*=\s*\"?([\w.:-]+)", re.IGNORECASE)
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
EVENT_STREAM = "application/vnd.amazon.eventstream"


def read_body(side: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
    """Return a body: a JSON value where the recorder parsed it, text, or ``None`` if there is none.

    The frames of an AWS event stream stay bytes.

    Args:
        side: the recorded request or response.
        headers: its headers, names in lower case.

    Raises:
        ValueError: it cannot be read whole, with what is wrong.
    """
    if side.get("parsed_body") is not None:
        return side["parsed_body"]
    value = side.get("body", side.get("content"))  # `content`: of httpx, in vcrpy before 6
    if isinstance(value, dict):
        value = _held(value)
    if isinstance(value, list) and all(isinstance(piece, bytes | str) for piece in value):
        value = b"".join(p.encode() if isinstance(p, str) else p for p in value)
    if not isinstance(value, str | bytes | None):
        raise ValueError(f"its body is {type(value).__name__}, not text or bytes")
    if isinstance(value, str) and EVENT_STREAM in headers.get("content-type", ""):
        return value.encode()  # frames that happened to be UTF-8
    if isinstance(value, bytes):
        value = decompressed(value, headers.get("content-encoding", ""))
        if EVENT_STREAM in headers.get("content-type", ""):
            return value
        value = _text(value, headers.get("content-type", ""))
    if value is not None and len(value) > LIMIT:
        raise ValueError(f"its body has more than {LIMIT // 2**20} MiB")
    return value or None


def _held(body: Mapping[str, Any]) -> Any:
    """Return what a body's mapping holds."""
    if "base64_string" in body:
        try:
            return base64.b64decode("".join(str(body["base64_string"]).split()), validate=True)
        except binascii.Error as error:
            raise ValueError(f"its body is not base64 ({error})") from error
    if "string" in body:
        return body["string"]
    if not body:
        return None
    raise ValueError(f"its body has neither `string` nor `base64_string`: {', '.join(body)}")


def _text(data: bytes, content_type: str) -> str:
    named = CHARSET.search(content_type)
    charset = named[1] if named else "utf-8"
    try:
        return data.decode(charset).removeprefix("\ufeff")
    except (LookupError, UnicodeDecodeError) as error:
        raise ValueError(f"its body is not text in {charset} ({error})") from error


def decompressed(data: bytes, encoding: str) -> bytes:
    """Undo the content encodings of a body.

    A body that its header calls compressed and that is not is taken as it is: some recorders
    decompress it and keep the header, others drop the header.

    Raises:
        ValueError: the data is damaged or cut off, would have more than 64 MiB, or needs a library
            that is not installed; the message names it.
    """
    names = [name.strip().lower() for name in encoding.split(",") if name.strip()]
    if not names and data.startswith(GZIP):
        names = ["gzip"]
    for name in reversed(names):
        if name == "identity":
            continue
        if name not in DECODERS:
            raise ValueError(f"its body has the content encoding {name!r}, which is not known")
        if _is_plain(data):
            return data
        data = DECODERS[name](data)
    return data


def _is_plain(data: bytes) -> bool:
    """Tell whether data is text already: UTF-8 without control characters, as no compressed is."""
    try:
        return CONTROL.search(data.decode("utf-8")) is None
    except UnicodeDecodeError:
        return False


def _gzip(data: bytes) -> bytes:
    return _zlib(data, zlib.MAX_WBITS | 16)


def _deflate(data: bytes) -> bytes:
    """Undo ``deflate``: zlib's format by the standard, raw deflate from some servers."""
    is_zlib = len(data) > 1 and data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
    return _zlib(data, zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)


def _zlib(data: bytes, wbits: int) -> bytes:
    found = b""
    while data:  # gzip data may be several members
        decoder = zlib.decompressobj(wbits)
        try:
            found += decoder.decompress(data, LIMIT + 1 - len(found))
        except zlib.error as error:
            raise ValueError("its compressed body is damaged") from error
        if len(found) > LIMIT:
            raise ValueError(_too_large())
        if not decoder.eof:
            raise ValueError("its compressed body is cut off")
        data = decoder.unused_data if wbits > zlib.MAX_WBITS else b""
    return found


def _brotli(data: bytes) -> bytes:
    brotli = _library("brotli", encoding="br")
    decoder, found = brotli.Decompressor(), bytearray()
    for at in range(0, len(data), 64):  # a small step, for a byte can stand for megabytes
        try:
            found += decoder.process(data[at : at + 64])
        except brotli.error as error:
            raise ValueError("its compressed body is damaged") from error
        if len(found) > LIMIT:
            raise ValueError(_too_large())
    if not decoder.is_finished():
        raise ValueError("its compressed body is cut off")
    return bytes(found)


def _zstd(data: bytes) -> bytes:
    zstandard = _library("zstandard", encoding="zstd")
    decoder = zstandard.ZstdDecompressor().decompressobj()
    found = bytearray()
    try:
        for at in range(0, len(data), 64):
            found += decoder.decompress(data[at : at + 64])
            if len(found) > LIMIT:
                raise ValueError(_too_large())
    except zstandard.ZstdError as error:
        raise ValueError("its compressed body is damaged") from error
    if not decoder.eof:
        raise ValueError("its compressed body is cut off")
    return bytes(found)


def _library(name: str, *, encoding: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ValueError(
            f"its body has the content encoding {encoding!r}, which needs {name}. Install {name}"
        ) from error


def _too_large() -> str:
    return f"its body has more than {LIMIT // 2**20} MiB when decompressed"


DECODERS: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
