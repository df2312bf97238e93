"""Parts of list content."""

import base64
import struct
import zlib

import pytest

from pytest_ctxguard.transcript import parts
from tests.factories import user


def png(width, height):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    )


def test_an_image_says_how_large_it_is():
    data = png(640, 480)
    part = parts.image(parts.data_url("image/png", base64.b64encode(data).decode()), detail="low")
    assert part["type"] == "image_url"
    assert part["detail"] == "low"
    assert part["size"] == {"bytes": len(data), "width": 640, "height": 480}


@pytest.mark.parametrize(
    ("url", "size"),
    [
        ("https://example.org/a.png", None),
        ("data:image/png;base64,!", None),
        ("data:image/png,raw", None),
        (parts.data_url("image/png", base64.b64encode(b"no image").decode()), {"bytes": 8}),
        (parts.data_url("image/png", base64.b64encode(png(1, 1)[:18]).decode()), {"bytes": 18}),
    ],
)
def test_an_image_of_unknown_size(url, size):
    assert parts.image(url).get("size") == size


def test_content_is_as_plain_as_it_can_be():
    assert parts.content([]) is None
    assert parts.content([parts.text("a")]) == "a"
    marked = parts.text("a", cache_control={"type": "ephemeral"})
    assert parts.content([marked]) == [marked]
    assert parts.content([parts.text("a"), parts.text("b")]) == [parts.text("a"), parts.text("b")]


def test_opaque_parts_are_found_again():
    kept = parts.opaque("anthropic/server_tool_use", {"id": "s1"})
    messages = [user("x"), {"role": "user", "content": ["text", kept, parts.text("y")]}]
    assert list(parts.opaque_parts(messages)) == [kept]
