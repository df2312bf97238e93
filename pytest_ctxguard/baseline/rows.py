"""A metric as a row of the baseline file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_ctxguard.baseline.values import Accepted, Metric

FIELDS = ("accepted", "instrument", "of", "trials", "value")


def as_row(metric: Metric, *, instrument: str) -> dict[str, Any]:
    """Return the JSON object of a metric; what is not set is left out."""
    row: dict[str, Any] = {"value": metric.value, "instrument": instrument}
    if metric.of is not None:
        row["of"] = metric.of
    if metric.trials is not None:
        row["trials"] = dict(metric.trials)
    if metric.accepted is not None:
        was = metric.accepted.was
        row["accepted"] = {"reason": metric.accepted.reason}
        row["accepted"] |= {} if was is None else {"was": was}
    return row


def from_row(row: Mapping[str, Any], instruments: Mapping[str, Any]) -> Metric:
    """Return the metric of a JSON object.

    Args:
        row: the object.
        instruments: id -> fingerprint.

    Raises:
        ValueError: it is none.
    """
    if unknown := sorted(set(row) - set(FIELDS)):
        raise ValueError(f"{unknown[0]!r} is none of its fields, {', '.join(FIELDS)}")
    if "value" not in row:
        raise ValueError("it has no value")
    value, of = row["value"], row.get("of")
    _require_count(value, "value")
    if of is not None:
        _require_count(of, "of")
        if value > of:
            raise ValueError(f"value {value} is more than the {of} it is of")
    return Metric(
        value,
        _texts(instruments[row["instrument"]], "its instrument"),
        of,
        _trials(row["trials"], value=value, of=of) if "trials" in row else None,
        _accepted(row["accepted"]) if "accepted" in row else None,
    )


def _trials(told: object, *, value: int, of: int | None) -> Mapping[str, str]:
    """Return the outcomes; a merge by hand may have left them beside another count."""
    trials = _texts(told, "trials")
    hits = sum(outcome == "hit" for outcome in trials.values())
    if (value, of) != (hits, len(trials)):
        raise ValueError(
            f"value {value} of {of} does not agree with its trials, {hits} hits of {len(trials)}"
        )
    return trials


def _accepted(told: object) -> Accepted:
    if not isinstance(told, dict) or not {"reason"} <= set(told) <= {"reason", "was"}:
        raise ValueError("accepted is an object with a reason, and with what the value was")
    reason, was = told["reason"], told.get("was")
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError(f"accepted: the reason {reason!r} says nothing")
    if was is not None:
        _require_count(was, "accepted: was")
    return Accepted(reason, was)


def _require_count(value: object, name: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} {value!r} is not a count")


def _texts(value: object, name: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ValueError(f"{name} is no object of texts")
    return dict(value)
