"""``--ctxguard-compare REF``: states are against the baseline of a git ref; nothing is written."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.plugin.project import UPDATE, Project

COST = """
    @pytest.mark.ctx_token_cost
    def test_{name}(ctx_replay):
        ctx_replay("mini", UserMessages(last_turns={turns}))
    """
MAIN = ("--ctxguard", "--ctxguard-compare=main")


def git(project: Project, *arguments: str) -> None:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    hidden = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(
        ["git", *identity, *arguments],  # noqa: S607  # from PATH, as the package does
        cwd=project.root,
        check=True,
        capture_output=True,
        env={**os.environ, **hidden},
    )


def costs(**turns: int) -> str:
    return "".join(COST.format(name=name, turns=count) for name, count in turns.items())


@pytest.fixture
def branch(project: Project) -> Project:
    """On main 4 turns cost 26,009; the branch has accepted what 6 cost."""
    git(project, "init", "--initial-branch=main")
    project.with_test(costs(a=4, b=4)).run(*UPDATE)
    git(project, "add", "test_mini.ctxguard.json")
    git(project, "commit", "-m", "main")
    project.with_test(costs(a=6, c=4)).run(*UPDATE)
    return project


def test_states_are_against_the_ref_and_the_header_says_so(branch: Project) -> None:
    before = branch.baseline_path.read_bytes()
    changed = branch.with_test(costs(a=6, c=4))

    here = changed.run("--ctxguard")
    there = changed.run(*MAIN)

    assert here.outcomes == {"passed": 2}
    assert there.outcomes == {"failed": 1, "passed": 1}
    assert there.findings("test_a")["ctx_token_cost.dearer"]["allowed"].startswith("26,009 in ")
    assert "; against the baseline of main\n" in there.text
    assert branch.last_run["instruments"]["compare"] == "main"
    rows = branch.last_run["changes"]
    assert [(row["nodeid"], row["state"]) for row in rows] == [
        ("test_mini.py::test_a", "regressed"),
        ("test_mini.py::test_c", "new"),
        ("test_mini.py::test_b", "stale"),
    ]
    assert branch.baseline_path.read_bytes() == before


def test_no_text_offers_a_command_that_refuses_what_was_compared_with_a_ref(
    branch: Project,
) -> None:
    result = branch.with_test(costs(a=6, c=4)).run(*MAIN)

    assert "or accept: after a run without --ctxguard-compare" in result.text
    assert "pytest-ctxguard accept" not in result.text
    assert "--ctxguard-update" not in result.text


@pytest.mark.parametrize("ci", ["", "1"])
def test_what_is_new_or_gone_beside_the_ref_is_said_and_fails_nothing(
    branch: Project, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    monkeypatch.setenv("CI", ci)

    result = branch.with_test(costs(a=4, c=4)).run(*MAIN)

    assert (result.exit, result.outcomes) == (0, {"passed": 2})
    assert branch.last_run["findings"] == []


def test_so_it_is_under_xdist(branch: Project) -> None:
    changed = branch.with_test(costs(a=6, c=4))
    changed.run(*MAIN)
    alone = {key: branch.last_run[key] for key in ("tests", "changes", "findings", "collection")}

    assert changed.run(*MAIN, "-n2").exit == 1
    assert {key: branch.last_run[key] for key in alone} == alone


@pytest.mark.parametrize("ref", ["mian", "--output=x", "main:test_mini.py"])
def test_a_ref_that_is_none_ends_the_run_before_it_begins(branch: Project, ref: str) -> None:
    result = branch.run("--ctxguard", f"--ctxguard-compare={ref}")

    assert (result.exit, result.outcomes) == (4, {})
    assert f"--ctxguard-compare {ref}" in result.text.replace("'", "")


def test_git_is_not_run_unless_it_is_asked_for(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    guarded = project.with_test(costs(a=4))

    assert guarded.run(*UPDATE).exit == guarded.run("--ctxguard").exit == 0
    assert "git is not installed" in guarded.run(*MAIN).text
