"""The texts of a cassette's file as they are after it is parsed, each with its place."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text or bytes.

    Attributes:
        path: keys and indices that lead to it.
        line: where it begins, from 1; ``None``: not known.
        value: what it is, decoded.
    """

    path: Path
    line: int | None
    value: str | bytes

    @property
    def place(self) -> str:
        """The path, as it is written: ``interactions[0].request.uri``."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return "".join(steps).removeprefix(".")


def leaves(data: bytes) -> Iterator[Leaf]:
    """Yield every text of a file of JSON or YAML, names of keys too; of another file none.

    YAML is composed only, so that no tag in it makes anything.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return
    try:
        yield from _json_leaves(json.loads(text))
    except (ValueError, RecursionError):
        try:
            node = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except (yaml.YAMLError, RecursionError):
            return
        if node is not None:
            yield from _yaml_leaves(node)


def _json_leaves(root: Any) -> Iterator[Leaf]:
    stack: list[tuple[Path, Any]] = [((), root)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str):
            yield Leaf(path, None, value)
        elif isinstance(value, dict):
            yield from (Leaf(path, None, key) for key in value)
            stack += (((*path, key), inner) for key, inner in reversed(value.items()))
        elif isinstance(value, list):
            numbered = list(enumerate(value))
            stack += (((*path, number), inner) for number, inner in reversed(numbered))


def _yaml_leaves(root: yaml.Node) -> Iterator[Leaf]:
    stack: list[tuple[Path, yaml.Node]] = [((), root)]
    seen: set[int] = set()  # an anchor's node is one node, however often it is named
    while stack:
        path, node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield Leaf(path, node.start_mark.line + 1, _scalar(node))
        elif isinstance(node, yaml.MappingNode):
            for key, value in reversed(node.value):
                name = key.value if isinstance(key, yaml.ScalarNode) else "?"
                stack += [((*path, name), value), (path, key)]
        elif isinstance(node, yaml.SequenceNode):
            numbered = list(enumerate(node.value))
            stack += (((*path, number), inner) for number, inner in reversed(numbered))


def _scalar(node: yaml.ScalarNode) -> str | bytes:
    if node.tag.endswith(":binary"):
        try:
            return base64.b64decode(node.value)
        except ValueError:
            return str(node.value)
    return str(node.value)
