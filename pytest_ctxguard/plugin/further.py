"""What conftest files and other plugins add by hooks: checks, counters, readers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args

import pytest

from pytest_ctxguard.checks.promise import Tier
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.names import MARKER_NAMES
from pytest_ctxguard.tokens.counters.choosing import NAMES, CounterSource
from pytest_ctxguard.transcript.reading import Reader

FURTHER = pytest.StashKey[Mapping[str, type[Any]]]()
PARTS = ("marker", "tier", "usage", "subject", "judge")
EXAMPLE = "docs/extending.md shows one"


def register_checks(config: pytest.Config) -> None:
    """Register the markers of further checks, also where no guarded test is run.

    Raises:
        pytest.UsageError: one is no check.
    """
    try:
        checks = further_checks(config)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[FURTHER] = checks
    for kind in checks.values():
        meaning = (kind.__doc__ or kind.__qualname__).strip().splitlines()[0]
        config.addinivalue_line("markers", f"{kind.usage}: {meaning}")


def further_checks(config: pytest.Config) -> Mapping[str, type[Any]]:
    """Return the checks that the hook ``pytest_ctxguard_checks`` gives, by marker.

    Raises:
        UsageError: one is no check, or its marker is taken.
    """
    found: dict[str, type[Any]] = {}
    for given in config.hook.pytest_ctxguard_checks(config=config):
        for kind in _listed(given, hook="pytest_ctxguard_checks"):
            _check_kind(kind)
            if found.setdefault(kind.marker, kind) is not kind:
                raise UsageError(
                    f"pytest_ctxguard_checks: two checks have the marker {kind.marker}: "
                    f"{found[kind.marker].__qualname__} and {kind.__qualname__}"
                )
    return found


def further_counters(config: pytest.Config) -> Mapping[str, CounterSource]:
    """Return the counters that the hook ``pytest_ctxguard_counters`` gives, by name.

    Raises:
        UsageError: a name is taken, or what it names is no counter.
    """
    found: dict[str, CounterSource] = {}
    for given in config.hook.pytest_ctxguard_counters(config=config):
        if not isinstance(given, Mapping):
            raise UsageError(
                f"pytest_ctxguard_counters returned {given!r}, not a mapping from names to "
                f"counters; {EXAMPLE}"
            )
        for name, source in given.items():
            if not isinstance(name, str) or not name or name in NAMES or name in found:
                raise UsageError(
                    f"pytest_ctxguard_counters: a counter cannot be named {name!r}: a name is "
                    f"text, and these are taken: {', '.join([*NAMES, *found])}"
                )
            if isinstance(source, type) or not (callable(source) or hasattr(source, "count")):
                raise UsageError(
                    f"pytest_ctxguard_counters: {name!r} is {source!r}, neither a counter nor a "
                    f"function from messages to tokens; {EXAMPLE}"
                )
            found[name] = source
    return found


def further_readers(config: pytest.Config) -> tuple[Reader, ...]:
    """Return the readers that the hook ``pytest_ctxguard_readers`` gives.

    Raises:
        UsageError: one is no reader.
    """
    given = config.hook.pytest_ctxguard_readers(config=config)
    readers = [row for rows in given for row in _listed(rows, hook="pytest_ctxguard_readers")]
    for reader in readers:
        if not isinstance(reader, Reader):
            raise UsageError(
                f"pytest_ctxguard_readers returned {reader!r}, not a pytest_ctxguard.Reader"
            )
    return tuple(readers)


def _listed(given: Any, *, hook: str) -> tuple[Any, ...]:
    if not isinstance(given, list | tuple):
        raise UsageError(f"{hook} returned {given!r}, not a list; {EXAMPLE}")
    return tuple(given)


def _check_kind(kind: Any) -> None:
    """Refuse what cannot be a check."""
    where = f"pytest_ctxguard_checks: {getattr(kind, '__qualname__', kind)!r}"
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind):
        raise UsageError(f"{where} is no dataclass; its fields are the mark's arguments; {EXAMPLE}")
    if not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise UsageError(f"{where} is not frozen: @dataclass(frozen=True)")
    missing = [name for name in PARTS if not hasattr(kind, name)]
    if missing:
        raise UsageError(f"{where} has no {missing[0]!r}; a check has: {', '.join(PARTS)}")
    marker, usage, tier = kind.marker, kind.usage, kind.tier  # type: ignore[attr-defined]
    if not (isinstance(marker, str) and marker.startswith("ctx_") and marker.isidentifier()):
        raise UsageError(f"{where}: its marker is {marker!r}; it begins with ctx_, and is a name")
    if marker in MARKER_NAMES:
        raise UsageError(f"{where}: the marker {marker} is taken")
    if not isinstance(usage, str) or usage.partition("(")[0] != marker:
        raise UsageError(f"{where}: its usage is {usage!r}; it is text like {marker}(…)")
    if tier not in get_args(Tier):
        raise UsageError(f"{where}: its tier is {tier!r}; it may be {' or '.join(get_args(Tier))}")
