from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_ctxguard.engine.export.graph import export
from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.models.files import write_manifest
from pytest_ctxguard.engine.own import load_own
from pytest_ctxguard.engine.runner import Runner
from pytest_ctxguard.errors import ModelError
from tests.engine.numpy_decoder import logits
from tests.engine.tiny import TINY, export_tiny, sample_ids, tiny_weights

IDS = [151644, 872, 198, 9707, 11, 1879, 0, 151645, 5, 6, 7, 8]
SMALL = replace(TINY, vocab=320, window=64)
VARIANTS = {
    "tied": (SMALL, True),
    "head of its own": (SMALL, False),
    "grouped heads": (replace(SMALL, hidden=96, heads=6, kv_heads=2), True),
    "llama": (replace(SMALL, architecture="llama"), True),
    "heads wider than the stream": (
        replace(SMALL, architecture="llama", heads=4, kv_heads=2, head_dim=32),
        False,
    ),
    "one layer": (replace(SMALL, layers=1), True),
    "other rope and eps": (replace(SMALL, rope_theta=1e6, eps=1e-3, layers=3), False),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_graph_computes_what_the_formulas_say(name, tmp_path):
    config, tied = VARIANTS[name]
    files = store.resolve(str(export_tiny(tmp_path / "model", config=config, tied=tied)))
    tiny = tiny_weights(config, tied=tied)
    weights = {key: weight.floats().astype(np.float64) for key, weight in tiny.items()}
    ids = [token % config.vocab for token in IDS]
    wanted = logits(config, weights, ids)
    found = Runner(load_own(files, threads=1)).logits(ids, rows=len(ids))
    assert found.shape == wanted.shape
    # weights and activations are 8-bit rows: about half a percent per product
    assert np.abs(found - wanted).max() < 0.03 * np.abs(wanted).max()
    assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.9995


def test_both_forms_of_weights_give_the_same_bits(tmp_path):
    found = []
    for unsigned in (False, True):
        folder = tmp_path / str(unsigned)
        folder.mkdir()
        weights = tiny_weights(SMALL)
        export(SMALL, weights, folder=folder, sequences=sample_ids(SMALL), unsigned=unsigned)
        write_manifest(folder, SMALL, name="tiny", licence="MIT", source_sha256="0" * 64)
        files = store.resolve(str(folder), fits=lambda files: True)
        found.append(Runner(load_own(files, threads=1)).logits([7, 8, 9, 10], rows=4))
    np.testing.assert_array_equal(*found)


def test_a_row_of_zeros_is_no_division_by_zero(tmp_path):
    weights = tiny_weights(SMALL, tied=False)
    weights["token_embd.weight"].data[5] = 0
    folder = tmp_path / "model"
    folder.mkdir()
    export(SMALL, weights, folder=folder, sequences=sample_ids(SMALL))
    write_manifest(folder, SMALL, name="tiny", licence="MIT", source_sha256="0" * 64)
    files = store.resolve(str(folder), fits=lambda files: True)
    logits = Runner(load_own(files, threads=1)).logits([5, 5, 5], rows=3)
    assert np.isfinite(logits).all()


def test_heads_the_runtime_cannot_attend_with_are_refused_at_once(tmp_path):
    config = replace(SMALL, head_dim=24)
    with pytest.raises(ModelError, match=r"24 channels; ONNX Runtime's attention wants .* 16"):
        export(config, tiny_weights(config), folder=tmp_path, sequences=sample_ids(config))
    assert not list(tmp_path.iterdir())
