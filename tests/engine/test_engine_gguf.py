from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_ctxguard.engine.gguf import read_gguf
from pytest_ctxguard.errors import ModelCorrupt, ModelError
from tests.engine.tiny import TINY, tiny_weights
from tests.engine.tiny_gguf import write_tiny_gguf

SMALL = replace(TINY, vocab=320)


def test_configuration_and_weights_come_back(tmp_path):
    model = read_gguf(write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL))
    assert replace(model.config, eps=SMALL.eps) == SMALL
    assert model.config.eps == pytest.approx(SMALL.eps, rel=1e-6)
    wanted = tiny_weights(SMALL)
    assert model.weights.keys() == wanted.keys()
    for name, weight in model.weights.items():
        assert weight.kind == wanted[name].kind
        np.testing.assert_array_equal(weight.floats(), wanted[name].floats())


@pytest.mark.parametrize("kept", [0, 3, 20, 200, 1500, -9])
def test_a_file_cut_short_is_corrupt(tmp_path, kept):
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelCorrupt, match=r"tiny\.gguf: not a whole GGUF file"):
        read_gguf(path)


def test_a_text_file_is_no_gguf(tmp_path):
    path = tmp_path / "notes.gguf"
    path.write_text("Not a model at all, but long enough to have a header's length.")
    with pytest.raises(ModelCorrupt, match="not a whole GGUF file"):
        read_gguf(path)


@pytest.mark.parametrize(
    ("other", "named"),
    [({"architecture": "llama"}, "general.architecture"), ({"pre": "gpt-2"}, "tokenizer.ggml.pre")],
)
def test_another_kind_of_model_is_refused_with_what_is_supported(tmp_path, other, named):
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL, **other)
    with pytest.raises(ModelError, match=f"{named} is .*Qwen2.5-Coder-0.5B-Instruct"):
        read_gguf(path)
