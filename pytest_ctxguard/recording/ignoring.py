"""Fields of a JSON body that change in every run, and are left out when requests are compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pytest_ctxguard.errors import UsageError

Field = tuple[str, ...]
IGNORED = "(ignored)"
INDEX = re.compile(r"\[(\d+|\*)\]")


def read_fields(paths: Iterable[object]) -> tuple[Field, ...]:
    """Return paths as steps: ``metadata.request_id``, ``messages.*.id`` or ``messages[0].id``.

    ``*`` stands for every key or index.

    Raises:
        UsageError: one of them is no path.
    """
    return tuple(map(_read_field, paths))


def _read_field(path: object) -> Field:
    steps = INDEX.sub(r".\1", path).split(".") if isinstance(path, str) else []
    if not steps or not all(steps) or set(steps) == {"*"}:
        raise UsageError(
            f"{path!r} names no field of a JSON body. Write keys, indices and * with dots between "
            "them, such as metadata.request_id or messages.*.id"
        )
    return tuple(steps)


def without(value: Any, fields: Sequence[Field]) -> Any:
    """Return JSON without the fields; in a list their place stays, so that no index moves."""
    if not fields:
        return value
    if isinstance(value, dict):
        below = {key: _below(fields, key) for key in value}
        return {key: without(row, below[key]) for key, row in value.items() if () not in below[key]}
    if isinstance(value, list):
        rows = [(row, _below(fields, str(index))) for index, row in enumerate(value)]
        return [IGNORED if () in below else without(row, below) for row, below in rows]
    return value


def _below(fields: Sequence[Field], name: str) -> list[Field]:
    return [field[1:] for field in fields if field and field[0] in ("*", name)]
