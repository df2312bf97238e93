from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from pytest_ctxguard.engine.checkpoints.safetensors import open_safetensors
from pytest_ctxguard.errors import ModelCorrupt, ModelError

DTYPES = {"F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5), (7,), (1, 1)])
def test_what_the_safetensors_package_writes_is_read(tmp_path, kind, shape):
    values = np.random.default_rng(0).standard_normal(shape).astype(DTYPES[kind])
    other = np.arange(4, dtype=np.float32)
    save_file({"a": values, "b": other}, tmp_path / "x.safetensors", metadata={"format": "pt"})
    weights = open_safetensors(tmp_path / "x.safetensors")
    assert {name: weight.kind for name, weight in weights.items()} == {"a": kind, "b": "F32"}
    floats = weights["a"].floats()
    assert floats.dtype == np.float32
    np.testing.assert_array_equal(floats, values.astype(np.float32))
    np.testing.assert_array_equal(weights["b"].floats(), other)


def test_tensors_are_views_of_the_mapped_file(tmp_path):
    save_file({"a": np.zeros((4, 8), np.float16)}, tmp_path / "x.safetensors")
    data = open_safetensors(tmp_path / "x.safetensors")["a"].data
    while data.base is not None and not isinstance(data, np.memmap):
        data = data.base
    assert isinstance(data, np.memmap)


@pytest.mark.parametrize("kept", [0, 5, 8, 40, -1])
def test_a_file_cut_short_is_corrupt(tmp_path, kept):
    path = tmp_path / "cut.safetensors"
    save_file({"a": np.zeros((4, 8), np.float32)}, path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelCorrupt, match=r"cut\.safetensors: not a whole .* fetch it again"):
        open_safetensors(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelCorrupt, match=r"none\.safetensors: cannot be read \(No such file"):
        open_safetensors(tmp_path / "none.safetensors")


@pytest.mark.parametrize("dtype", [np.int8, np.float64])
def test_another_type_is_refused_with_the_tensor_and_the_types_read(tmp_path, dtype):
    save_file({"model.up": np.zeros((4, 8), dtype)}, tmp_path / "x.safetensors")
    with pytest.raises(ModelError, match=r"model\.up has type [IF]\d+; .* F32, F16, BF16"):
        open_safetensors(tmp_path / "x.safetensors")


def entry(**changes):
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}


HEADERS = {
    "bytes beyond the end": entry(data_offsets=[4, 12]),
    "bytes before the start": entry(data_offsets=[-8, 0]),
    "a shape that needs more": entry(shape=[3]),
    "a negative shape": entry(shape=[-1, -2]),
    "no shape": {"a": {"dtype": "F32", "data_offsets": [0, 8]}},
    "offsets that are texts": entry(data_offsets=["0", "8"]),
    "a list": [1],
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_a_header_that_cannot_be_is_corrupt(tmp_path, header):
    text = json.dumps(header).encode()
    path = tmp_path / "odd.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    with pytest.raises(ModelCorrupt, match=r"odd\.safetensors: not a whole safetensors file"):
        open_safetensors(path)


def test_a_header_longer_than_the_file_is_corrupt(tmp_path):
    path = tmp_path / "odd.safetensors"
    path.write_bytes((1 << 60).to_bytes(8, "little") + b"{}")
    with pytest.raises(ModelCorrupt, match="a header of 1152921504606846976 bytes"):
        open_safetensors(path)
