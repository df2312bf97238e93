"""What a test promises: its ctx marks, read and checked before it runs."""

from __future__ import annotations

import pytest

from pytest_ctxguard.checks.catalogue import CHECKS
from pytest_ctxguard.checks.promise import Promise, make_promises
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.options import MARKER_NAMES


def read_promises(item: pytest.Item) -> tuple[Promise, ...]:
    """Return a test's promises; the closest mark wins per marker and subject, others stack.

    Raises:
        UsageError: a mark is misspelt, or has an unknown, missing or impossible argument.
    """
    found: dict[tuple[str, str], Promise] = {}
    for mark in item.iter_markers():
        if not mark.name.startswith("ctx_"):
            continue
        if mark.name not in MARKER_NAMES:
            raise UsageError(
                f"no marker is named {mark.name!r}; there are: {', '.join(MARKER_NAMES)}"
            )
        if mark.name in CHECKS:
            for promise in make_promises(CHECKS[mark.name], mark.args, mark.kwargs):
                found.setdefault((promise.marker, promise.subject), promise)
    return tuple(found[key] for key in sorted(found))


def describe(promise: Promise) -> str:
    """Return a promise's short name, as the report shows it."""
    name = promise.marker.removeprefix("ctx_")
    return f"{name}({promise.subject})" if promise.subject else name


def positional_parts(item: pytest.Item) -> tuple[str, ...]:
    """Return the parts of a test's id that only count positions, such as ``policy0``.

    pytest makes them for parameters without a name of their own. Reordering the parameters
    would swap the baseline's entries in silence.
    """
    spec = getattr(item, "callspec", None)
    if spec is None:
        return ()
    parts = set(spec.id.split("-"))
    numbered = (f"{name}{index}" for name, index in spec.indices.items())
    plain = (str, int, float, bool, complex, type(None))
    return tuple(
        part
        for part, value in zip(numbered, spec.params.values(), strict=True)
        if part in parts and not isinstance(value, plain)
    )
