"""The rooms of docs/design.md: upper ones import lower ones only."""

import pkgutil
import tomllib
from pathlib import Path

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

import pytest_ctxguard

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
BESIDE = {
    "adapt",
    "testing",
    "strategies",
}  # for users; what needs one of them imports it in a function


def contracts():
    return tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"]


def test_the_contracts_hold(capsys):
    status = lint_imports(config_filename=str(PYPROJECT), no_cache=True)
    output = capsys.readouterr().out
    assert status == EXIT_STATUS_SUCCESS, output
    assert f"{len(contracts())} kept, 0 broken" in output


def test_the_layers_name_every_room():
    [layers] = [each["layers"] for each in contracts() if each["name"].startswith("rooms:")]
    named = [room.strip() for layer in layers for room in layer.split("|")]
    rooms = {module.name for module in pkgutil.iter_modules(pytest_ctxguard.__path__)}
    assert len(named) == len(set(named))
    assert set(named) == rooms - BESIDE


def test_every_room_but_the_plugin_is_kept_from_pytest():
    [kept] = [contract for contract in contracts() if contract["type"] == "forbidden"]
    rooms = {module.name for module in pkgutil.iter_modules(pytest_ctxguard.__path__)}
    assert set(kept["forbidden_modules"]) == {"pytest", "_pytest"}
    assert {name.partition(".")[2] for name in kept["source_modules"]} == rooms - BESIDE - {
        "plugin"
    }
