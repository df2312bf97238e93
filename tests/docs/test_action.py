"""The GitHub Action: it is one, and the step that runs pytest keeps the reports and the status."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.pages import ROOT
from tests.docs.test_pages import BASH, PROJECT, environment

ACTION = ROOT / "action.yml"
TEST = """\
import pytest
from pytest_ctxguard import SlidingWindow, UserMessages

@pytest.mark.ctx_carried("shard")
@pytest.mark.parametrize("policy", [SlidingWindow(last=12), UserMessages(last_turns=4)], ids="ab")
def test_one(ctx_replay, policy):
    ctx_replay("incident-40", policy)
"""


def action() -> Any:
    return yaml.safe_load(ACTION.read_text(encoding="utf-8"))


def test_it_is_an_action() -> None:
    schema = ["--builtin-schema", "vendor.github-actions"]
    command = [sys.executable, "-m", "check_jsonschema", *schema, str(ACTION)]
    subprocess.run(command, check=True)


def test_what_it_uses_is_pinned_by_commit() -> None:
    used = [step["uses"] for step in action()["runs"]["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", each) for each in used)


def test_every_expression_names_something_there_is() -> None:
    text = ACTION.read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(action()["inputs"])
    steps = {step["id"] for step in action()["runs"]["steps"] if "id" in step}
    assert set(re.findall(r"steps\.(\w+)\.", text)) <= steps


@pytest.mark.parametrize(
    ("arguments", "html", "status", "reports"),
    [
        ("", "true", 1, {"json", "md", "html"}),
        ("-k 'one and b'", "false", 0, {"json", "md"}),
        ("test_missing.py", "true", 4, None),
    ],
)
def test_the_step_keeps_the_status_and_the_reports(
    tmp_path: Path, arguments: str, html: str, status: int, reports: set[str] | None
) -> None:
    shutil.copytree(PROJECT, tmp_path, dirs_exist_ok=True)
    (tmp_path / "test_it.py").write_text(TEST)
    [step] = [step for step in action()["runs"]["steps"] if step.get("id") == "pytest"]
    given = {"arguments": arguments, "tier": "structure", "report": "context", "html": html}
    env = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], value)
        for name, value in step["env"].items()
    }
    result = subprocess.run(
        [BASH, "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env={**environment(), **env, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == status, result.stdout + result.stderr
    if reports is not None:
        written = {path.suffix[1:] for path in tmp_path.glob("context.*") if path.stat().st_size}
        assert written == reports
        assert (tmp_path / "summary.md").stat().st_size > 0
