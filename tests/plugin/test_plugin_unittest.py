"""Tests of unittest's kind: a fixture reaches them through an autouse fixture of their class."""

from __future__ import annotations

import pytest

from tests.plugin.project import UPDATE, Project

WORKERS = pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["one-process", "two-workers"])
CASE = """
    import unittest

    class TestIt(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def _guard(self, ctx_replay):
            self.ctx_replay = ctx_replay

        {mark}
        def test_it(self):
            {body}
    """
REPLAY = 'self.ctx_replay("mini", full_history, expect_identity=True)'


def case(project: Project, body: str, *, mark: str = "@pytest.mark.ctx_budget(100_000)") -> Project:
    return project.with_test(CASE.format(mark=mark, body=body))


@WORKERS
def test_a_promise_is_kept(project: Project, workers: tuple[str, ...]) -> None:
    result = case(project, REPLAY).run("--ctxguard", *workers)

    assert result.outcomes == {"passed": 1}
    assert "budget: " in result.section
    assert "test_mini.py::TestIt::test_it" in result.section


@WORKERS
def test_a_broken_promise_fails(project: Project, workers: tuple[str, ...]) -> None:
    result = case(project, REPLAY, mark="@pytest.mark.ctx_budget(100)").run("--ctxguard", *workers)

    assert result.outcomes == {"failed": 1}
    assert set(result.findings("TestIt::test_it")) == {"ctx_budget.over"}


def test_a_promise_checked_in_the_body_fails_without_our_frames(project: Project) -> None:
    result = case(project, f"{REPLAY}.check.budget(100)", mark="").run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert set(result.findings("TestIt::test_it")) == {"ctx_budget.over"}
    assert "guarded.py" not in result.text


def test_without_a_replay_there_is_nothing_to_check(project: Project) -> None:
    result = case(project, "pass").run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert "nothing to check" in result.failure("TestIt::test_it")


def test_a_mark_without_the_fixture_has_nothing_to_check(project: Project) -> None:
    source = """
        import unittest

        @pytest.mark.ctx_budget(100)
        class TestIt(unittest.TestCase):
            def test_it(self): pass
        """

    result = project.with_test(source).run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert "nothing to check" in result.failure("TestIt::test_it")


def test_a_fixture_as_argument_fails(project: Project) -> None:
    source = """
        import unittest

        class TestIt(unittest.TestCase):
            @pytest.mark.ctx_budget(100)
            def test_it(self, ctx_replay): ctx_replay("mini", full_history)
        """

    result = project.with_test(source).run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert "ctx_replay" in result.failure("TestIt::test_it")


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("self.assertEqual(1, 2)", "failed"),
        ("raise ValueError('theirs')", "failed"),
        ("self.skipTest('today')", "skipped"),
        ("pytest.skip('today')", "skipped"),
        ("pytest.xfail('known')", "xfailed"),
    ],
)
def test_a_body_that_does_not_pass_is_not_judged(project: Project, body: str, outcome: str) -> None:
    mark = "@pytest.mark.ctx_token_cost"

    result = case(project, f"{REPLAY}; {body}", mark=mark).run(*UPDATE)

    assert result.outcomes == {outcome: 1}
    assert "the body did not pass, so nothing was judged" in result.section
    assert "token_cost: " not in result.section
    assert not result.baseline_path.exists()
    if outcome == "failed":
        assert "[ctx_token_cost" not in result.failure("TestIt::test_it")


def test_an_expected_failure_of_unittests_kind_is_one(project: Project) -> None:
    mark = "@pytest.mark.ctx_budget(100_000)\n        @unittest.expectedFailure"

    result = case(project, f"{REPLAY}; self.fail()", mark=mark).run("--ctxguard")

    assert result.outcomes == {"xfailed": 1}


def test_set_up_may_replay(project: Project) -> None:
    source = """
        import unittest

        class TestIt(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _guard(self, ctx_replay): self.ctx_replay = ctx_replay

            def setUp(self):
                self.replay = self.ctx_replay("mini", full_history, expect_identity=True)

            @pytest.mark.ctx_budget(100)
            def test_over(self): self.assertTrue(self.replay.steps)

            @pytest.mark.ctx_budget(100_000)
            def test_kept(self): self.assertTrue(self.replay.steps)
        """

    result = project.with_test(source).run("--ctxguard")

    assert result.outcomes == {"failed": 1, "passed": 1}


def test_an_async_case_awaits_its_replay(project: Project) -> None:
    source = """
        import unittest

        class TestIt(unittest.IsolatedAsyncioTestCase):
            @pytest.fixture(autouse=True)
            def _guard(self, ctx_replay): self.ctx_replay = ctx_replay

            @pytest.mark.ctx_budget(100)
            async def test_over(self):
                await self.ctx_replay.aio("mini", full_history, expect_identity=True)

            async def test_sync(self):
                self.ctx_replay("mini", full_history, expect_identity=True)
        """

    result = project.with_test(source).run("--ctxguard")

    assert result.outcomes == {"failed": 2}
    assert "[ctx_budget.over]" in result.failure("TestIt::test_over")
    assert "ctx_replay.aio" in result.failure("TestIt::test_sync")


def test_without_the_guard_the_case_is_deselected(project: Project) -> None:
    assert case(project, REPLAY).run().outcomes == {"deselected": 1}
