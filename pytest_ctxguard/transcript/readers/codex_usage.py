"""Which call a ``token_count`` event of a Codex rollout tells the usage of.

Newer versions write it after the items of its call, older ones before them. The first event of the
file shows which: in the older files nothing has been answered yet. The same totals once more are no
news (Codex repeats them with new rate limits); all zeros are no usage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.transcript.readers.checked import whole
from pytest_ctxguard.transcript.wire.typed import mapping

Row = Mapping[str, Any]

KEYS = {
    "input_tokens": "prompt_tokens",
    "cached_input_tokens": "cached_tokens",
    "cache_write_input_tokens": "cache_written_tokens",
    "output_tokens": "completion_tokens",
    "reasoning_output_tokens": "reasoning_tokens",
}
INPUTS = ("message", "function_call_output", "custom_tool_call_output")


@dataclass(slots=True)
class Usage:
    """Follows the events of one file.

    Attributes:
        comes_first: whether usage is written before the items of its call.
    """

    comes_first: bool
    _totals: Any = None
    _waiting: dict[str, int] = field(default_factory=dict)
    _told: bool = True  # whether the last answer has its usage, or there was none

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Usage:
        """Return the usage of a file, by the order of its rows."""
        for row in rows:
            payload = mapping(row.get("payload"))
            if row.get("type") == "event_msg" and _numbers(payload):
                return cls(comes_first=True)
            if row.get("type") == "response_item" and (
                payload.get("role") == "assistant" or payload.get("type") not in INPUTS
            ):
                return cls(comes_first=False)
        return cls(comes_first=False)

    def is_new(self, payload: Row) -> bool:
        """Tell whether an event has other totals than the one before."""
        totals = mapping(payload.get("info")).get("total_token_usage")
        new = bool(_numbers(payload)) and (totals is None or totals != self._totals)
        if new:
            self._totals = totals
        return new

    def before(self) -> dict[str, int]:
        """Return the usage that waits for the answer that was read now."""
        self._told = bool(self._waiting)
        found, self._waiting = self._waiting, {}
        return found

    def after(self, payload: Row) -> dict[str, int] | None:
        """Return the usage for the last answer, empty: it is of none; ``None``: it waits."""
        numbers = _numbers(payload)
        if self.comes_first:
            lost, self._waiting = self._waiting, numbers
            return {} if lost else None
        if self._told:
            return {}
        self._told = True
        return numbers

    def forget(self) -> bool:
        """Let go of what waits, for the next answer is to something else; tell whether it did."""
        waited = bool(self._waiting)
        self._waiting = {}
        return waited


def _numbers(payload: Row) -> dict[str, int]:
    """Return the usage an event tells, under the usual keys; empty: none."""
    if payload.get("type") != "token_count":
        return {}
    last = mapping(mapping(payload.get("info")).get("last_token_usage"))
    numbers = {ours: whole(last.get(theirs)) for theirs, ours in KEYS.items()}
    found = {key: number for key, number in numbers.items() if number is not None}
    return found if any(found.values()) else {}
