"""Hooks a conftest may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_ctxguard.backend import Backend


@pytest.hookspec(firstresult=True)
def pytest_ctxguard_backend(config: pytest.Config) -> Backend | None:
    """Return what answers the probes, instead of the model on CPU; called once, when needed.

    Args:
        config: the pytest configuration.
    """
