"""Reports of shards, merged by the command: the same verdict as one run of everything."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_ctxguard.cli.main import cli, main
from pytest_ctxguard.report.json_file import dumps, read_run
from pytest_ctxguard.report.run import Collection, Effort, Run
from tests.plugin.conftest import project, tokenizer  # noqa: F401 - a small pytest project
from tests.plugin.project import UPDATE, Project

SPLITTER = """
    import os
    import zlib

    def pytest_collection_modifyitems(config, items):
        number, of = map(int, os.environ["SHARD"].split("/"))
        mine = [i for i in items if zlib.crc32(i.nodeid.encode()) % of == number]
        config.hook.pytest_deselected(items=[i for i in items if i not in mine])
        items[:] = mine
    """
COST = """
    @pytest.mark.ctx_token_cost
    @pytest.mark.parametrize("last", [4, 6, 8])
    def test_cost(ctx_replay, last):
        ctx_replay("mini", SlidingWindow(last=last))

    @pytest.mark.ctx_answered("shard")
    def test_answered(ctx_replay):
        ctx_replay("mini", full_history)
    """
GONE = """
    @pytest.mark.ctx_token_cost
    def test_gone(ctx_replay):
        ctx_replay("mini", SlidingWindow(last=2))
    """
CARRIED = """
    @pytest.mark.ctx_carried("shard")
    def test_lost(ctx_replay):
        ctx_replay("mini", SlidingWindow(last=4))

    @pytest.mark.xfail
    @pytest.mark.ctx_carried("employee")
    def test_expected(ctx_replay):
        ctx_replay("mini", SlidingWindow(last=4))

    @pytest.mark.skip(reason="not today")
    def test_skipped(ctx_replay):
        ctx_replay("mini", full_history)

    def test_plain():
        pass
    """


@pytest.fixture
def suite(
    project: Project,  # noqa: F811
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> Project:
    """Two modules, a baseline of which one entry is measured by no test, and a splitter."""
    pytester.makepyfile(splitter=SPLITTER)
    pytester.syspathinsert()
    monkeypatch.setenv("SHARD", "0/1")
    recorded = project.with_test(COST + GONE, module="test_cost")
    assert recorded.run("-psplitter", *UPDATE).exit == 0
    return project.with_test(COST, module="test_cost").with_test(
        CARRIED, module="test_facts_of_shards"
    )


def report(path: Path) -> tuple[str, str]:
    """Return a report's bytes without its effort, and its verdict."""
    tree = json.loads(path.read_bytes())
    del tree["effort"]
    return json.dumps(tree), tree["verdict"]


def run_shard(suite: Project, name: str, *arguments: str) -> Path:
    suite.run("-psplitter", "--ctxguard", f"--ctxguard-report={name}", *arguments)
    return suite.root / name


def merge(*arguments: object):
    return CliRunner().invoke(cli, ["merge", *map(str, arguments)])


