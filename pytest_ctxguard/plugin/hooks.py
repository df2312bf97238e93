"""Hooks a conftest may implement: the root one, or a plugin's module; they are asked once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ctxguard.backend import Backend
    from pytest_ctxguard.tokens.counters.choosing import CounterSource
    from pytest_ctxguard.transcript.reading import Reader


@pytest.hookspec(firstresult=True)
def pytest_ctxguard_backend(config: pytest.Config) -> Backend | None:
    """Return what answers the probes, instead of the model on CPU; called once, when needed.

    Args:
        config: the pytest configuration.
    """


@pytest.hookspec
def pytest_ctxguard_readers(config: pytest.Config) -> Sequence[Reader]:
    """Return readers of further transcript formats; they are asked before the built-in ones.

    Args:
        config: the pytest configuration.
    """
    return ()


@pytest.hookspec
def pytest_ctxguard_counters(config: pytest.Config) -> Mapping[str, CounterSource]:
    """Return further counters by name, for ini ``ctxguard_counter`` and ``counter=``.

    Args:
        config: the pytest configuration.
    """
    return {}


@pytest.hookspec
def pytest_ctxguard_checks(config: pytest.Config) -> Sequence[type[Any]]:
    """Return further checks; each is a marker, ``replay.check.<marker>`` and ``replay.judge``.

    A check is a frozen dataclass whose fields are the mark's arguments, with ``marker`` (begins
    with ``ctx_``), ``tier`` (``structure`` or ``model``), ``usage``, ``subject`` (the closest mark
    wins for each) and ``judge(case)``, which returns a ``Judgement``.

    Args:
        config: the pytest configuration.
    """
    return ()
