"""Bodies as they were before they were compressed, and compressed again."""

from __future__ import annotations

import gzip
import importlib
import zlib
from collections.abc import Sequence

from pytest_ctxguard.errors import RecordingError

LIMIT = 256 * 2**20  # bytes of one decompressed body; a small one can claim any size
GZIP = b"\x1f\x8b\x08"
PLAIN = frozenset({"", "identity", "chunked", "aws-chunked"})


def is_gzip(data: bytes) -> bool:
    """Tell by the first bytes."""
    return data.startswith(GZIP)


def is_zlib(data: bytes) -> bool:
    """Tell by the first bytes, whose sum is checked."""
    return len(data) > 6 and data[0] == 0x78 and int.from_bytes(data[:2], "big") % 31 == 0


def is_packed(data: bytes) -> bool:
    """Tell whether bytes begin as gzip's or zlib's do."""
    return is_gzip(data) or is_zlib(data)


def gunzip(data: bytes) -> bytes:
    """Return what is compressed, as far as the bytes go.

    Raises:
        ValueError: it is not gzip.
        RecordingError: it is larger than 256 MiB.
    """
    return _inflate(data, zlib.MAX_WBITS | 16)


def inflate(data: bytes) -> bytes:
    """Return what is compressed, with zlib's header or without; see :func:`gunzip`."""
    return _inflate(data, zlib.MAX_WBITS if is_zlib(data) else -zlib.MAX_WBITS)


def deflate(data: bytes, *, like: bytes) -> bytes:
    """Compress the way other bytes are compressed: with zlib's header or without."""
    wbits = zlib.MAX_WBITS if is_zlib(like) else -zlib.MAX_WBITS
    compressor = zlib.compressobj(wbits=wbits)
    return compressor.compress(data) + compressor.flush()


def regzip(data: bytes) -> bytes:
    """Compress, the same bytes each time."""
    return gzip.compress(data, mtime=0)


def codings(values: Sequence[str]) -> list[str]:
    """Return the content codings of a header's values, in the order they were applied."""
    named = [part.strip().lower() for value in values for part in value.split(",")]
    return [name for name in named if name not in PLAIN]


def decode(data: bytes, coding: str) -> bytes:
    """Undo one content coding.

    Raises:
        ValueError: the bytes are not in it; clients then show them as they are.
        RecordingError: nothing installed can undo it, or the body is larger than 256 MiB.
    """
    if coding in ("gzip", "x-gzip"):
        return gunzip(data)
    if coding == "deflate":
        return inflate(data)
    return _other(coding, data, compress=False)


def recode(data: bytes, coding: str, *, like: bytes) -> bytes:
    """Apply one content coding, the way it was applied to ``like``."""
    if coding in ("gzip", "x-gzip"):
        return regzip(data)
    if coding == "deflate":
        return deflate(data, like=like)
    return _other(coding, data, compress=True)


def _inflate(data: bytes, wbits: int) -> bytes:
    out = bytearray()
    while data:  # gzip may have several members
        inflater = zlib.decompressobj(wbits)
        try:
            out += inflater.decompress(data, LIMIT + 1 - len(out))
        except zlib.error as error:
            if out:
                break  # bytes after the end; clients ignore them
            raise ValueError(str(error)) from error
        if len(out) > LIMIT:
            raise RecordingError(
                f"a body of more than {LIMIT / 2**20:.0f} MiB, decompressed, is not searched for "
                "secrets. Leave this exchange out of the recording."
            )
        data = inflater.unused_data
    return bytes(out)


_LIBRARIES = {"br": ("brotli", "brotlicffi"), "zstd": ("zstandard",)}


def _other(coding: str, data: bytes, *, compress: bool) -> bytes:
    for name in _LIBRARIES.get(coding, ()):
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        try:
            if coding == "zstd":
                return _zstd(library, data, compress=compress)
            return bytes(library.compress(data) if compress else library.decompress(data))
        except RecordingError:
            raise
        except Exception as error:  # each library has its own
            raise ValueError(str(error)) from error
    libraries = " or ".join(_LIBRARIES.get(coding, ()))
    remedy = f"Install {libraries}, or send" if libraries else "Send"
    raise RecordingError(
        f"a body with content-encoding {coding!r} cannot be searched for secrets. {remedy} "
        "`accept-encoding: gzip`."
    )


def _zstd(library: object, data: bytes, *, compress: bool) -> bytes:
    if compress:
        return bytes(library.ZstdCompressor().compress(data))  # type: ignore[attr-defined]
    inflater = library.ZstdDecompressor().decompressobj()  # type: ignore[attr-defined]
    return bytes(inflater.decompress(data))
