"""Each call of a replay: where its tokens go, and how much of the request before it is reused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_ctxguard.report.figures import CallFigures, ReplayFigures
from pytest_ctxguard.report.html.chart import Chart, Parting, Table
from pytest_ctxguard.report.html.theme import EDGE, INK, WIDTH, colours

BUCKETS = ("system", "tools", "tool results", "conversation")
PARTS = ("reused", "new", "new after a break")
DRAWN = 60  # calls from either end
STEP = 7  # pixels that a bar has at least

Part = tuple[str, int]


def call_charts(replay: ReplayFigures, *, anchor: str) -> Iterator[Chart]:
    """Yield the charts of a replay's calls.

    Args:
        replay: its figures; without its calls, nothing is yielded.
        anchor: what the places that marks lead to begin with.
    """
    calls = replay.by_call
    if not calls:
        return
    left_out = ""
    if len(calls) > 2 * DRAWN:
        first, last = calls[DRAWN].call, calls[-DRAWN - 1].call
        left_out = f"Calls {first} to {last} are left out here; a JSON report has them."
        calls = (*calls[:DRAWN], *calls[-DRAWN:])
    yield _buckets(calls, left_out=left_out)
    yield _prefix(calls, anchor=anchor, left_out=left_out)


def _buckets(calls: Sequence[CallFigures], *, left_out: str) -> Chart:
    parts = [
        tuple(
            zip(
                BUCKETS,
                (call.system, call.tools, call.tool_results, call.conversation),
                strict=True,
            )
        )
        for call in calls
    ]
    title = "Buckets by call"
    return Chart(
        title=title,
        says="Tokens of each request: system at the bottom, conversation on top.",
        spec=_stacks(calls, parts, names=BUCKETS, height=220),
        table=Table(
            caption=title,
            head=("call", "turn", *BUCKETS, "all"),
            rows=tuple(
                (
                    f"{call.call}",
                    f"{call.turn}",
                    *(f"{tokens:,}" for _, tokens in each),
                    f"{call.tokens:,}",
                )
                for call, each in zip(calls, parts, strict=True)
            ),
        ),
        left_out=left_out,
    )


def _prefix(calls: Sequence[CallFigures], *, anchor: str, left_out: str) -> Chart:
    parts = [_prefix_parts(call) for call in calls]
    partings = tuple(
        Parting(anchor=f"{anchor}-call-{c.call}", call=c.call, kind=c.kind, broken=c.broken)
        for c in calls
        if c.broken is not None
    )
    tokens = {call.call: call.tokens for call in calls}
    spec = _stacks(calls, parts, names=PARTS, height=130)
    marks = [
        {
            "call": parting.call,
            "y": tokens[parting.call],
            "says": f"call {parting.call}: {parting.kind}, {parting.broken.where}",
            "to": f"#{parting.anchor}",
        }
        for parting in partings
    ]
    if marks:
        spec["layer"].append(
            {
                "data": {"values": marks},
                "mark": {
                    "type": "point",
                    "shape": "M-.6,-.6L.6,.6M-.6,.6L.6,-.6",
                    "size": 90,
                    "strokeWidth": 2,
                    "color": INK,
                    "opacity": 1,
                    "yOffset": -8,
                },
                "encoding": {
                    "y": {"field": "y", "type": "quantitative"},
                    "href": {"field": "to"},
                    "description": {"field": "says"},
                },
            }
        )
    title = "Prefix by call"
    return Chart(
        title=title,
        says="Tokens of each request that the one before begins with, too (reused), and the rest. "
        "A cross: the request does not begin with all of the one before; follow it, or point at "
        "it, for the first text that differs.",
        spec=spec,
        table=Table(
            caption=title,
            head=("call", "turn", "against the one before", "reused", "new", "all"),
            rows=tuple(
                (
                    f"{call.call}",
                    f"{call.turn}",
                    call.kind,
                    f"{call.reused:,}",
                    f"{call.tokens - call.reused:,}",
                    f"{call.tokens:,}",
                )
                for call in calls
            ),
        ),
        partings=partings,
        left_out=left_out,
    )


def _prefix_parts(call: CallFigures) -> tuple[Part, ...]:
    return (
        ("reused", call.reused),
        ("new" if call.broken is None else "new after a break", call.tokens - call.reused),
    )


def _stacks(
    calls: Sequence[CallFigures],
    parts: Sequence[Sequence[Part]],
    *,
    names: tuple[str, ...],
    height: int,
) -> dict[str, Any]:
    rows = []
    for call, each in zip(calls, parts, strict=True):
        begin = 0
        for name, tokens in each:
            if tokens:
                rows.append(
                    {
                        "call": call.call,
                        "part": name,
                        "begin": begin,
                        "end": begin + tokens,
                        "says": f"call {call.call}, turn {call.turn}: {name}, {tokens:,} of "
                        f"{call.tokens:,} tokens",
                    }
                )
                begin += tokens
    seen = tuple(name for name in names if any(row["part"] == name for row in rows))
    every = max(1, len(calls) // 15)
    shown = [call.call for number, call in enumerate(calls) if number % every == 0]
    place = {
        "field": "call",
        "type": "ordinal",
        "sort": None,
        "axis": {"title": "call", "values": shown, "labelAngle": 0},
        "scale": {"paddingInner": 0.1, "domain": [call.call for call in calls]},
    }
    return {
        "width": max(WIDTH, STEP * len(calls)),
        "height": height,
        "data": {"values": rows},
        "encoding": {"x": place},
        "layer": [
            {
                "mark": {"type": "bar", "stroke": EDGE, "strokeWidth": 0.5},
                "encoding": {
                    "y": {
                        "field": "begin",
                        "type": "quantitative",
                        "title": "tokens",
                        "axis": {"format": ",d", "tickCount": 5},
                    },
                    "y2": {"field": "end"},
                    "color": {"field": "part", "type": "nominal", "scale": colours(seen)},
                    "description": {"field": "says"},
                },
            }
        ],
    }
