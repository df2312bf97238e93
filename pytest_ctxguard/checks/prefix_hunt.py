"""``prefix_hunt``: a request's prefix does not depend on the clock, a hash seed or an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.checks.finding import Finding, render
from pytest_ctxguard.errors import ContextGateFailure
from pytest_ctxguard.prefix.hunting import Builder, Moved, hunt
from pytest_ctxguard.transcript.messages import Message

WAYS = {
    "again": "built again",
    "hash seed": "built with another PYTHONHASHSEED",
    "tool order": "built with its tools registered in another order",
    "reload": "built of its history saved as JSON and read again",
}


def prefix_hunt(
    builder: Builder,
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    history: Sequence[Message] | None = None,
    leave_out: Sequence[str] = (),
) -> None:
    """Build one request in several ways that should make no difference, and fail where they do.

    The ways and arguments are those of :func:`pytest_ctxguard.prefix.hunting.hunt`.

    Raises:
        ContextGateFailure: something moved; a finding for each way, with its place and texts.
        UsageError: the builder returns no request, or an argument is wrong.
    """
    __tracebackhide__ = True
    name = getattr(builder, "__qualname__", type(builder).__name__)
    moved = hunt(builder, tools=tools, history=history, leave_out=leave_out)
    if moved:
        findings = [_finding(name, each) for each in moved]
        raise ContextGateFailure(f"prefix_hunt: {findings[0].what}\n\n{render(findings)}")


def _finding(name: str, moved: Moved) -> Finding:
    change = moved.change
    way = WAYS.get(moved.variation, f"built a {moved.variation} later")
    if moved.variation == "midnight":
        way = "built a day later"
    where = change.where or f"its end ({change.kind})"
    texts = f"{change.before!r} became {change.after!r}" if change.where else change.kind
    return Finding(
        rule=f"prefix_hunt.{moved.variation.replace(' ', '-')}",
        what=f"the request is another one when {way}" + (f": {change.why}" if change.why else ""),
        where=f"builder {name}, {where}",
        measured=texts,
        allowed="the same bytes",
        why="all that stands behind it is sent as new, and no cache is read",
        remedy="put what changes at the end of the request, fix its order, or say that it may: "
        f"leave_out=[{moved.variation!r}]",
    )
