"""What an audit or a fit of estimators came to, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from pytest_ctxguard.report.printable import printable
from pytest_ctxguard.report.tables.small_table import small_table
from pytest_ctxguard.tokens.estimates.asking import shown
from pytest_ctxguard.tokens.estimates.audit import Audit, Comparison, Direction, Error
from pytest_ctxguard.tokens.estimates.fitting import Fit, Score

DIRECTIONS: tuple[Direction, ...] = ("under", "over")


def audit_json(audit: Audit) -> dict[str, Any]:
    """Return the documented keys."""
    return {
        "estimator": audit.estimator,
        "takes": audit.takes,
        "against": {each.against: _comparison_json(each) for each in audit.comparisons},
        "broken": [
            {"property": b.name, "where": b.where, "measured": b.measured, "allowed": b.allowed}
            for b in audit.broken
        ],
    }


def _comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "rows": [
            {
                "group": row.group,
                "name": row.name,
                "texts": len(row.errors),
                "measured": row.measured,
                "estimated": row.estimated,
                "under": round(row.under, 4),
                "over": round(row.over, 4),
            }
            for row in comparison.rows
        ],
        "worst": {direction: _worst_json(comparison, direction) for direction in DIRECTIONS},
        "raised": {e.sample.label: e.raised for e in comparison.errors if e.estimated is None},
    }


def _worst_json(comparison: Comparison, direction: Direction) -> dict[str, Any] | None:
    error = comparison.worst(direction)
    if not getattr(error, direction):
        return None
    example = comparison.example(direction, bound=getattr(error, direction) / 2)
    return {
        "text": error.sample.label,
        "measured": error.measured,
        "estimated": error.estimated,
        "share": round(getattr(error, direction), 4),
        "example": example
        and {
            "text": example.text,
            "measured": example.measured,
            "estimated": example.estimated,
        },
    }


def render_comparison(comparison: Comparison, *, title: str) -> Table:
    """Return an audit against one counter for a terminal: a row for each script and kind."""
    table = small_table(title, "script or kind")
    for head in ("texts", "tokens", "estimate", "worst under", "worst over"):
        table.add_column(head, justify="right")
    group = None
    for row in comparison.rows:
        if group not in (None, row.group):
            table.add_section()
        group = row.group
        table.add_row(
            escape(row.name),
            str(len(row.errors)),
            f"{row.measured:,}",
            f"{shown(row.estimated)}",
            _share(row.under),
            _share(row.over),
        )
    return table


def worst_lines(comparison: Comparison) -> list[Text]:
    """Return a line on the worst text each way, with a short example."""
    lines = []
    for direction in DIRECTIONS:
        error = comparison.worst(direction)
        share = float(getattr(error, direction))
        if not share:
            lines.append(Text(f"never {direction}"))
            continue
        example = comparison.example(direction, bound=share / 2)
        short = (
            f"; in short, {example.text!a}: {shown(example.estimated)} for {example.measured:,}"
            if example
            else ""
        )
        lines.append(Text(f"worst {direction}: {_told(error)}, {share:.0%}{short}"))
    return lines


def render_audit(audit: Audit) -> Iterator[Table | Text]:
    """Yield an audit for a terminal: each counter's rows and worst texts, then what is broken."""
    for comparison in audit.comparisons:
        yield render_comparison(comparison, title=f"{audit.estimator} against {comparison.against}")
        yield from worst_lines(comparison)
    for broken in audit.broken:
        yield Text(
            f"{broken.name} does not hold: {broken.where}: {printable(broken.measured)}; "
            f"{broken.allowed}"
        )


def render_fit(fit: Fit, *, against: str) -> Iterator[Table]:
    """Yield a fit for a terminal: the constants, and how they do."""
    yield render_constants(fit)
    yield render_scores(fit.whole, title=f"all texts, against {against}")
    yield render_scores(fit.held_out, title=f"halves that were held out, against {against}")


def fit_json(fit: Fit, *, against: str) -> dict[str, Any]:
    """Return the documented keys."""
    return {
        "against": against,
        "constants": dict(fit.constants),
        "whole": [_score_json(score) for score in fit.whole],
        "held_out": [_score_json(score) for score in fit.held_out],
    }


def _score_json(score: Score) -> dict[str, Any]:
    return {
        "estimator": score.name,
        "texts": score.texts,
        "low": score.low,
        "under": round(score.under, 4),
        "over": round(score.over, 4),
        "measured": score.measured,
        "estimated": score.estimated,
    }


def render_scores(scores: Sequence[Score], *, title: str) -> Table:
    """Return how estimators do on some texts, for a terminal."""
    table = small_table(title, "estimator")
    for head in ("texts", "estimated low", "worst under", "worst over", "of all tokens"):
        table.add_column(head, justify="right")
    for score in scores:
        table.add_row(
            score.name,
            str(score.texts),
            str(score.low),
            _share(score.under),
            _share(score.over),
            f"{score.estimated / score.measured:.0%}",
        )
    return table


def render_constants(fit: Fit) -> Table:
    """Return the constants for a terminal."""
    table = small_table(
        "tokens for each character; ASCII words count by letter and by word", "class"
    )
    table.add_column("tokens", justify="right")
    for name, value in fit.constants.items():
        table.add_row(name, f"{value:.3f}")
    return table


def _share(share: float) -> str:
    return f"{share:.0%}" if share else ""


def _told(error: Error) -> str:
    if error.estimated is None:
        return f"{error.sample.label} raised {printable(error.raised)}"
    return f"{error.sample.label}, {shown(error.estimated)} for {error.measured:,} tokens"
