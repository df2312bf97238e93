"""Read the tokenizer's part of a GGUF file, which the ``gguf`` package takes half a minute for.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import struct

SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
STRING, ARRAY = 8, 9


def read_metadata(path):
    """Return key -> value of a GGUF file's metadata."""
    with path.open("rb") as file:
        magic, version, _tensors, count = struct.unpack("<4sIQQ", file.read(24))
        assert (magic, version) == (b"GGUF", 3)
        return {_string(file): _value(file, _number(file, "<I")) for _ in range(count)}


def _number(file, layout):
    return struct.unpack(layout, file.read(struct.calcsize(layout)))[0]


def _string(file):
    return file.read(_number(file, "<Q")).decode("utf-8")


def _value(file, kind):
    if kind == STRING:
        return _string(file)
    if kind == ARRAY:
        inner, length = _number(file, "<I"), _number(file, "<Q")
        return [_value(file, inner) for _ in range(length)]
    return _number(file, SCALARS[kind])
