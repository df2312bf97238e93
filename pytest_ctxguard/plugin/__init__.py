"""The pytest plugin: entry point ``ctxguard``.

This module is imported in every pytest run of everyone who installed the package, so it
imports nothing but pytest and its light neighbours.
"""

from __future__ import annotations

import pytest

from pytest_ctxguard.plugin.fixtures import (
    ctx_agent,
    ctx_behaviour,
    ctx_estimate,
    ctx_policy_laws,
    ctx_recall,
    ctx_record,
    ctx_replay,
    ctx_server,
    ctx_session,
    ctx_summariser,
    ctx_transcript,
)
from pytest_ctxguard.plugin.names import MARKERS
from pytest_ctxguard.plugin.settings.options import add_options, refuse_alone

__all__ = [
    "ctx_agent",
    "ctx_behaviour",
    "ctx_estimate",
    "ctx_policy_laws",
    "ctx_recall",
    "ctx_record",
    "ctx_replay",
    "ctx_server",
    "ctx_session",
    "ctx_summariser",
    "ctx_transcript",
    "pytest_addhooks",
    "pytest_addoption",
    "pytest_configure",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and ini keys."""
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the hooks that a conftest may implement."""
    from pytest_ctxguard.plugin import hooks

    pluginmanager.add_hookspecs(hooks)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and the part that guards or the part that deselects."""
    for usage, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{usage}: {meaning}")
    if config.hook.pytest_ctxguard_checks.get_hookimpls():
        from pytest_ctxguard.plugin.further import register_checks

        register_checks(config)
    if config.getoption("ctxguard"):
        from pytest_ctxguard.plugin.guarding import Guarding

        config.pluginmanager.register(Guarding(config), "ctxguard-guarding")
    else:
        refuse_alone(config)
        from pytest_ctxguard.plugin.deselecting import Deselecting

        config.pluginmanager.register(Deselecting(config), "ctxguard-deselecting")
