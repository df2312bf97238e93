"""What the ``ctx_estimate`` fixture and the marker ``ctx_estimator`` do."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pytest_ctxguard.checks.estimator import (
    MARKER,
    USAGE,
    EstimatorBound,
    judge_properties,
    make_bounds,
)
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.promises import Closest
from pytest_ctxguard.plugin.record import TestRecord
from pytest_ctxguard.plugin.replaying import of_guarded
from pytest_ctxguard.tokens.estimates.asking import Estimator, Takes
from pytest_ctxguard.tokens.estimates.audit import Audit, audit


def estimate_fixture(item: pytest.Item) -> EstimateFixture:
    """Return the fixture's value for one test."""
    record, _ = of_guarded(item, fixture="ctx_estimate")
    return EstimateFixture(record)


def read_bounds(item: pytest.Item) -> tuple[EstimatorBound, ...]:
    """Return what a test's marks promise about estimators; the closest wins for each counter.

    Raises:
        UsageError: a mark has a missing, unknown or impossible argument, or contradicts another.
    """
    found = Closest[EstimatorBound]()
    for node, mark in item.iter_markers_with_node(MARKER):
        for bound in make_bounds(mark.args, mark.kwargs):
            found.add(bound, node)
    return tuple(found)


@dataclass(frozen=True, slots=True, repr=False)
class EstimateFixture:
    """Holds estimators against exact counts; what is beyond the bounds fails the test."""

    record: TestRecord

    def __call__(self, estimator: Estimator, *, takes: Takes = "text") -> Audit:
        """Hold an estimator against the counters of the test's marks.

        Args:
            estimator: from a text, or from a list of chat messages, to tokens.
            takes: ``"text"`` or ``"messages"``.

        Raises:
            UsageError: the test has no mark, or this is no estimator.
            ModelMissing: what a counter needs is not installed.
        """
        __tracebackhide__ = True
        bounds = self.record.bounds
        if not bounds:
            raise UsageError(f"ctx_estimate judges by the test's mark, and it has none: {USAGE}")
        found = audit(estimator, against=[bound.against for bound in bounds], takes=takes)
        judgements = [*(bound.judge(found) for bound in bounds), judge_properties(found)]
        self.record.estimates += [(found.estimator, judgement) for judgement in judgements]
        return found
