"""Fit an estimator's constants to a counter, on the corpus."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.estimates.audit import over, under
from pytest_ctxguard.tokens.estimates.classes import class_counts, estimate_by
from pytest_ctxguard.tokens.estimates.references import Reference
from pytest_ctxguard.tokens.estimates.samples import samples
from pytest_ctxguard.tokens.estimators import by_script, chars_per_4

PIECES = 3  # that each text is cut into to fit it: its parts differ, and a bound holds for each
DECIMALS = 3
ROUNDS = 2000

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Score:
    """How an estimator does on some texts.

    Attributes:
        name: of the estimator.
        texts: how many texts.
        low: how many it underestimates.
        under: its worst undercount.
        over: its worst overcount.
        measured: tokens of all texts.
        estimated: its estimates of them.
    """

    name: str
    texts: int
    low: int
    under: float
    over: float
    measured: int
    estimated: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Constants, and what they come to.

    Attributes:
        constants: class of characters -> tokens for each; fitted on all texts.
        whole: on all texts: these constants, and the estimators they are to beat.
        held_out: the same on the half of every text (three of its sixths) that was held out,
            where the constants are fitted on the other half.
    """

    constants: Mapping[str, float]
    whole: tuple[Score, ...]
    held_out: tuple[Score, ...]

    def __call__(self, text: str) -> int:
        """Return the estimated tokens of a text."""
        return estimate_by(dict(self.constants), text)


def fit(
    reference: Reference,
    *,
    never_under: bool = False,
    margin: float = 0.0,
    scripts: Iterable[str] | None = None,
    kinds: Iterable[str] | None = None,
) -> Fit:
    """Fit a constant for each class of characters.

    With ``never_under`` they are those with the least overcounting of all that reach every
    text's tokens (a linear programme: the sum over the texts of estimate / tokens is least, no
    estimate is below its tokens). Without it they are nearest to the tokens either way (maximum
    likelihood of counts, each text weighing the same).

    Args:
        reference: what counts.
        never_under: whether no text may be underestimated.
        margin: share by which every estimate is to be above its tokens.
        scripts: names of the scripts to fit to; default: all. What is left out is estimated by
            the constants it shares with the rest, or by its bytes.
        kinds: names of the kinds of content; the same.

    Raises:
        UsageError: the margin is no share of 0 or more, or has no bound to widen; or an unknown
            name.
    """
    if not 0 <= margin < math.inf or (margin and not never_under):
        raise UsageError(f"margin={margin}: a share, 0 or more, of a fit that is never under")
    solve = partial(_constants, reference, never_under=never_under, margin=margin)
    texts = [sample.text for sample in samples(takes="text", scripts=scripts, kinds=kinds)]
    sixths = [_cut(text, 6) for text in texts]
    constants = solve(texts)
    half = solve(["".join(parts[::2]) for parts in sixths])
    held_out = ["".join(parts[1::2]) for parts in sixths]
    return Fit(
        constants,
        scores(reference, texts, constants=constants),
        scores(reference, held_out, constants=half),
    )


def scores(
    reference: Reference, texts: Sequence[str], *, constants: Mapping[str, float]
) -> tuple[Score, ...]:
    """Score constants, chars/4 and the estimate by script on some texts."""
    fitted: Callable[[str], int] = partial(estimate_by, dict(constants))
    rows = []
    counted = [reference.text(text) for text in texts]
    for name, estimate in (("fitted", fitted), ("by script", by_script), ("chars/4", chars_per_4)):
        pairs = [(tokens, estimate(text)) for tokens, text in zip(counted, texts, strict=True)]
        rows.append(
            Score(
                name,
                len(texts),
                sum(estimated < tokens for tokens, estimated in pairs),
                max(under(*pair) for pair in pairs),
                max(over(*pair) for pair in pairs),
                sum(counted),
                sum(estimated for _, estimated in pairs),
            )
        )
    return tuple(rows)


def _constants(
    reference: Reference, texts: Sequence[str], *, never_under: bool, margin: float
) -> dict[str, float]:
    pieces = [*texts, *(piece for text in texts for piece in _cut(text, PIECES))]
    tokens = np.array([reference.text(piece) for piece in pieces], dtype=np.float64)
    counts = [class_counts(piece) for piece in pieces]
    names = sorted({name for count in counts for name in count})
    matrix = np.array([[count[name] for name in names] for count in counts], dtype=np.float64)
    shares = matrix / tokens[:, None]  # rows that come to 1 where the estimate is the tokens
    if not never_under:
        return _rounded(names, _nearest(shares))
    values = _least_above(shares)
    values *= (1 + margin) * max(1.0, 1 / float((shares @ values).min()))  # floating point
    return _rounded(names, values + 0.5 * 10**-DECIMALS)  # so that rounding takes nothing away


def _rounded(names: Sequence[str], values: Matrix) -> dict[str, float]:
    return {name: round(float(value), DECIMALS) for name, value in zip(names, values, strict=True)}


def _nearest(shares: Matrix) -> Matrix:
    """Return constants whose estimates are near 1: expectation maximisation for Poisson counts."""
    weights = shares.sum(axis=0)
    values: Matrix = np.ones(shares.shape[1]) / shares.shape[1]
    for _ in range(ROUNDS):
        values *= (shares.T @ (1 / (shares @ values))) / weights
    return values


def _least_above(shares: Matrix) -> Matrix:
    """Return the constants with the least sum of estimates of which none is below 1.

    The dual programme (most y with y @ shares <= column sums) starts at 0 and is solved by the
    simplex method; Bland's rule ends it. The constants are the prices of its constraints.
    """
    rows, classes = shares.shape
    table = np.zeros((classes + 1, rows + classes + 1))
    table[:classes, :rows] = shares.T
    table[:classes, rows:-1] = np.eye(classes)
    table[:classes, -1] = shares.sum(axis=0)
    table[-1, :rows] = -1.0
    basis = np.arange(rows, rows + classes)
    while (entering := np.flatnonzero(table[-1, :-1] < -1e-9)).size:
        column = entering[0]
        above = np.flatnonzero(table[:classes, column] > 1e-9)
        ratios = table[above, -1] / table[above, column]
        ties = above[ratios <= ratios.min() + 1e-12]
        row = ties[np.argmin(basis[ties])]
        table[row] /= table[row, column]
        others = np.arange(classes + 1) != row
        table[others] -= np.outer(table[others, column], table[row])
        basis[row] = column
    values: Matrix = np.maximum(table[-1, rows:-1], 0.0)
    return values


def _cut(text: str, parts: int) -> tuple[str, ...]:
    """Return a text in parts of much the same length, cut at spaces where there are some."""
    found, start = [], 0
    for part in range(1, parts + 1):
        end = len(text) * part // parts
        space = text.find(" ", end, end + 40)
        if part == parts:
            end = len(text)
        elif space > 0:
            end = space
        found.append(text[start:end])
        start = end
    return tuple(found)
