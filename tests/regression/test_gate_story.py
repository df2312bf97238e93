"""The gate as people meet it: a pull request that drops a fact and makes a session dearer.

Every step is a process of its own, as at a desk and in CI.
"""

from __future__ import annotations

import json
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from tests.plugin.conftest import project, tokenizer  # noqa: F401 - a small pytest project
from tests.plugin.project import UPDATE, Project, Result

AGENT = """\
def remember(messages):
    \"\"\"Keep what the user said, and the newest messages.\"\"\"
    old = [m for m in messages[:-4] if m["role"] in {kept}]
    return [*old, *messages[-4:]]


def window(messages):
    \"\"\"Keep the newest messages.\"\"\"
    return messages[-{last}:]
"""
ON_MAIN = AGENT.format(kept='("system", "user")', last=8)
FORGETFUL_AND_DEARER = AGENT.format(kept='("system",)', last=16)
DEARER = AGENT.format(kept='("system", "user")', last=16)
TESTS = """
    import agent

    @pytest.mark.ctx_carried("shard")
    @pytest.mark.ctx_answered("shard", at_least=3)
    def test_memory(ctx_replay):
        ctx_replay("mini", agent.remember)

    @pytest.mark.ctx_token_cost(max_increase=0.02)
    def test_cost(ctx_replay):
        ctx_replay("mini", agent.window)
    """
REASON = "the last tool round must stay whole, see the incident of 3 March"
FORGOT = "[ctx_carried.lost] the policy dropped 'shard' ('pay-core-07')"
COSTS = "[ctx_token_cost.dearer] the session costs"


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    command = ["git", *who, *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def accept(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from pytest_ctxguard.cli.main import main; main()", "accept"]
    return subprocess.run(
        [*command, *arguments], cwd=folder, check=False, capture_output=True, text=True
    )


@pytest.fixture
def main_branch(project: Project) -> Project:  # noqa: F811
    """A project with a baseline, both committed to main."""
    made = project.with_test(TESTS).with_file("agent.py", ON_MAIN)
    assert made.run(*UPDATE, subprocess=True).exit == 0
    git(made.root, "init", "--quiet", "--initial-branch=main")
    git(made.root, "add", "--all")
    git(made.root, "commit", "--quiet", "--message=Both promises hold")
    return made


def run(project: Project, agent: str, *arguments: str) -> Result:  # noqa: F811
    changed = project.with_file("agent.py", agent)
    reports = ("--ctxguard-report=run.json", "--ctxguard-report=run.md")
    return changed.run("--ctxguard", *reports, *arguments, subprocess=True)


def states(result: Result) -> dict[str, str]:
    tree = json.loads((result.root / "run.json").read_bytes())
    return {change["nodeid"].partition("::")[2]: change["state"] for change in tree["changes"]}


def test_the_story_of_a_pull_request(main_branch: Project) -> None:
    # At main everything holds.
    held = run(main_branch, ON_MAIN)
    assert (held.exit, states(held)) == (0, {"test_memory": "unchanged", "test_cost": "unchanged"})
    git(main_branch.root, "switch", "--quiet", "--create", "shorter-memory")

    # Compared with the baseline of main, a change that forgets a fact and costs more fails.
    compared = run(main_branch, FORGETFUL_AND_DEARER, "--ctxguard-compare=main")
    assert compared.exit == 1
    assert states(compared) == {"test_memory": "regressed", "test_cost": "regressed"}
    assert FORGOT in compared.text
    assert COSTS in compared.text

    # With the one beside the tests it does, too. Both are said, each in five parts.
    broken = run(main_branch, FORGETFUL_AND_DEARER)
    assert broken.exit == 1
    assert states(broken) == states(compared)
    memory, cost = broken.findings("test_memory"), broken.findings("test_cost")
    assert memory.keys() == {"ctx_carried.lost", "ctx_answered.too-few", "ctx_answered.lost-hits"}
    assert memory["ctx_carried.lost"]["measured"] == "carried in 0 of 3 requests"
    assert memory["ctx_answered.lost-hits"]["allowed"] == "at most 0 of the baseline's hits lost"
    assert cost.keys() == {"ctx_token_cost.dearer"}
    assert "in the baseline, and 2.0% more" in cost["ctx_token_cost.dearer"]["allowed"]
    assert "pytest-ctxguard accept" in cost["ctx_token_cost.dearer"]["remedy"]
    markdown = unescape((broken.root / "run.md").read_text())
    assert FORGOT.partition("] ")[2] in markdown
    assert COSTS.partition("] ")[2] in markdown

    # What it costs is accepted, with a reason. What it forgets is not.
    assert accept(broken.root, "test_mini.py::test_cost").returncode == 2  # no reason
    done = accept(broken.root, "test_mini.py::test_cost", "--reason", REASON)
    assert (done.returncode, done.stderr) == (0, "")
    assert REASON in (broken.root / "test_mini.ctxguard.json").read_text()
    after = run(main_branch, FORGETFUL_AND_DEARER)
    assert after.exit == 1
    assert states(after) == {"test_memory": "regressed", "test_cost": "unchanged"}
    assert FORGOT in after.text
    assert COSTS not in after.text
    assert REASON in (after.root / "run.json").read_text()
    assert REASON in unescape((after.root / "run.md").read_text())
    assert states(run(main_branch, FORGETFUL_AND_DEARER, "--ctxguard-compare=main")) == {
        "test_memory": "regressed",
        "test_cost": "regressed",
    }

    # The policy remembers again: green, and the accepted cost stays accepted.
    mended = run(main_branch, DEARER)
    assert (mended.exit, mended.outcomes) == (0, {"passed": 2})
    assert states(mended) == {"test_memory": "unchanged", "test_cost": "unchanged"}
    assert REASON in (mended.root / "test_mini.ctxguard.json").read_text()


def test_the_page_shows_both_findings_and_both_changes(main_branch: Project) -> None:
    pytest.importorskip("vl_convert", reason="the extra html is not installed")

    broken = run(main_branch, FORGETFUL_AND_DEARER, "--ctxguard-report=run.html")

    page = unescape((broken.root / "run.html").read_text())
    assert broken.exit == 1
    assert FORGOT.partition("] ")[2] in page
    assert COSTS.partition("] ")[2] in page
    assert "test_mini.py::test_memory" in page
    assert "test_mini.py::test_cost" in page
    assert "regressed" in page
