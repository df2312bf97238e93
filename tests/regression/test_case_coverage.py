"""Each public report has a test that is named after it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CASES = TESTS.parents[1] / "shared" / "cases" / "cases.jsonl"
here = pytest.mark.skipif(not CASES.is_file(), reason="the list of reports is not beside us")


def named(case: str) -> re.Pattern[str]:
    """Return what finds a case's id in a text, written with ``-`` or ``_``."""
    kind, number = case.split("-")
    return re.compile(rf"(?<![A-Za-z0-9]){kind}[-_]{number}(?![0-9])")


def cases() -> list[str]:
    """Return the ids of the cases."""
    return [json.loads(line)["id"] for line in CASES.read_text(encoding="utf-8").splitlines()]


def collected(paths: list[Path]) -> list[str]:
    """Return the names of the tests in these files, parameters included, as pytest has them."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *map(str, paths)],
        cwd=TESTS.parent,
        env=ours,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]


@here
def test_every_reported_case_has_a_test_of_its_name():
    wanted = {case: named(case) for case in cases()}
    assert wanted
    paths = [
        path
        for path in sorted(TESTS.rglob("test_*.py"))
        if any(pattern.search(path.read_text(encoding="utf-8")) for pattern in wanted.values())
    ]
    tests = collected(paths)
    without = [case for case, name in wanted.items() if not any(map(name.search, tests))]
    assert without == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("test_pair_07_at_every_limit", True),
        ("test_case[pair-07]", True),
        ("test_case[pair-070]", False),
        ("test_repair_07", False),
        ("test_pair_7", False),
    ],
)
def test_a_name_is_the_whole_id(text, found):
    assert bool(named("pair-07").search(text)) is found
