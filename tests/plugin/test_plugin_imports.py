from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.plugin.project import Project

HEAVY = ("click", "hypothesis", "jinja2", "numpy", "onnx", "onnxruntime", "rich", "tokenizers")
HEAVY_AND_YAML = (*HEAVY, "vcr", "yaml")

LISTING_CONFTEST = f"""
import json, sys
from pathlib import Path

def pytest_sessionfinish(session):
    loaded = sorted(set({HEAVY_AND_YAML!r}) & set(sys.modules))
    ours = sorted(name for name in sys.modules if name.startswith("pytest_ctxguard.plugin"))
    Path(session.config.rootpath, "loaded.json").write_text(json.dumps([loaded, ours]))
"""


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ((), "pytest_ctxguard.plugin.deselecting"),
        (("--ctxguard",), "pytest_ctxguard.plugin.guarding"),
    ],
    ids=["plain", "ctxguard"],
)
def test_a_run_without_guarded_tests_loads_nothing_heavy(
    project: Project, options: tuple[str, ...], part: str
) -> None:
    light = project.with_file("conftest.py", LISTING_CONFTEST).with_test("def test_it(): pass")

    result = light.run(*options, subprocess=True)

    loaded, ours = json.loads((project.root / "loaded.json").read_text())
    assert result.outcomes == {"passed": 1}
    assert part in ours
    assert loaded == []


def test_a_run_that_replays_does_load_the_tokenizer(project: Project) -> None:
    light = project.with_file("conftest.py", LISTING_CONFTEST).with_test(
        'def test_it(ctx_replay): ctx_replay("mini", full_history)'
    )

    light.run("--ctxguard", subprocess=True)

    loaded, _ = json.loads((project.root / "loaded.json").read_text())
    assert loaded == ["jinja2", "tokenizers"]


def test_a_plain_run_loads_no_part_that_judges(project: Project) -> None:
    guarded = project.with_file("conftest.py", LISTING_CONFTEST).with_test(
        'def test_it(ctx_replay): ctx_replay("mini", full_history)'
    )

    guarded.run(subprocess=True)

    loaded, ours = json.loads((project.root / "loaded.json").read_text())
    assert loaded == []
    assert ours == [
        "pytest_ctxguard.plugin",
        "pytest_ctxguard.plugin.deselecting",
        "pytest_ctxguard.plugin.fixtures",
        "pytest_ctxguard.plugin.hooks",
        "pytest_ctxguard.plugin.names",
        "pytest_ctxguard.plugin.settings",
        "pytest_ctxguard.plugin.settings.options",
        "pytest_ctxguard.plugin.settings.table",
    ]


@pytest.mark.parametrize(
    "module",
    [
        "pytest_ctxguard",
        "pytest_ctxguard.plugin",
        "pytest_ctxguard.plugin.guarding",
        "pytest_ctxguard.testing",
    ],
)
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(sorted(set({HEAVY_AND_YAML!r}) & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
