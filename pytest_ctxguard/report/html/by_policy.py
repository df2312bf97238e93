"""The policies of a transcript beside each other: cost against recall, outcomes, facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pytest_ctxguard.report.html.chart import Cell, Chart, Table
from pytest_ctxguard.report.html.labels import Dot, placed
from pytest_ctxguard.report.html.measured import Measured
from pytest_ctxguard.report.html.outcomes import outcome_chart
from pytest_ctxguard.report.html.theme import INK, LABEL, PAPER, QUIET, WIDTH, fill

HEIGHT = 240
MARGIN = 70  # pixels that a name may reach past the chart
Asked = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One policy's cost and recall.

    Attributes:
        name: the policy.
        billed: input tokens over all calls.
        reached: wordings answered, or facts carried.
        of: how many there are.
    """

    name: str
    billed: int
    reached: int
    of: int


def policy_charts(rows: Sequence[Measured]) -> Iterator[Chart]:
    """Yield the charts of one transcript's policies: cost against recall, then outcomes."""

    def asked(row: Measured) -> Asked:
        return row.asked

    for facts, group in groupby(sorted(rows, key=asked), key=asked):
        told = tuple(group)
        if len(told) > 1 and any(asked_for for _, asked_for in facts):
            yield scatter(
                tuple(map(_answered, told)),
                title=f"Cost against answers: {', '.join(name for name, _ in facts)}",
                reached="wordings answered",
            )
    if len(rows) > 1 and rows[0].figures.facts and not all(row.asked for row in rows):
        points = tuple(map(_carried, rows))
        yield scatter(points, title="Cost against carried facts", reached="facts carried")
    bars = [
        (f"{fact.name}: {row.name}", fact.outcomes)
        for place in range(len(rows[0].figures.facts))
        for row in rows
        for fact in row.figures.facts[place : place + 1]
        if fact.outcomes
    ]
    if bars:
        yield outcome_chart(bars, title="Outcomes by fact and policy", unit="wordings")


def matrix(rows: Sequence[Measured]) -> Table:
    """Return what each policy costs, and carries and answers of each fact."""
    names = tuple(dict.fromkeys(fact.name for row in rows for fact in row.figures.facts))
    return Table(
        caption="Tokens; facts carried and answered" if names else "Tokens",
        head=("policy", "calls", "billed", "last request", *names),
        rows=tuple(
            (
                row.name,
                f"{row.figures.calls:,}",
                f"{row.figures.billed:,}",
                f"{row.figures.final:,}",
                *(_cell(row, name) for name in names),
            )
            for row in rows
        ),
    )


def _cell(row: Measured, name: str) -> Cell:
    fact = next((fact for fact in row.figures.facts if fact.name == name), None)
    if fact is None:
        return Cell(text="", kind="")
    text = f"carried {fact.carried}/{fact.of}"
    if fact.sources:
        text += f" ({', '.join(fact.sources)})"
    reached, of = fact.carried, fact.of
    if fact.answered is not None:
        text += f"; answered {fact.answered}/{fact.asked}"
        reached, of = fact.answered, fact.asked
    kind = "all" if reached == of else "some" if reached else "none"
    return Cell(text=text, kind=kind if of else "")


def _answered(row: Measured) -> Point:
    facts = [fact for fact in row.figures.facts if fact.answered is not None]
    return Point(
        name=row.name,
        billed=row.figures.billed,
        reached=sum(fact.answered or 0 for fact in facts),
        of=sum(fact.asked for fact in facts),
    )


def _carried(row: Measured) -> Point:
    facts = row.figures.facts
    kept = sum(0 < fact.of == fact.carried for fact in facts)
    return Point(name=row.name, billed=row.figures.billed, reached=kept, of=len(facts))


