"""Which of several places counts: decided here, for every setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.plugin.settings.table import Setting, Source

ORDER: tuple[Source, ...] = ("option", "theirs", "mark", "fixture", "ini", "default")
CALL_FIRST: tuple[Source, ...] = ("fixture", "mark", "default")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A setting's value, and where it comes from.

    Attributes:
        value: that counts.
        source: the kind of place.
        reason: the place as the report names it.
    """

    value: Any
    source: Source
    reason: str


def choose(row: Setting, given: Mapping[Source, Any]) -> Chosen:
    """Return the value that counts: command line before mark, fixture, ini and default.

    Where a mark is the default of a call's argument (``call_first``), the call comes first.

    Args:
        row: the setting.
        given: place -> what it says; ``None`` says nothing.
    """
    order = CALL_FIRST if row.call_first else ORDER
    everywhere = {**given, "default": row.default}
    found = [source for source in order if everywhere.get(source) is not None]
    source = found[0] if found else "default"
    return Chosen(everywhere[source], source, reason(row, source))


def reason(row: Setting, source: Source) -> str:
    """Return a place's name for the report: ``--ctxguard-model``, ``ini ctxguard_model``."""
    names = {
        "option": row.option,
        "theirs": row.theirs,
        "mark": row.mark,
        "fixture": row.fixture,
        "ini": f"ini {row.ini}",
        "default": "default",
    }
    return names[source]
