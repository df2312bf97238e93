"""Where in a JSON text a key stands: the parser tells it only of a text it cannot parse."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?P<key>\s*:)?|[{}]')
CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: |$)", re.MULTILINE)


class Places:
    """The lines of a JSON text's keys.

    Attributes:
        twice: the first key that stands twice in one object, and its second line.
    """

    def __init__(self, text: str) -> None:
        self.twice: tuple[str, int] | None = None
        self._lines: dict[tuple[str, ...], int] = {}
        path: list[str] = []
        objects: list[set[str]] = []
        for token in TOKEN.finditer(text):
            if token[0] == "{":
                objects.append(set())
                path.append("")
            elif token[0] == "}":
                objects.pop()
                path.pop()
            elif token["key"] is not None:
                key = json.loads(token[0][: -len(token["key"])])
                line = text.count("\n", 0, token.start()) + 1
                if key in objects[-1] and self.twice is None:
                    self.twice = key, line
                objects[-1].add(key)
                path[-1] = key
                self._lines.setdefault(tuple(path), line)

    def line(self, keys: Sequence[str]) -> int | None:
        """Return the line of a key, named from the outermost in; ``None``: there is none."""
        return self._lines.get(tuple(keys))


def find_conflict(text: str) -> int | None:
    """Return the line of the first mark that a merge conflict has left; ``None``: there is none."""
    found = CONFLICT.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else None
