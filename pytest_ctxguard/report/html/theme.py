"""What all charts have in common: colours by the name of a variable of the page, and type.

The page says what a variable is in light, in dark and on paper. Every fill stands with a dark
edge and dark text on it, so that no two need colour to be told apart; what is said by colour is
said by a word, a place or a shape, too. Vega must never shorten a text: it counts in halves of
characters, and its own measuring then refuses the half that is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
FONT = "Liberation Sans"  # carried by the library that measures the labels; as wide as Arial
LABEL = 12  # pixels
CHARACTER = 6.0  # pixels of a character at that size, on average
WIDTH = 560

PAPER, INK, QUIET, GRID, EDGE, ON_MARK = (
    "var(--paper)",
    "var(--ink)",
    "var(--quiet)",
    "var(--grid)",
    "var(--edge)",
    "var(--on-mark)",
)

_AXIS = {
    "labelColor": INK,
    "titleColor": INK,
    "gridColor": GRID,
    "domainColor": QUIET,
    "tickColor": QUIET,
    "labelFontSize": LABEL,
    "titleFontSize": LABEL,
    "titleFontWeight": "normal",
    "labelLimit": 0,
    "titlePadding": 8,
}
CONFIG: Mapping[str, Any] = {
    "font": FONT,
    "background": None,
    "view": {"stroke": None},
    "axis": _AXIS,
    "header": {"labelColor": INK, "labelFontSize": LABEL, "titleColor": INK, "labelLimit": 0},
    "legend": {
        "orient": "top",
        "title": None,
        "labelColor": INK,
        "labelFontSize": LABEL,
        "labelLimit": 0,
        "symbolType": "square",
        "symbolStrokeColor": EDGE,
        "symbolSize": 140,
    },
}


def fill(name: str) -> str:
    """Return the colour of an outcome, a bucket or a part of a prefix."""
    return f"var(--{name.replace(' ', '-')})"


def colours(names: tuple[str, ...]) -> dict[str, Any]:
    """Return the scale that gives each name its colour, in this order."""
    return {"domain": list(names), "range": [fill(name) for name in names]}
