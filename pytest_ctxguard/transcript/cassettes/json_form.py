"""Read a cassette that vcrpy's JSON serializer wrote."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from pytest_ctxguard.transcript.document import Document

OBJECT = re.compile(r"^([ \t]*)\{[ \t]*$", re.MULTILINE)


def parse(document: Document) -> tuple[Any, tuple[int, ...]]:
    """Return a JSON file's value, and the line of each item of its list ``interactions``.

    The lines are known where the file is indented, as vcrpy indents it.

    Raises:
        TranscriptError: it is not JSON, or an object has a key twice.
    """
    try:
        value = json.loads(document.text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        what = f"not JSON ({error}). The file may be truncated."
        raise document.fail(what, error.lineno) from error
    except RecursionError as error:
        raise document.fail("nested too deep") from error
    except ValueError as error:
        raise document.fail(f"{error}. Mend it, or record it again.") from error
    items = value.get("interactions") if isinstance(value, dict) else None
    return value, _lines(document.text, len(items)) if isinstance(items, list) else ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(k for k, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise ValueError(f"a second {twice!r} in one object")
    return found


def _lines(text: str, count: int) -> tuple[int, ...]:
    """Return the lines of the outermost objects that begin a line, if there are so many."""
    begins = [m for m in OBJECT.finditer(text) if m.start() > 0]
    outermost = min((m[1] for m in begins), key=len, default="")
    lines = []
    line, at = 1, 0
    for match in begins:
        if match[1] == outermost:
            line, at = line + text.count("\n", at, match.start()), match.start()
            lines.append(line)
    return tuple(lines) if len(lines) == count else ()
