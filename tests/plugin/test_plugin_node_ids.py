"""Node ids are the same in every distribution: xdist's groups are in none of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_ctxguard.plugin.names import node_id
from tests.plugin.engines import reported
from tests.plugin.project import UPDATE, Project

GROUPED = """
    from pathlib import Path

    @pytest.mark.ctx_token_cost
    @pytest.mark.xdist_group("a@b")
    class TestIt:
        @pytest.mark.parametrize("text", ["plain", "x@y", "x@a@b"])
        def test_it(self, ctx_replay, text):
            ctx_replay("mini", full_history)

        @pytest.mark.xdist_group(name="other")
        def test_two_groups(self, ctx_replay):
            ctx_replay("mini", full_history)

    @pytest.mark.ctx_token_cost
    @pytest.mark.xdist_group
    def test_unnamed(ctx_replay):
        ctx_replay("mini", full_history)

    @pytest.mark.ctx_token_cost
    @pytest.mark.xdist_group("teardown")
    def test_teardown(ctx_replay, broken):
        ctx_replay("mini", full_history)

    @pytest.fixture
    def broken():
        yield
        raise RuntimeError("left open")
    """
REPORT = "--ctxguard-report=report.json"


def test_a_group_is_in_no_key_and_in_no_report(project: Project) -> None:
    suite = project.with_test(GROUPED)
    alone = suite.run(*UPDATE, REPORT)
    written = alone.baseline_path.read_bytes()
    judged = suite.run("--ctxguard", REPORT)
    expected = reported(judged)
    assert "test_mini.py::test_unnamed" in [test["nodeid"] for test in expected["tests"]]

    grouped = suite.run("--ctxguard", REPORT, "-n2", "--dist=loadgroup")

    assert reported(grouped) == expected
    assert grouped.baseline_path.read_bytes() == written
    grouped.baseline_path.unlink()
    again = suite.run(*UPDATE, "-n2", "--dist=loadgroup")
    assert again.baseline_path.read_bytes() == written


RECORDING = """
    @pytest.mark.xdist_group("one")
    @pytest.mark.ctx_cassette("same")
    def test_recorded(ctx_record):
        pass
    """


def test_a_test_in_a_group_keeps_its_own_cassette(project: Project) -> None:
    result = project.with_test(RECORDING).run("--ctxguard", "-n1", "--dist=loadgroup")

    assert "one would write over the other" not in result.text


def item(nodeid: str, *groups: pytest.Mark, loadgroup: bool = True):
    """Return what ``node_id`` looks at, as xdist's worker leaves it."""
    options = {"loadgroup": loadgroup}
    return SimpleNamespace(
        nodeid=nodeid,
        config=SimpleNamespace(getoption=lambda name, default: options.get(name, default)),
        iter_markers=lambda name: iter(groups),
    )


@pytest.mark.parametrize(
    ("renamed", "marks", "own"),
    [
        ("t.py::test_it@g", [pytest.mark.xdist_group("g")], "t.py::test_it"),
        ("t.py::test_it[x@g]@g", [pytest.mark.xdist_group("g")], "t.py::test_it[x@g]"),
        ("t.py::test_it@default", [pytest.mark.xdist_group], "t.py::test_it"),
        ("t.py::test_it@3", [pytest.mark.xdist_group(name=3)], "t.py::test_it"),
        (
            "t.py::test_it@a@b_c",
            [pytest.mark.xdist_group("c"), pytest.mark.xdist_group("a@b")],
            "t.py::test_it",
        ),
        ("t.py::test_it[x@g]", [], "t.py::test_it[x@g]"),
        ("t.py::test_it", [pytest.mark.xdist_group("g")], "t.py::test_it"),
    ],
)
def test_what_xdist_appends_is_taken_off_and_nothing_else(renamed, marks, own) -> None:
    assert node_id(item(renamed, *(mark.mark for mark in marks))) == own


def test_without_loadgroup_nothing_is_taken_off() -> None:
    mark = pytest.mark.xdist_group("g").mark
    assert node_id(item("t.py::test@g", mark, loadgroup=False)) == "t.py::test@g"
