"""What a test promises: its ctx marks, read and checked before it runs."""

from __future__ import annotations

import re

import pytest

from pytest_ctxguard.checks.catalogue import CHECKS, RECALL_CHECKS
from pytest_ctxguard.checks.needle_recall import NeedleRecall
from pytest_ctxguard.checks.promise import Promise, make_promises
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.names import MARKER_NAMES


def read_promises(item: pytest.Item) -> tuple[Promise | NeedleRecall, ...]:
    """Return a test's promises, about replays and about recalls.

    The closest mark wins per marker and subject, others stack.

    Raises:
        UsageError: a mark is misspelt, or has an unknown, missing or impossible argument.
    """
    checks = {**CHECKS, **RECALL_CHECKS}
    found: dict[tuple[str, str], Promise | NeedleRecall] = {}
    for mark in item.iter_markers():
        if not mark.name.startswith("ctx_"):
            continue
        if mark.name not in MARKER_NAMES:
            raise UsageError(
                f"no marker is named {mark.name!r}; there are: {', '.join(MARKER_NAMES)}"
            )
        if mark.name in checks:
            for promise in make_promises(checks[mark.name], mark.args, mark.kwargs):
                found.setdefault((promise.marker, promise.subject), promise)
    return tuple(found[key] for key in sorted(found))


def transcript_patterns(item: pytest.Item) -> tuple[str, ...]:
    """Return the patterns of a test's closest ``ctx_transcripts`` mark; none without a mark.

    Raises:
        UsageError: the mark names no pattern, or something that is none.
    """
    mark = item.get_closest_marker("ctx_transcripts")
    if mark is None:
        return ()
    if not mark.args or mark.kwargs or not all(isinstance(name, str) for name in mark.args):
        raise UsageError(
            "ctx_transcripts takes names or patterns of transcripts, one or more, as text. "
            'Usage: ctx_transcripts("incident-40", "chat-*")'
        )
    return mark.args


def positional_parts(item: pytest.Item) -> tuple[str, ...]:
    """Return the parts of a test's id that only count positions: ``policy0``, ``<lambda>1``.

    pytest makes them for parameters without a name of their own. Reordering the parameters
    would swap the baseline's entries in silence.
    """
    spec = getattr(item, "callspec", None)
    if spec is None:
        return ()
    parts = spec.id.split("-")
    numbered = (f"{name}{index}" for name, index in spec.indices.items())
    plain = (str, int, float, bool, complex, type(None))
    nameless = {
        part
        for part, value in zip(numbered, spec.params.values(), strict=True)
        if not isinstance(value, plain)
    }
    return tuple(part for part in parts if part in nameless or re.fullmatch(r"<lambda>_?\d+", part))
