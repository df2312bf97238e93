"""Stacked bars of what came of questions: one bar per fact and policy, or per cell of a recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_ctxguard.recall.outcomes import OUTCOMES
from pytest_ctxguard.report.html.chart import Chart, Table, cut, unique
from pytest_ctxguard.report.html.theme import CHARACTER, EDGE, LABEL, ON_MARK, WIDTH, colours

LONGEST = 44  # characters of a bar's name

Bar = tuple[str, Mapping[str, int]]
"""What was asked, and outcome -> how often."""


def outcome_chart(bars: Sequence[Bar], *, title: str, unit: str) -> Chart:
    """Return a chart of outcomes.

    Args:
        bars: in the order in which they stand.
        title: the chart's.
        unit: what is counted.
    """
    names = unique(tuple(cut(name, longest=LONGEST) for name, _ in bars))
    longest = max(1, *(sum(outcomes.values()) for _, outcomes in bars))
    rows = []
    for name, (told, outcomes) in zip(names, bars, strict=True):
        begin, total = 0, sum(outcomes.values())
        for outcome in OUTCOMES:
            if count := outcomes.get(outcome, 0):
                rows.append(
                    {
                        "bar": name,
                        "outcome": outcome,
                        "begin": begin,
                        "end": begin + count,
                        "middle": begin + count / 2,
                        "text": _label(outcome, count, room=WIDTH * count / longest),
                        "says": f"{told}: {outcome}, {count} of {total}",
                    }
                )
                begin += count
    seen = tuple(o for o in OUTCOMES if any(outcomes.get(o) for _, outcomes in bars))
    axis = {"title": None, "labelPadding": 6, "ticks": False, "domain": False}
    place = {"field": "bar", "type": "nominal", "sort": None, "axis": axis}
    return Chart(
        title=title,
        says=f"Each bar is all {unit}; its parts say what came of them.",
        spec={
            "width": WIDTH,
            "height": {"step": 28},
            "data": {"values": rows},
            "encoding": {"y": place},
            "layer": [
                {
                    "mark": {"type": "bar", "stroke": EDGE, "strokeWidth": 1},
                    "encoding": {
                        "x": {
                            "field": "begin",
                            "type": "quantitative",
                            "title": unit,
                            "scale": {"domain": [0, longest], "nice": False},
                            "axis": {"tickMinStep": 1, "format": "d"},
                        },
                        "x2": {"field": "end"},
                        "color": {"field": "outcome", "type": "nominal", "scale": colours(seen)},
                        "description": {"field": "says"},
                    },
                },
                {
                    "mark": {"type": "text", "color": ON_MARK, "fontSize": LABEL, "aria": False},
                    "encoding": {
                        "x": {"field": "middle", "type": "quantitative"},
                        "text": {"field": "text", "type": "nominal"},
                    },
                },
            ],
        },
        table=Table(
            caption=title,
            head=("", *seen, "all"),
            rows=tuple(
                (
                    name,
                    *(f"{outcomes.get(o, 0):,}" for o in seen),
                    f"{sum(outcomes.values()):,}",
                )
                for name, outcomes in bars
            ),
        ),
    )


def _label(outcome: str, count: int, *, room: float) -> str:
    """Return as much of a part's name as its width holds."""
    for text in (f"{outcome} {count}", f"{count}"):
        if len(text) * CHARACTER + 6 <= room:
            return text
    return ""
