"""Parts of list content, and what becomes of what OpenAI's chat format has no place for.

Text and images have parts of OpenAI's own. Anything else is kept whole as an *opaque* part,
``{"type": "opaque", "of": "<format>/<type>", "data": <as recorded>}``: no model reads it here, no
counter counts it, and every report says how many there are.
"""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_ctxguard.transcript.messages import Message

Part = dict[str, Any]


def text(value: str, /, **marks: Any) -> Part:
    """Return a text part; ``marks`` are further keys, such as Anthropic's ``cache_control``."""
    return {"type": "text", "text": value, **marks}


def opaque(of: str, data: Any) -> Part:
    """Return an opaque part.

    Args:
        of: format and type of what is kept, for example ``anthropic/server_tool_use``.
        data: the JSON value as it was recorded.
    """
    return {"type": "opaque", "of": of, "data": data}


def image(url: str, /, **marks: Any) -> Part:
    """Return an image part with its size, as far as the URL itself tells.

    Args:
        url: an address, or a ``data:`` URL with base64.
        marks: further keys of the part.

    Returns:
        OpenAI's ``image_url`` part; for a ``data:`` URL with ``size``: ``bytes``, and ``width`` and
        ``height`` in pixels where the header of the image says them.
    """
    part: Part = {"type": "image_url", "image_url": {"url": url}, **marks}
    data = _bytes(url)
    if data is not None:
        part["size"] = {"bytes": len(data), **_pixels(data)}
    return part


def data_url(media_type: str, data: str) -> str:
    """Return a ``data:`` URL of base64 text."""
    return f"data:{media_type};base64,{data}"


def content(parts: Sequence[Part]) -> str | list[Part] | None:
    """Return parts as content: plain text where they are one text, ``None`` where there is none."""
    if not parts:
        return None
    if len(parts) == 1 and set(parts[0]) == {"type", "text"}:
        return str(parts[0]["text"])
    return list(parts)


def opaque_parts(messages: Sequence[Message]) -> Iterator[Part]:
    """Yield the opaque parts of messages, in order."""
    for message in messages:
        value = message.get("content")
        if isinstance(value, list):
            yield from (p for p in value if isinstance(p, dict) and p.get("type") == "opaque")


def _bytes(url: str) -> bytes | None:
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    try:
        return base64.b64decode(data, validate=True)
    except (ValueError, binascii.Error):
        return None


def _pixels(data: bytes) -> dict[str, int]:
    import imagesize

    try:
        width, height = imagesize.get(io.BytesIO(data))
    except Exception:  # a damaged header raises whatever its parser meets
        return {}
    return {"width": width, "height": height} if width > 0 and height > 0 else {}
