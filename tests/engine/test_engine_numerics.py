from __future__ import annotations

import onnxruntime

from pytest_ctxguard.engine.numerics import kernel_features, numerics

INTEL = "processor : 0\nflags\t\t: fpu avx2 sse fma amx_int8 amx_tile\nbugs :\n"
ARM = "processor : 0\nFeatures\t: fp asimd asimddp i8mm\n"


def test_features_come_in_a_fixed_order_and_others_are_left_out():
    assert kernel_features(INTEL) == ["avx2", "fma", "amx_tile", "amx_int8"]
    assert kernel_features(ARM) == ["asimd", "asimddp", "i8mm"]
    assert kernel_features("") == []


def test_the_runtime_is_named():
    assert f"onnxruntime {onnxruntime.__version__}" in numerics()
