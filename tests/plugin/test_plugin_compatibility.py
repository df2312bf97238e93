"""Under pytest's own options and beside other plugins, in one process and under xdist."""

from __future__ import annotations

import pytest

from tests.plugin.project import UPDATE, Project

WORKERS = pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["one-process", "two-workers"])
ASYNCIO = ("-ppytest_asyncio.plugin", "-oasyncio_default_fixture_loop_scope=function")
THREE = """
    @pytest.mark.ctx_budget(100)
    def test_over(ctx_replay): ctx_replay("mini", full_history, expect_identity=True)

    @pytest.mark.ctx_token_cost
    @pytest.mark.parametrize("last", [1, 3], ids=["one", "three"])
    def test_window(ctx_replay, last): ctx_replay("mini", SlidingWindow(last=last))

    def test_plain(): pass
    """


def test_without_the_plugin_a_suite_without_marks_runs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")

    plain = pytester.runpytest_subprocess("-pno:ctxguard", "-pno:asyncio", "-W", "error")
    asked = pytester.runpytest_subprocess("-pno:ctxguard", "-pno:asyncio", "--ctxguard")

    plain.assert_outcomes(passed=1)
    assert asked.ret == pytest.ExitCode.USAGE_ERROR


@WORKERS
def test_collecting_only_judges_and_writes_nothing(
    project: Project, workers: tuple[str, ...]
) -> None:
    result = project.with_test(THREE).run(*UPDATE, "--co", "-q", *workers)

    assert result.exit == 0
    assert "test_window[one]" in result.text
    assert result.section == ""
    assert not result.baseline_path.exists()


def test_collecting_only_lists_what_is_not_deselected(project: Project) -> None:
    result = project.with_test(THREE).run("--co", "-q")

    assert "test_plain" in result.text
    assert "test_over" not in result.text
    assert "ctxguard: 3 guarded tests deselected" in result.text


def test_the_first_broken_promise_stops_a_run_that_asks_for_it(project: Project) -> None:
    result = project.with_test(THREE).run("--ctxguard", "-x")

    assert result.outcomes == {"failed": 1}
    assert "[ctx_budget.over]" in result.text
    assert "test_over" in result.section


def test_the_first_broken_promise_stops_the_workers(project: Project) -> None:
    result = project.with_test(THREE).run("--ctxguard", "-x", "-n2")

    assert result.exit == pytest.ExitCode.INTERRUPTED
    assert "[ctx_budget.over]" in result.text


@WORKERS
def test_what_failed_last_is_run_again_also_after_a_plain_run(
    project: Project, workers: tuple[str, ...]
) -> None:
    three = project.with_test(THREE)

    first = three.run("--ctxguard", *workers)
    three.run(*workers)
    again = three.run("--ctxguard", "--lf", *workers)

    assert first.outcomes == {"failed": 1, "passed": 3}
    assert again.outcomes["failed"] == 1
    assert "passed" not in again.outcomes
    assert "test_window" not in again.section


@WORKERS
def test_a_selection_by_keyword_judges_what_it_selects(
    project: Project, workers: tuple[str, ...]
) -> None:
    result = project.with_test(THREE).run("--ctxguard", "-k", "three", *workers)

    assert result.outcomes["passed"] == 1
    assert "test_window[three]" in result.section
    assert "test_window[one]" not in result.section


@WORKERS
def test_each_parameter_has_its_own_entry(project: Project, workers: tuple[str, ...]) -> None:
    result = project.with_test(THREE).run(*UPDATE, *workers)

    text = result.baseline_path.read_text()
    assert "test_window[one]" in text
    assert "test_window[three]" in text
    assert "test_over" not in text


@WORKERS
def test_a_random_order_measures_the_same(project: Project, workers: tuple[str, ...]) -> None:
    pytest.importorskip("pytest_randomly")
    needles = """
    @pytest.mark.ctx_needle_recall(at_least=1)
    @pytest.mark.parametrize("seed", [1, 2])
    def test_needles(ctx_recall, seed): ctx_recall(full_history, trials=2, seed=seed)
    """
    several = project.with_test(THREE + needles)
    written = set()

    for seed in (1, 2, 3):
        several.root.joinpath("test_mini.ctxguard.json").unlink(missing_ok=True)
        order = ("-ppytest_randomly", f"--randomly-seed={seed}")
        result = several.run(*UPDATE, *order, *workers, subprocess=True)
        assert result.outcomes == {"failed": 1, "passed": 5}
        written.add(result.baseline_path.read_text())

    assert len(written) == 1


@WORKERS
@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_an_async_test_of_pytest_asyncio_is_guarded(
    project: Project, workers: tuple[str, ...], mode: str
) -> None:
    pytest.importorskip("pytest_asyncio")
    mark = "@pytest.mark.asyncio\n    " if mode == "strict" else ""
    source = f"""
    async def fit(messages): return messages[-3:]

    {mark}@pytest.mark.ctx_budget(100_000)
    async def test_kept(ctx_replay): await ctx_replay.aio("mini", fit)

    {mark}@pytest.mark.ctx_budget(10)
    async def test_over(ctx_replay): await ctx_replay.aio("mini", fit)

    {mark}async def test_sync(ctx_replay): ctx_replay("mini", fit)

    {mark}@pytest.mark.ctx_budget(10)
    async def test_nothing(ctx_replay): pass
    """
    asynchronous = project.with_test(source)

    result = asynchronous.run(
        "--ctxguard", *ASYNCIO, f"--asyncio-mode={mode}", *workers, subprocess=True
    )

    assert result.outcomes == {"failed": 3, "passed": 1}
    assert "[ctx_budget.over]" in result.failure("test_over")
    assert "ctx_replay.aio" in result.failure("test_sync")
    assert "nothing to check" in result.failure("test_nothing")


def test_without_the_guard_async_tests_are_deselected(project: Project) -> None:
    pytest.importorskip("pytest_asyncio")
    source = """
        @pytest.mark.asyncio
        async def test_it(ctx_replay): await ctx_replay.aio("mini", full_history)
        """

    result = project.with_test(source).run(*ASYNCIO, subprocess=True)

    assert result.outcomes == {"deselected": 1}
