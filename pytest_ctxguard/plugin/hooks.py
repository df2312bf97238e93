"""Hooks a conftest may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ctxguard.backend import Backend
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