@pytest.mark.parametrize("shards", [2, 3])
def test_shards_by_hash_come_to_the_single_run(
    suite: Project, monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    whole = run_shard(suite, "whole.json")
    parts = []
    for number in range(shards):
        monkeypatch.setenv("SHARD", f"{number}/{shards}")
        parts.append(run_shard(suite, f"shard-{number}.json"))

    merged = suite.root / "merged.json"
    result = merge(*reversed(parts), "--expect", shards, "--report", merged)

    assert result.exit_code == 1
    assert report(merged) == report(whole)
    assert report(merged)[1] == "fail"
    assert "1 entry in the baseline of test_cost.py is measured by no test" in result.stdout
    assert "test_cost.py::test_gone" in result.stdout


def test_shards_by_path_come_to_the_single_run(suite: Project) -> None:
    whole = run_shard(suite, "whole.json")
    parts = [
        run_shard(suite, f"{name}.json", f"{name}.py")
        for name in ("test_cost", "test_facts_of_shards")
    ]

    merged = suite.root / "merged.json"
    result = merge(*parts, "--report", merged)

    assert result.exit_code == 1
    assert report(merged) == report(whole)


def test_a_shard_alone_decides_nothing_about_the_whole(
    suite: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARD", "0/2")

    run = read_run(run_shard(suite, "shard-0.json"))

    assert not run.findings
    assert all(change.state != "stale" for change in run.changes)


def test_a_suite_that_keeps_its_promises_passes(
    suite: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = replace(
        suite, files={k: v for k, v in suite.files.items() if k != "test_facts_of_shards.py"}
    )
    kept = kept.with_test(COST + GONE, module="test_cost")
    parts = []
    for number in range(2):
        monkeypatch.setenv("SHARD", f"{number}/2")
        parts.append(run_shard(kept, f"shard-{number}.json", "test_cost.py"))

    result = merge(*parts, "--expect", 2)

    assert (result.exit_code, result.stderr) == (0, "")
    assert "PASS: 5 tests: 5 passed" in result.stdout


def test_one_shard_of_two_is_said_to_lack_tests(
    suite: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARD", "0/2")
    part = run_shard(suite, "shard-0.json")

    result = merge(part, "--expect", 2)

    assert result.exit_code == 1
    assert "1 reports for 2 shards" in result.stdout
    assert "guarded tests were collected, and run by no shard" in result.stdout


def test_a_merge_is_written_as_markdown_and_into_the_steps_summary(
    suite: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    part = run_shard(suite, "whole.json")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))

    result = merge(part, "--report", tmp_path / "report.md")

    assert result.exit_code == 1, result.exception
    written = (tmp_path / "report.md", tmp_path / "summary.md")
    assert all("the policy dropped 'shard'" in unescape(path.read_text()) for path in written)


# what cannot be merged


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A report of a shard without guarded tests."""
    path = tmp_path / "shard-1.json"
    narrowed = Collection(narrowed=("tests were deselected",))
    path.write_text(dumps(Run(collection=narrowed, effort=Effort(seconds=1.5))))
    return path


def test_a_run_without_tests_passes_as_it_did(empty: Path) -> None:
    assert merge(empty).exit_code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"schema": 1, "verdict": "pa', "not a report of a run"),
        ("", "not a report of a run"),
        ("[]", "schema None is not supported"),
        ('{"version": 1, "entries": {}}', "schema None is not supported"),
        ('{"schema": 99}', "schema 99 is not supported"),
        ('{"schema": 1, "tests": 7}', "not a report of a run"),
    ],
    ids=["cut", "empty", "list", "baseline", "newer", "no-tests"],
)
def test_what_is_no_report_is_an_error_with_its_place(
    tmp_path: Path,
    empty: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    said: str,
) -> None:
    broken = tmp_path / "shard-2.json"
    broken.write_text(text)
    monkeypatch.setattr(sys, "argv", ["pytest-ctxguard", "merge", str(empty), str(broken)])

    with pytest.raises(SystemExit) as caught:
        main()

    assert caught.value.code == 1
    printed = capsys.readouterr().err
    assert printed.startswith(f"error: {broken}: {said}")
    assert printed.count("\n") == 1


def test_a_pattern_that_the_shell_left_is_said_to_match_nothing(tmp_path: Path) -> None:
    result = merge(tmp_path / "shard-*.json")

    assert result.exit_code == 2
    assert "shard-*.json: no file has such a name" in result.stderr
    assert "--ctxguard-report" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument"),
        (("nowhere.json",), "nowhere.json: there is no such file"),
        (("{empty}", "{empty}"), "is given twice"),
        (("{empty}", "--report", "out.txt"), "'out.txt' names no report: it ends in .json"),
        (("{empty}", "--expect", "0"), "--expect"),
        (("{empty}", "--baseline-root", "nowhere"), "--baseline-root"),
    ],
    ids=["nothing", "missing", "twice", "suffix", "zero", "root"],
)
def test_a_bad_call_is_status_two(empty: Path, arguments: tuple[str, ...], said: str) -> None:
    result = merge(*(each.format(empty=empty) for each in arguments))

    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_a_report_that_cannot_be_written_is_no_pass(empty: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    result = merge(empty, "--report", tmp_path / "file" / "report.json")

    assert result.exit_code == 1
    assert "Could not open file" in result.stderr


def test_shards_of_another_run_are_an_error_that_names_both(empty: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    run = read_run(empty)
    other.write_text(dumps(replace(run, instruments=replace(run.instruments, seed=1))))

    result = merge(empty, other)

    assert result.exit_code == 1
    assert str(result.exception).startswith(f"{empty} and {other} were not judged alike: seed 0")
