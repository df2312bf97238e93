"""Name what rounding depends on: the runtime, and the processor features it picks kernels by."""

from __future__ import annotations

import platform
import re
from pathlib import Path

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


def numerics() -> str:
    """Return runtime version, machine and kernel features as one line."""
    import onnxruntime

    features = kernel_features(CPU_INFO.read_text(errors="replace") if CPU_INFO.exists() else "")
    machine = f"{platform.system()} {platform.machine()}".strip()
    return ", ".join([f"onnxruntime {onnxruntime.__version__}", machine, *features])


def kernel_features(cpu_info: str) -> list[str]:
    """Pick the kernel features out of Linux's processor description, in a fixed order."""
    match = re.search(r"^(?:flags|Features)\s*:(.*)$", cpu_info, re.MULTILINE)
    present = set(match.group(1).split()) if match else set()
    return [feature for feature in KERNEL_FEATURES if feature in present]
