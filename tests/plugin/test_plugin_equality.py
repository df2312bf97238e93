"""The JSON report of a run is the same on any number of workers, in any distribution and order."""

from __future__ import annotations

import json

import pytest

from tests.plugin.engines import PROC, reported
from tests.plugin.project import UPDATE, Project

pytestmark = pytest.mark.skipif(not PROC.exists(), reason="looks for processes in /proc")

SUITE = """
    @pytest.mark.ctx_token_cost(max_increase=0.02)
    class TestPolicies:
        @pytest.mark.xdist_group("users@work")
        @pytest.mark.parametrize("turns", [1, 2, 4])
        def test_user(self, ctx_replay, turns):
            ctx_replay("mini", UserMessages(last_turns=turns), name="user")

        @pytest.mark.ctx_carried("shard", "employee")
        @pytest.mark.ctx_budget(500)
        def test_window(self, ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4))

        @pytest.mark.xfail(strict=True, reason="known")
        @pytest.mark.xdist_group(name="slow")
        def test_known(self, ctx_replay):
            ctx_replay("mini", SlidingWindow(last=6))

        def test_skips(self, ctx_replay):
            pytest.skip("not today")

        def test_nothing(self, ctx_replay):
            pass

    @pytest.mark.xdist_group
    @pytest.mark.ctx_prefix_stable(min_reuse=0.1)
    @pytest.mark.ctx_token_cost
    def test_prefix(ctx_replay):
        ctx_replay("mini", full_history, name="a@b")

    @pytest.mark.ctx_answered("shard")
    @pytest.mark.ctx_token_cost
    def test_answers(ctx_replay):
        ctx_replay("mini", UserMessages(last_turns=1))

    @pytest.mark.ctx_needle_recall(at_least=2)
    @pytest.mark.parametrize("records", [4, 5])
    def test_needles(ctx_recall, records):
        ctx_recall(full_history, records=records, depths=[1.0], trials=2, name="full")

    @pytest.mark.ctx_carried("sherd")
    def test_typo(ctx_replay):
        ctx_replay("mini", full_history)

    def test_policy(ctx_replay):
        def policy(messages):
            raise ValueError("no room")
        ctx_replay("mini", policy)

    def test_plain():
        pass
    """
SHUFFLING = """\
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.name[::-1])
"""
MODES = (
    "-n0",
    "-n2 --dist=load --maxschedchunk=1 -pshuffling",
    "-n4 -octxguard_engine=each",
    "-n3 --dist=loadgroup",
    "-n2 --dist=worksteal -octxguard_engine=each",
    "-n2 --dist=loadfile",
    "-n2 --dist=each",
)
FRESH = ("--ctxguard", "--ctxguard-fresh", "--ctxguard-report=report.json")


def test_a_report_does_not_depend_on_workers_distribution_or_order(shared: Project) -> None:
    suite = shared.with_test(SUITE).with_file("shuffling.py", SHUFFLING)
    suite.run(*UPDATE, subprocess=True)
    changed = suite.with_test(SUITE.replace("last_turns=turns", "last_turns=turns + 1"))
    alone = changed.run(*FRESH, subprocess=True)
    expected = json.dumps(reported(alone), indent=2)
    assert {test["verdict"] for test in reported(alone)["tests"]} >= {"pass", "fail", "error"}
    before = alone.baseline_path.read_bytes()

    for mode in MODES:
        result = changed.run(*FRESH, *mode.split())
        assert json.dumps(reported(result), indent=2) == expected, mode
        assert result.exit == alone.exit, mode
        assert result.baseline_path.read_bytes() == before, mode


@pytest.mark.parametrize("mode", ["-n2 --dist=loadgroup", "-n4 --dist=each -octxguard_engine=each"])
def test_nor_does_the_baseline_that_is_written(shared: Project, mode: str) -> None:
    suite = shared.with_test(SUITE)
    alone = suite.run(*UPDATE, subprocess=True)
    written = alone.baseline_path.read_bytes()
    assert b"test_prefix" in written
    alone.baseline_path.unlink()

    together = suite.run(*UPDATE, "--ctxguard-fresh", *mode.split())

    assert together.baseline_path.read_bytes() == written


def test_nor_on_the_order_of_pytest_randomly(shared: Project) -> None:
    pytest.importorskip("pytest_randomly")
    suite = shared.with_test(SUITE)
    expected = reported(suite.run(*FRESH, subprocess=True))

    for seed in ("1", "2"):
        for workers in ("-n0", "-n2"):
            options = ("-ppytest_randomly", f"--randomly-seed={seed}", workers)
            assert reported(suite.run(*FRESH, *options)) == expected
