"""The baseline: what was measured and accepted, as reviewed JSON beside the tests."""

from pytest_ctxguard.baseline.file import edited, parse, read, write
from pytest_ctxguard.baseline.git import at_ref, baseline_of, resolve
from pytest_ctxguard.baseline.values import (
    SUFFIX,
    WORST_FIRST,
    Accepted,
    Baseline,
    Entries,
    Key,
    Metric,
    Metrics,
    State,
    baseline_path,
    differing,
    module_path,
    worst,
)

__all__ = [
    "SUFFIX",
    "WORST_FIRST",
    "Accepted",
    "Baseline",
    "Entries",
    "Key",
    "Metric",
    "Metrics",
    "State",
    "at_ref",
    "baseline_of",
    "baseline_path",
    "differing",
    "edited",
    "module_path",
    "parse",
    "read",
    "resolve",
    "worst",
    "write",
]
