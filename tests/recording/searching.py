"""An independent search: every byte of a file, and all that it decodes to. Nothing of ours."""

import base64
import gzip
import json
import re
import zlib
from contextlib import suppress
from urllib.parse import unquote_to_bytes

import yaml

RUNS = re.compile(rb"[A-Za-z0-9+/_-]{8,}")
READABLE = re.compile(rb"[\x20-\x7e]{8}|\x1f\x8b\x08|\x78[\x01\x9c\xda]")
LAYERS = 7


def everything(data):
    """Return a file's bytes and all that can be decoded from them, however deep."""
    seen, found, layer = {data}, [data], [data]
    for _ in range(LAYERS):
        layer = [new for old in layer for new in decoded(old) if new not in seen]
        layer = [new for new in dict.fromkeys(layer) if READABLE.search(new)]
        seen.update(layer)
        found += layer
    return found


def decoded(data):
    """Yield what bytes decode to, in every way that works."""
    for value in parsed(data):
        strings = list(leaves(value))
        yield from strings
        yield from assembled([value] if isinstance(value, dict) else value)
    events = [value for line in data.split(b"\n") for value in parsed(line.removeprefix(b"data:"))]
    yield from (leaf for event in events for leaf in leaves(event))
    yield from assembled(events)
    if b"\\" in data:
        yield re.sub(rb"\\u([0-9a-f]{4})", character, data)
        yield re.sub(rb'\\(["\\/])', rb"\1", data)
    if b"%" in data:
        yield unquote_to_bytes(data)
        yield unquote_to_bytes(data.replace(b"+", b" "))
    for at in (m.start() for m in re.finditer(rb"\x1f\x8b\x08|\x78[\x01\x9c\xda]", data)):
        for unpack in (gzip.decompress, zlib.decompress):
            try:
                yield unpack(data[at:])
            except (OSError, EOFError, zlib.error):
                continue
    for text in {data, re.sub(rb"\s+", b"", data)}:
        for run in RUNS.findall(text):
            for start in range(4):
                part = run[start:].translate(bytes.maketrans(b"-_", b"+/"))
                yield base64.b64decode(part[: len(part) // 4 * 4])
                yield base64.b64decode(part + b"A" * (-len(part) % 4))


def character(match):
    return chr(int(match[1], 16)).encode("utf-8", "surrogatepass")


def parsed(data):
    """Yield what a text is as JSON or YAML, where it is that and no plain text."""
    text = data.decode("utf-8", "replace").strip()
    try:
        yield json.loads(text)
    except ValueError:
        if text.startswith("interactions:"):
            with suppress(yaml.YAMLError):
                yield yaml.load(text, Loader=yaml.CSafeLoader)


def leaves(value):
    if isinstance(value, str):
        yield value.encode("utf-8", "surrogatepass")
    elif isinstance(value, bytes):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key).encode()
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)


def assembled(events):
    """Yield what the strings of the same name are when put together, over a stream's events."""
    names = {}
    for event in events if isinstance(events, list) else ():
        collect(event, names)
    yield from (b"".join(pieces) for pieces in names.values() if len(pieces) > 1)


def collect(value, names, name=None):
    if isinstance(value, dict):
        for key, inner in value.items():
            collect(inner, names, key)
    elif isinstance(value, list):
        for inner in value:
            collect(inner, names, name)
    elif isinstance(value, str):
        names.setdefault(name, []).append(value.encode("utf-8", "surrogatepass"))


def places(data, secret):
    """Return how many of a file's decoded texts a secret is in."""
    return sum(secret.encode() in text for text in everything(data))
