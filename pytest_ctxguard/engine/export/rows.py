"""Weights as 8-bit rows, for integer products with activations that are rounded row by row.

A row of K weights is stored as int8 levels with one scale. Activations are rounded to 8 bits with
one scale per token, set by the largest channel; a few channels are far larger than the rest and
would cost all others their precision. Such a channel is split: n columns carry 1/n of it each
(outlier channel splitting, Zhao et al. 2019, arXiv:1901.09504). The n copies of a weight are
rounded so that their sum is the nearest to n times the weight, so a split channel's weights gain
precision, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.engine.checkpoints.weights import Floats

LEVELS = 127  # of each sign
POWERS = (0.0, 0.25, 0.375, 0.5, 0.625, 0.75)  # of a column's largest weight, to balance by
BLOCK = 1 << 14  # rows rounded at once, to bound the memory it takes


@dataclass(frozen=True, slots=True)
class Split:
    """How many columns carry each input channel.

    Attributes:
        copies: int64 [K], at least 1 each.
    """

    copies: NDArray[np.int64]

    @property
    def share(self) -> Floats:
        """What part of its channel each of its columns carries, shape [K]."""
        return (1 / self.copies).astype(np.float32)

    @property
    def extra(self) -> NDArray[np.int64]:
        """The channel that each column after the first K repeats, ascending."""
        return np.repeat(np.arange(len(self.copies)), self.copies - 1)


@dataclass(frozen=True, slots=True)
class Rows:
    """A matrix [N, K] in 8-bit rows, its split channels repeated.

    Attributes:
        levels: int8, shape [K + extra, N]: one column of the matrix after the other.
        scales: float32 [N].
    """

    levels: NDArray[np.int8]
    scales: Floats

    def floats(self, split: Split | None = None) -> Floats:
        """Dequantise, shape [N, K]; the copies of a split channel are averaged."""
        values: Floats = self.levels.T.astype(np.float32) * self.scales[:, None]
        if split is None:
            return values
        merged = values[:, : len(split.copies)].T.copy()
        np.add.at(merged, split.extra, values[:, len(split.copies) :].T)
        return merged.T * split.share


def split_channels(largest: Floats, *, extra: int) -> Split:
    """Spend ``extra`` more columns so that the largest share of any channel is least.

    Args:
        largest: largest magnitude of each channel in a calibration run, shape [K].
        extra: columns to add; all are used.
    """
    copies = np.ones(len(largest), np.int64)
    for _ in range(extra):
        copies[np.argmax(largest / copies)] += 1
    return Split(copies)


def balance(matrix: Floats, energy: Floats) -> Floats:
    """Return factors [K] for the columns to be divided by, and the input multiplied.

    A row's scale follows its largest weight, so columns with large weights cost the others their
    precision. The factors are a power of each column's largest weight, the one of ``POWERS`` with
    the least rounding error expected: the rows' squared scales times the input's energy.

    Args:
        matrix: weights [N, K].
        energy: mean square of each input channel, shape [K].
    """
    largest = np.maximum(np.abs(matrix).max(axis=0), np.finfo(np.float32).tiny)
    best: Floats = np.ones_like(largest)
    least = np.inf
    for power in POWERS:
        factors = largest**power
        factors = (factors / np.exp(np.log(factors).mean())).astype(np.float32)
        tops = [
            np.abs(matrix[start : start + BLOCK] / factors).max(axis=1)
            for start in range(0, len(matrix), BLOCK)
        ]
        error = float((np.concatenate(tops).astype(float) ** 2).sum() * (factors**2 * energy).sum())
        if error < least:
            best, least = factors, error
    return best


def quantize_rows(matrix: Floats, split: Split | None = None) -> Rows:
    """Round a matrix [N, K] to 8-bit rows."""
    split = split or Split(np.ones(matrix.shape[1], np.int64))
    largest = np.abs(matrix).max(axis=1)
    scales = np.where(largest == 0, np.float32(1), largest / LEVELS).astype(np.float32)
    levels = np.empty((matrix.shape[1] + len(split.extra), len(matrix)), np.int8)
    for start in range(0, len(matrix), BLOCK):
        part = slice(start, start + BLOCK)
        levels[:, part] = _levels((matrix[part] / scales[part, None]).T, split)
    return Rows(levels, scales)


def _levels(scaled: Floats, split: Split) -> Floats:
    """Round values [K, N] in levels; copies of a channel share what its sum rounds to."""
    copies = split.copies[:, None].astype(np.float32)
    total = np.rint(scaled * copies)
    low = np.floor(total / copies)
    raised = total - low * copies  # this many of a channel's copies take the next level
    ranks = [np.arange(1, count) for count in split.copies[split.copies > 1]]
    later = np.concatenate([*ranks, np.empty(0)])[:, None]
    more = low[split.extra] + (later < raised[split.extra])
    return np.concatenate([low + (raised > 0), more])
