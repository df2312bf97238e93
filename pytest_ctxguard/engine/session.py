"""How ONNX Runtime is asked to run: what every session here has in common."""

from __future__ import annotations

from typing import Any


def session_options(threads: int) -> Any:
    """Return options for ``threads`` threads within an operator, one operator at a time."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options
