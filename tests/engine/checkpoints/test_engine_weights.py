from __future__ import annotations

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import quantize

from pytest_ctxguard.engine.checkpoints.weights import Weight, pack


def values(rows: int = 6, columns: int = 512) -> np.ndarray:
    return np.random.default_rng(3).standard_normal((rows, columns), dtype=np.float32)


def k_quant(kind: str, *, size: int, halves: tuple[int, ...]) -> Weight:
    """Random super-blocks of a type gguf cannot write: any bytes, with sane float16 scales."""
    draw = np.random.default_rng(4)
    data = draw.integers(0, 256, (6, 2, size), dtype=np.uint8)
    for offset in halves:
        scales = draw.uniform(1e-4, 1e-2, (6, 2, 1)).astype(np.float16)
        data[:, :, offset : offset + 2] = scales.view(np.uint8)
    return Weight(data.reshape(6, -1), kind)


@pytest.mark.parametrize("kind", ["Q4_0", "Q5_0", "Q8_0"])
def test_symmetric_types_are_kept_without_loss(kind):
    weight = Weight(quantize(values(), GGMLQuantizationType[kind]), kind)
    packed = pack(weight)
    np.testing.assert_array_equal(packed.floats(), weight.floats())


def test_q6_k_is_kept_without_loss():
    weight = k_quant("Q6_K", size=210, halves=(208,))
    packed = pack(weight)
    assert packed.block == 16
    np.testing.assert_allclose(packed.floats(), weight.floats(), rtol=2e-7)


def test_a_block_of_zeros_stays_zero():
    weight = Weight(np.zeros((2, 64), np.float32))
    assert not pack(Weight(quantize(weight.data, GGMLQuantizationType.Q8_0), "Q8_0")).floats().any()
