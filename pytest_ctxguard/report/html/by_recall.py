"""Recall by depth, or by length, with the Wilson band of each cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_ctxguard.report.figures import CellFigures, RecallFigures
from pytest_ctxguard.report.html.chart import Chart, Table, cut, unique
from pytest_ctxguard.report.html.outcomes import outcome_chart
from pytest_ctxguard.report.html.theme import INK, WIDTH, fill
from pytest_ctxguard.report.tables.recall import hits_text, interval_text

LONGEST = 22  # characters of a cell's name
RATE = {
    "type": "quantitative",
    "scale": {"domain": [0, 1]},
    "axis": {"format": ".0%", "tickCount": 5},
    "title": "answered",
}


def recall_charts(recall: RecallFigures) -> Iterator[Chart]:
    """Yield the charts of a recall: its rates, and what came of its trials.

    Of no trial, there is nothing to draw.
    """
    cells = tuple(cell for cell in recall.cells if cell.of)
    if cells:
        yield _rates(cells)
        bars = [(cell.title or cell.name or "all trials", cell.outcomes) for cell in cells]
        yield outcome_chart(bars, title="Outcomes", unit="trials")


def _rates(cells: Sequence[CellFigures]) -> Chart:
    names = unique(tuple(cut(cell.title, longest=LONGEST) for cell in cells))
    rows = [_row(name, cell) for name, cell in zip(names, cells, strict=True)]
    lengths = {cell.records for cell in cells}
    depths = {cell.depth for cell in cells}
    if None not in depths and len(depths) > 1:
        by, x = "depth", _axis("depth", "depth of the needle: 0 first, 1 last")
        x |= {"type": "quantitative", "scale": {"domain": [0, 1]}}
    elif None not in lengths and len(lengths) > 1:
        by, x = "length", _axis("records", "records") | {"type": "ordinal"}
    else:
        by, x = "cell", _axis("cell", None) | {"type": "nominal", "sort": None}
    panels = by == "depth" and len(lengths) > 1
    spec: dict[str, Any] = {"layer": _layers(x, band=by != "cell")}
    size = {"width": 230 if panels else WIDTH if by != "cell" else {"step": 150}, "height": 180}
    if panels:
        order = list(dict.fromkeys(row["panel"] for row in rows))
        facet = {"field": "panel", "type": "nominal", "sort": order, "title": None}
        spec = {"facet": facet, "columns": 2, "spec": spec | size}
    else:
        spec |= size
    return Chart(
        title=f"Recall by {by}",
        says="Points: trials answered. Lines and band: the Wilson interval at 95 %, in which the "
        "rate of the population may lie.",
        spec={**spec, "data": {"values": rows}},
        table=Table(
            caption=f"Recall by {by}",
            head=("", "answered", "interval", "carried", "tokens of a request"),
            rows=tuple(
                (
                    cell.title,
                    hits_text(cell),
                    interval_text(cell),
                    f"{cell.carried}",
                    f"{cell.tokens:,}",
                )
                for cell in cells
            ),
        ),
    )


def _row(name: str, cell: CellFigures) -> dict[str, Any]:
    return {
        "cell": name,
        "panel": f"{cell.records} records",
        "records": cell.records,
        "depth": cell.depth,
        "rate": cell.hits / cell.of,
        "low": cell.low,
        "high": cell.high,
        "says": f"{cell.title}: {hits_text(cell)} answered, {interval_text(cell)}",
    }


def _axis(field: str, title: str | None) -> dict[str, Any]:
    return {"field": field, "axis": {"title": title, "labelAngle": 0}}


def _layers(x: dict[str, Any], *, band: bool) -> list[dict[str, Any]]:
    low, high = {"field": "low", **RATE}, {"field": "high"}
    quiet = {"aria": False}
    between = {"x": x, "y": low, "y2": high}
    rate = {"x": x, "y": {"field": "rate", **RATE}}
    drawn: list[dict[str, Any]] = [
        {"mark": {"type": "rule", "color": INK, **quiet}, "encoding": between},
        {
            "mark": {"type": "point", "filled": True, "size": 70, "color": INK, "opacity": 1},
            "encoding": rate | {"description": {"field": "says"}},
        },
    ]
    if band:
        line = {"type": "line", "color": INK, "strokeWidth": 1.5, **quiet}
        area = {"type": "area", "color": fill("band"), "opacity": 0.6, **quiet}
        drawn = [{"mark": area, "encoding": between}, {"mark": line, "encoding": rate}, *drawn]
    return drawn
