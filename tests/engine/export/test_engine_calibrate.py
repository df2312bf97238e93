from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_ctxguard.engine.export.calibrate import Calibration
from tests.engine import numpy_decoder
from tests.engine.tiny import TINY, tiny_weights

SMALL = replace(TINY, vocab=320, window=64, layers=3, hidden=96, heads=6, kv_heads=2)
SEQUENCES = ([5, 6, 7, 8, 9], [300, 2], [11])


@pytest.fixture
def weights():
    return {name: weight.floats() for name, weight in tiny_weights(SMALL).items()}


def test_the_ranges_are_those_of_the_formulas(weights, monkeypatch):
    """Compare with the inputs that the float64 decoder's norms hand on."""
    seen = []
    norm = numpy_decoder._norm
    monkeypatch.setattr(numpy_decoder, "_norm", lambda *args: seen.append(norm(*args)) or seen[-1])
    for ids in SEQUENCES:
        numpy_decoder.logits(SMALL, {k: v.astype(np.float64) for k, v in weights.items()}, ids)
    norms = len(seen) // len(SEQUENCES)
    wanted = [np.abs(np.concatenate(seen[site::norms])).max(axis=0) for site in range(norms)]
    table = weights["token_embd.weight"]
    calibration = Calibration(SMALL, [table[list(ids)] for ids in SEQUENCES])
    found = []
    for layer in range(SMALL.layers):
        block = f"blk.{layer}."
        tensors = {k.removeprefix(block): v for k, v in weights.items() if k.startswith(block)}
        ranges = calibration.layer(tensors)
        found += [ranges.attention, ranges.feed_forward]
    largest, energy = calibration.final(weights["output_norm.weight"])
    found.append(largest)
    last = np.concatenate(seen[norms - 1 :: norms])
    np.testing.assert_allclose(energy, (last**2).mean(axis=0), rtol=2e-4)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=1e-6)