def frontier(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the points that none beats: no other has at least as much for less, or more for it.

    Sorted by cost; points that are equal in both are all there.
    """
    found: list[Point] = []
    for point in sorted(points, key=lambda each: (each.billed, -each.reached, each.name)):
        last = found[-1] if found else None
        if last is None or point.reached > last.reached or _equal(point, last):
            found.append(point)
    return tuple(found)


def _equal(one: Point, other: Point) -> bool:
    return (one.billed, one.reached) == (other.billed, other.reached)


def scatter(points: Sequence[Point], *, title: str, reached: str) -> Chart:
    """Return cost against recall, with the frontier.

    Args:
        points: all out of the same number.
        title: the chart's.
        reached: what is counted.
    """
    best = frontier(points)
    widest, of = max(point.billed for point in points) or 1, max(point.of for point in points)
    rows = [
        {
            "billed": point.billed,
            "reached": point.reached,
            "place": "on the frontier" if point in best else "beaten by another",
            "says": f"{point.name}: {point.billed:,} tokens billed, {point.reached} of {point.of} "
            f"{reached}" + (", on the frontier" if point in best else ""),
        }
        for point in points
    ]
    x: dict[str, Any] = {
        "field": "billed",
        "type": "quantitative",
        "title": "tokens billed over all calls",
        "scale": {"domain": [0, widest * 1.05], "nice": False},
        "axis": {"format": ",d", "tickCount": 5},
    }
    y: dict[str, Any] = {
        "field": "reached",
        "type": "quantitative",
        "title": f"{reached} (of {of})",
        "scale": {"domain": [0, of * 1.08], "nice": False},
        "axis": {"tickMinStep": 1, "format": "d", "tickCount": 6},
    }
    places = {"domain": ["on the frontier", "beaten by another"]}
    shapes = places | {"range": ["diamond", "circle"]}
    fills = places | {"range": [fill("frontier"), fill("beaten")]}
    steps = [{"billed": point.billed, "reached": point.reached} for point in best]
    return Chart(
        title=title,
        says="Cheaper is further left, better is higher. Diamonds, joined by the line: no other "
        "policy is as good for less.",
        spec={
            "width": WIDTH,
            "height": HEIGHT,
            "data": {"values": rows},
            "layer": [
                {
                    "data": {"values": steps},
                    "mark": {
                        "type": "line",
                        "interpolate": "step-after",
                        "color": QUIET,
                        "strokeDash": [5, 3],
                        "aria": False,
                    },
                    "encoding": {"x": x, "y": y},
                },
                {
                    "mark": {"type": "point", "size": 130, "opacity": 1, "stroke": INK},
                    "encoding": {
                        "x": x,
                        "y": y,
                        "shape": {"field": "place", "type": "nominal", "scale": shapes},
                        "fill": {"field": "place", "type": "nominal", "scale": fills},
                        "description": {"field": "says"},
                    },
                },
                *_labels(points, x=x, y=y, right=widest * 1.05, top=of * 1.08),
            ],
        },
        table=Table(
            caption=title,
            head=("policy", "tokens billed", reached, "of", "frontier"),
            rows=tuple(
                (
                    point.name,
                    f"{point.billed:,}",
                    f"{point.reached}",
                    f"{point.of}",
                    "yes" if point in best else "",
                )
                for point in points
            ),
        ),
    )


def _labels(
    points: Sequence[Point],
    *,
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    right: float,
    top: float,
) -> Iterator[dict[str, Any]]:
    """Yield the names of the points, to either side of them and beside each other."""
    dots = [
        Dot(
            text=point.name,
            x=point.billed / right * WIDTH,
            y=HEIGHT - point.reached / top * HEIGHT,
        )
        for point in points
    ]
    labels = placed(dots, width=WIDTH + MARGIN, height=HEIGHT)
    for align in ("left", "right"):
        values = [
            {
                "billed": label.x / WIDTH * right,
                "reached": (HEIGHT - label.y) / HEIGHT * top,
                "name": label.text,
            }
            for label in labels
            if label.align == align
        ]
        if values:
            yield {
                "data": {"values": values},
                "mark": {
                    "type": "text",
                    "align": align,
                    "baseline": "middle",
                    "fontSize": LABEL,
                    "color": INK,
                    "stroke": PAPER,  # around the letters, over which lines would run
                    "strokeWidth": 3,
                    "aria": False,
                },
                "encoding": {"x": x, "y": y, "text": {"field": "name", "type": "nominal"}},
            }
