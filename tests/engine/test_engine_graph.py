from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_ctxguard.engine import store
from pytest_ctxguard.engine.quantize import pack
from pytest_ctxguard.engine.runner import Runner
from tests.engine.numpy_decoder import logits
from tests.engine.tiny import TINY, export_tiny, tiny_weights

IDS = [151644, 872, 198, 9707, 11, 1879, 0, 151645, 5, 6, 7, 8]
SMALL = replace(TINY, vocab=320, window=64)
VARIANTS = {
    "tied": (SMALL, True),
    "head of its own": (SMALL, False),
    "grouped heads": (replace(SMALL, hidden=96, heads=6, kv_heads=2), True),
    "one layer": (replace(SMALL, layers=1), True),
    "other rope and eps": (replace(SMALL, rope_theta=1e6, eps=1e-3, layers=3), False),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_graph_computes_what_the_formulas_say(name, tmp_path):
    config, tied = VARIANTS[name]
    files = store.resolve(str(export_tiny(tmp_path / "model", config=config, tied=tied)))
    weights = {}
    for key, weight in tiny_weights(config, tied=tied).items():
        keep = weight.data.ndim == 1 or (key == "token_embd.weight" and not tied)
        weights[key] = (weight if keep else pack(weight)).floats().astype(np.float64)
    ids = [token % config.vocab for token in IDS]
    wanted = logits(config, weights, ids)
    found = Runner.load(files, threads=1).logits(ids, rows=len(ids))
    assert found.shape == wanted.shape
    # activations go through 8-bit blocks: about half a percent per product
    assert np.abs(found - wanted).max() < 0.03 * np.abs(wanted).max()
    assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.9995
