"""Command-line options and ini keys, made from the table of settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pytest

from pytest_ctxguard.plugin.settings.table import SETTINGS, Setting

IniType = Literal["string", "bool", "paths", "args", "int"]
INI_TYPES: Mapping[str, IniType] = {"flag": "bool", "paths": "paths", "texts": "args"}
NATIVE_INTEGERS = pytest.version_tuple >= (8, 4)  # before, ini keys have no type "int"
CHANGING = ("update", "update_new", "compare")
"""Without ``--ctxguard`` they would do nothing, in silence."""


def add_options(parser: pytest.Parser) -> None:
    """Add the command-line options and ini keys."""
    group = parser.getgroup("ctxguard", "context policies under test")
    for row in SETTINGS:
        if row.option:
            _add_option(group, row)
        if row.ini:
            parser.addini(row.ini, _help(row), type=_ini_type(row), default=None)


def _add_option(group: pytest.OptionGroup, row: Setting) -> None:
    """Add one option; its default is ``None``, so that it is known whether it was given."""
    if row.kind == "flag":
        group.addoption(row.option, dest=dest(row), action="store_true", help=_help(row))
        return
    group.addoption(
        row.option,
        dest=dest(row),
        action="append" if row.repeatable else "store",
        type=int if row.kind == "whole" else str,
        choices=row.allowed if row.kind == "choice" else None,
        metavar=row.metavar,
        help=_help(row),
    )


def dest(row: Setting) -> str:
    """Return the name under which pytest keeps an option: ``ctxguard_model``."""
    return row.option.lstrip("-").replace("-", "_")


def _ini_type(row: Setting) -> IniType:
    """Return pytest's name for what an ini key holds, as text or as native TOML."""
    if row.kind == "whole":
        return "int" if NATIVE_INTEGERS else "string"
    return INI_TYPES.get(row.kind, "string")


def _help(row: Setting) -> str:
    """Return the help of an option or ini key: what it does, what is allowed, the default."""
    parts = [" or ".join(row.allowed)] if row.allowed else []
    if row.option and row.ini:
        parts.append(f"ini {row.ini}")
    if row.kind != "flag" and row.default not in ("", (), None):
        parts.append(f"default {row.default}")
    return row.help.removesuffix(".") + (f" ({'; '.join(parts)})." if parts else ".")


def refuse_alone(config: pytest.Config) -> None:
    """Refuse what changes or compares the baseline without ``--ctxguard``: nothing would run.

    Raises:
        pytest.UsageError: so.
    """
    for row in SETTINGS:
        if row.name in CHANGING and config.getoption(dest(row)):
            raise pytest.UsageError(f"{row.option} needs --ctxguard: give both")


def is_worker(config: pytest.Config) -> bool:
    """Tell whether this process is an xdist worker."""
    return hasattr(config, "workerinput")


def worker_count(config: pytest.Config) -> int:
    """Return how many xdist workers this run has; 0 where tests run in this process.

    ``-n``, ``auto`` and ``logical`` too, and ``--maxprocesses`` have become ``--tx`` by then.
    """
    if config.getoption("dist", "no") == "no" or config.getoption("collectonly"):
        return 0  # --tx alone starts none
    specs = config.getoption("tx", None) or ()  # popen, 3*popen//python=python3.12, …
    counts = [spec.partition("*")[0] for spec in specs]
    return sum(int(count) if count.isdecimal() else 1 for count in counts)
