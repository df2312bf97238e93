"""The container of a safetensors file: tensors by name, memory-mapped.

The ``safetensors`` package has no bfloat16 for numpy and copies what it reads; the format is a
JSON header and raw values, so it is read here. Format:
https://github.com/huggingface/safetensors#format
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.engine.checkpoints.layout import KINDS
from pytest_ctxguard.engine.checkpoints.weights import Weight
from pytest_ctxguard.errors import ModelCorrupt, ModelError

LENGTH_BYTES = 8  # a little-endian uint64 before the header: its length
MAX_HEADER = 100_000_000  # bytes; the format's own limit
DTYPES = ("F32", "F16", "BF16")


def open_safetensors(path: Path) -> dict[str, Weight]:
    """Map a file and return its tensors; nothing is read before it is used.

    Raises:
        ModelCorrupt: it is missing, no safetensors file, or cut short.
        ModelError: a tensor has a type this package does not read.
    """
    try:
        data: NDArray[np.uint8] = np.memmap(path, np.uint8, mode="r")
        length = int.from_bytes(data[:LENGTH_BYTES].tobytes(), "little")
        if length > min(MAX_HEADER, len(data) - LENGTH_BYTES):
            raise ValueError(f"a header of {length} bytes in a file of {len(data)}")
        start = LENGTH_BYTES + length
        header = json.loads(data[LENGTH_BYTES:start].tobytes())
        if not isinstance(header, dict):
            raise ValueError("its header is no object")
        header.pop("__metadata__", None)
        values = np.asarray(data[start:])
        return {name: _tensor(path, name, info=info, data=values) for name, info in header.items()}
    except OSError as error:
        raise ModelCorrupt(f"{path}: cannot be read ({error.strerror}).") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ModelCorrupt(
            f"{path}: not a whole safetensors file ({error}). Copy or fetch it again."
        ) from error


def _tensor(path: Path, name: str, *, info: Mapping[str, Any], data: NDArray[np.uint8]) -> Weight:
    dtype, shape = info["dtype"], tuple(info["shape"])
    if dtype not in DTYPES:
        raise ModelError(
            f"{path}: the tensor {name} has type {dtype}; this engine reads {', '.join(DTYPES)}. "
            "Use the model's unquantised files, or a GGUF file."
        )
    start, end = info["data_offsets"]
    item = KINDS[dtype].size
    if not 0 <= start <= end <= len(data) or end - start != math.prod(shape) * item:
        raise ValueError(f"the tensor {name} does not fit: bytes {start} to {end}")
    raw = data[start:end]
    if dtype == "F32":
        return Weight(raw.view("<f4").reshape(shape), dtype)
    return Weight(raw.reshape(*shape[:-1], shape[-1] * item), dtype)
