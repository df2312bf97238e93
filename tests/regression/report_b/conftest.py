"""Report B as guarded tests: a small selection, or with ``--everything`` the whole of it."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--everything",
        action="store_true",
        help="Run all of report B's experiments, about a quarter of an hour, and not a selection.",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "everything: run with --everything only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # The option is not known where this folder was not named on the command line.
    if config.getoption("--everything", default=False):
        return
    left_out = [item for item in items if item.get_closest_marker("everything")]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)
