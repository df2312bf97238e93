"""What a test promises: its ctx marks, read and checked before it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Generic, TypeVar

import pytest

from pytest_ctxguard.checks.catalogue import CHECKS, RECALL_CHECKS
from pytest_ctxguard.checks.needle_recall import NeedleRecall
from pytest_ctxguard.checks.promise import Marked, Promise, describe, make_promises
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.further import FURTHER
from pytest_ctxguard.plugin.names import MARKER_NAMES

Kept = TypeVar("Kept", bound=Marked)
NEAR = 0.85  # difflib's ratio: a letter or two are wrong


def read_promises(item: pytest.Item) -> tuple[Promise | NeedleRecall, ...]:
    """Return a test's promises, about replays and about recalls.

    The closest mark wins per marker and subject, others stack.

    Raises:
        UsageError: a mark is misspelt, has an unknown, missing or impossible argument, or
            contradicts another in the same place.
    """
    further = item.config.stash.get(FURTHER, {})
    checks = {**CHECKS, **RECALL_CHECKS, **further}
    known = (*MARKER_NAMES, *further)
    found = Closest[Promise | NeedleRecall]()
    for node, mark in item.iter_markers_with_node():
        if not mark.name.startswith("ctx_"):
            continue
        if mark.name not in known:
            raise UsageError(f"no marker is named {mark.name!r}; there are: {', '.join(known)}")
        if mark.name in checks:
            for promise in make_promises(checks[mark.name], mark.args, mark.kwargs):
                found.add(promise, node)
    return tuple(sorted(found, key=lambda promise: (promise.marker, promise.subject)))


class Closest(Generic[Kept]):
    """The promises of a test, for each marker and subject the one of the closest mark."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[Kept, object]] = {}

    def __iter__(self) -> Iterator[Kept]:
        return (promise for promise, _ in self._found.values())

    def add(self, promise: Kept, place: object) -> None:
        """Add a promise; the closer it is to the test, the earlier.

        Raises:
            UsageError: another of the same place contradicts it.
        """
        key = promise.marker, promise.subject
        closest, its_place = self._found.setdefault(key, (promise, place))
        if its_place is place and closest != promise:
            raise UsageError(
                f"{describe(promise)} is promised twice in one place, and differently: {closest} "
                f"and {promise}. Which of them counts is not said; take one away, or give each a "
                "test of its own."
            )


def refuse_misspelt(item: pytest.Item) -> None:
    """Refuse a mark that nobody registered, and that is nearly one of ours.

    Without ``--strict-markers`` pytest only warns, and what the mark promises is not checked.

    Raises:
        UsageError: so.
    """
    known = (*MARKER_NAMES, *item.config.stash.get(FURTHER, {}))
    registered = {re.split(r"[(:]", line)[0].strip() for line in item.config.getini("markers")}
    names = {mark.name for mark in item.iter_markers() if not mark.name.startswith("ctx_")}
    for name in names - registered:
        if near := get_close_matches(name, known, n=1, cutoff=NEAR):
            raise UsageError(
                f"no marker is named {name!r}; did you mean {near[0]}? With --strict-markers "
                "pytest refuses every name that is not registered"
            )


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
