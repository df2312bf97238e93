"""Draw the next token from a model's logits, seeded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.backend import Sampling
from pytest_ctxguard.errors import UsageError


class Sampler:
    """Chooses one token after another; one seed and the same logits give the same tokens.

    ``choose`` takes logits of shape [vocab]. At temperature 0 it is ``argmax``, exactly: the
    lowest id among equals.
    """

    def __init__(self, sampling: Sampling) -> None:
        if not sampling.temperature >= 0 or sampling.temperature == float("inf"):
            raise UsageError(f"temperature is {sampling.temperature}; it is 0 or a positive number")
        if not 0 <= sampling.top_p <= 1:
            raise UsageError(f"top_p is {sampling.top_p}; it is a probability, from 0 to 1")
        self._sampling = sampling
        self._draw = np.random.default_rng(sampling.seed % 2**64)  # it takes no negative one

    def choose(self, logits: NDArray[np.float32]) -> int:
        """Return the id of the next token."""
        if self._sampling.temperature == 0:
            return int(logits.argmax())
        scaled = logits.astype(np.float64)
        scaled = np.exp((scaled - scaled.max()) / self._sampling.temperature)
        ids, weights = nucleus(scaled / scaled.sum(), top_p=self._sampling.top_p)
        sums = np.cumsum(weights)
        # Scaling the draw by the sum's own end leaves no draw beyond the last token.
        place = np.searchsorted(sums, self._draw.random() * sums[-1], side="right")
        return int(ids[min(int(place), len(ids) - 1)])


def nucleus(
    probabilities: NDArray[np.float64], *, top_p: float
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the likeliest ids that together have ``top_p``, and their probabilities.

    The smallest such set, likeliest first, the lower id first among equals; at least one id.
    Source: nucleus sampling, Holtzman et al. 2020, section 3.1.
    """
    if top_p >= 1:
        ids = np.arange(len(probabilities))
        return ids, probabilities
    # What lies below this bound adds up to less than 1 - top_p, so the set does without it;
    # sorting the few that are left is many times quicker than sorting the vocabulary.
    bound = (1 - top_p) / len(probabilities)
    ids = np.flatnonzero(probabilities >= min(bound, probabilities.max()))
    ids = ids[np.argsort(-probabilities[ids], kind="stable")]
    sums = np.cumsum(probabilities[ids])
    count = int(np.searchsorted(sums, top_p, side="left")) + 1
    return ids[:count], probabilities[ids[:count]]
