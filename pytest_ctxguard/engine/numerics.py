"""Name what rounding depends on: the runtime, and the processor features it picks kernels by."""

from __future__ import annotations

import platform
import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal

# the features by which ONNX Runtime's CPU kernels choose their code, x86 and ARM
KERNEL_FEATURES = (
    "avx2",
    "fma",
    "avx_vnni",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512_vnni",
    "avx512_bf16",
    "amx_tile",
    "amx_int8",
    "asimd",
    "asimddp",
    "i8mm",
    "bf16",
    "sve",
)
CPU_INFO = Path("/proc/cpuinfo")
# x86 without these adds uint8 x int8 products in 16 bits that saturate (ONNX Runtime's
# documentation on quantization, "data type selection"); uint8 x uint8 is exact everywhere
EXACT_SIGNED = {"avx_vnni", "avx512_vnni", "amx_int8", "asimd"}

WeightsForm = Literal["s8", "u8"]


def numerics() -> str:
    """Return runtime version, machine and kernel features as one line."""
    import onnxruntime

    features = kernel_features(_cpu_info())
    machine = f"{platform.system()} {platform.machine()}".strip()
    return ", ".join([f"onnxruntime {onnxruntime.__version__}", machine, *features])


def weights_form(features: Collection[str] | None = None) -> WeightsForm:
    """Return the form of 8-bit weights whose products this machine computes exactly.

    Both forms give bitwise the same sums; ``s8`` is quicker where it is exact.
    """
    if features is None:
        features = kernel_features(_cpu_info())
    return "s8" if EXACT_SIGNED.intersection(features) else "u8"


def _cpu_info() -> str:
    return CPU_INFO.read_text(errors="replace") if CPU_INFO.exists() else ""


def kernel_features(cpu_info: str) -> list[str]:
    """Pick the kernel features out of Linux's processor description, in a fixed order."""
    match = re.search(r"^(?:flags|Features)\s*:(.*)$", cpu_info, re.MULTILINE)
    present = set(match.group(1).split()) if match else set()
    return [feature for feature in KERNEL_FEATURES if feature in present]
