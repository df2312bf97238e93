"""What changes a baseline: an update, an update of what is new, and accept; and nothing else."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from pytest_ctxguard.cli.main import cli
from pytest_ctxguard.errors import UsageError
from tests.plugin.project import UPDATE, Project, Result

ADD = ("--ctxguard", "--ctxguard-update-new")
TWO = """
    @pytest.mark.ctx_token_cost
    def test_cut(ctx_replay):
        ctx_replay("mini", UserMessages(last_turns={turns}))

    @pytest.mark.ctx_answered("shard", at_least={at_least})
    @pytest.mark.ctx_token_cost
    def test_full(ctx_replay):
        ctx_replay("mini", full_history)
    """


def two(*, turns: int = 4, at_least: int = 1) -> str:
    return TWO.format(turns=turns, at_least=at_least)


def accept(project: Project, *arguments: str) -> str:
    """Run the command in the project, and return what it prints."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project.root)
        done = CliRunner().invoke(cli, ["accept", *arguments])
    if done.exception is not None:
        raise done.exception
    return done.output


def changes(result: Result) -> dict[str, tuple[str, int | None, int | None]]:
    """Return test and metric -> state, value before, and value now."""
    rows = json.loads((result.root / ".pytest_cache/v/ctxguard/last-run.json").read_bytes())[
        "changes"
    ]
    return {
        f"{row['nodeid'].partition('::')[2]} {row['metric']}": (
            row["state"],
            (row["was"] or {}).get("value"),
            (row["now"] or {}).get("value"),
        )
        for row in rows
    }


def test_a_regression_is_accepted_with_a_reason_which_a_later_run_and_update_keep(
    project: Project,
) -> None:
    project.with_test(two()).run(*UPDATE)
    dearer = project.with_test(two(turns=6))
    failed = dearer.run("--ctxguard")

    said = accept(project, "test_mini.py::test_cut", "--reason", "six turns, since users ask back")
    passed = dearer.run("--ctxguard")
    dearer.run(*UPDATE)

    value = changes(failed)["test_cut billed_input_tokens"][2]
    assert failed.outcomes == {"failed": 1, "passed": 1}
    assert said == f"test_mini.py::test_cut billed_input_tokens: 26,009 -> {value:,}\n"
    assert passed.outcomes == {"passed": 2}
    kept = project.entries["test_cut"][""]["billed_input_tokens"]
    assert kept["accepted"] == {"reason": "six turns, since users ask back", "was": 26009}
    assert kept["value"] == value

    project.with_test(two(turns=2)).run(*UPDATE)
    assert "accepted" not in project.entries["test_cut"][""]["billed_input_tokens"]


def test_what_no_baseline_can_mend_is_not_accepted(project: Project) -> None:
    flipping = project.with_test(two()).with_backend("flipping")
    project.with_test(two()).run(*UPDATE)
    flipping.with_test(two(at_least=3)).run("--ctxguard")

    with pytest.raises(UsageError, match=r"more than its baseline: \[ctx_answered.too-few\]"):
        accept(project, "test_mini.py::test_full", "--reason", "so it is")

    lost = flipping.run("--ctxguard")
    assert lost.findings("test_full").keys() == {"ctx_answered.lost-hits"}
    said = accept(project, "test_mini.py::test_full", "--reason", "so it is")
    assert said == "test_mini.py::test_full answered.shard: 3 of 3 -> 2 of 3\n"
    assert flipping.run("--ctxguard").outcomes == {"passed": 2}


def test_the_workers_of_xdist_leave_a_run_that_can_be_accepted(project: Project) -> None:
    project.with_test(two()).run(*UPDATE)
    dearer = project.with_test(two(turns=6))
    dearer.run("--ctxguard", "-n2")

    accept(project, "test_mini.py::test_cut", "--reason", "so it is")

    assert dearer.run("--ctxguard").outcomes == {"passed": 2}


def test_an_update_says_what_changes_and_of_what_kind_it_is(project: Project) -> None:
    project.with_test(two()).run(*UPDATE)

    updated = project.with_test(two(turns=6)).with_backend("flipping").run(*UPDATE)

    assert updated.outcomes == {"passed": 2}
    assert {name: state for name, (state, _, _) in changes(updated).items()} == {
        "test_cut billed_input_tokens": "regressed",
        "test_full answered.shard": "regressed",
        "test_full billed_input_tokens": "unchanged",
    }


def test_an_update_of_what_is_new_adds_and_judges_the_rest(project: Project) -> None:
    one = two().partition("@pytest.mark.ctx_answered")[0]
    before = project.with_test(one).run(*UPDATE).baseline["entries"]

    added = project.with_test(two(turns=6)).run(*ADD)

    assert added.outcomes == {"failed": 1, "passed": 1}
    assert added.findings("test_cut").keys() == {"ctx_token_cost.dearer"}
    assert "; adding what is new\n" in added.text
    assert {k: v for k, v in project.entries.items() if k != "test_full"} == before
    assert list(project.entries["test_full"][""]) == ["answered.shard", "billed_input_tokens"]


def test_an_update_of_what_is_new_removes_nothing_and_writes_no_test_that_failed(
    project: Project,
) -> None:
    project.with_test(two()).run(*UPDATE)
    before = project.baseline_path.read_bytes()
    labelled = two(turns=6).replace("turns=6)", 'turns=6), name="new"')
    only = labelled.partition("@pytest.mark.ctx_answered")[0]
    broken = project.with_test("\n    @pytest.mark.ctx_budget(9)" + only)

    result = broken.run(*ADD)

    assert result.exit == 1
    assert project.baseline_path.read_bytes() == before


def test_new_values_may_be_added_in_ci_when_it_is_said(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "1")

    result = project.with_test(two()).run(*ADD, "-octxguard_update_in_ci=true")

    assert (result.exit, result.outcomes) == (0, {"passed": 2})
    assert list(project.entries) == ["test_cut", "test_full"]


@pytest.mark.parametrize("option", [UPDATE, ADD])
def test_a_file_that_cannot_be_written_fails_the_run_and_is_named(
    project: Project, monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...]
) -> None:
    (project.root / "cache").write_text("in the way of the folder with the locks")
    monkeypatch.setenv("CTXGUARD_CACHE", str(project.root / "cache"))

    result = project.with_test(two()).run(*option, "-k", "test_cut")

    assert (result.exit, result.outcomes["passed"]) == (1, 1)
    assert "the baseline test_mini.ctxguard.json cannot be written" in result.text
    assert not project.baseline_path.exists()
