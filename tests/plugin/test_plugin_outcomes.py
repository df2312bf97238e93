"""pytest's outcomes beside what was judged: strict xfail, subtests, bodies that never run."""

import pytest

from tests.plugin.project import UPDATE, Project

STRICT = """
    @pytest.mark.xfail(strict=True, reason="known")
    def test_it(ctx_replay): ctx_replay("mini", SlidingWindow(last=4))
    """
PASSES_ALL_THE_SAME = STRICT.replace("strict=True, ", "")
FIXTURE = """
    @pytest.mark.ctx_token_cost
    def test_it(ctx_replay, subtests):
        with subtests.test("a"):
            assert 1 == 2
        with subtests.test("b"):
            pass
        ctx_replay("mini", SlidingWindow(last=4))
    """
UNITTEST = """
    import unittest

    @pytest.mark.ctx_token_cost
    class Test(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def replay(self, ctx_replay): self.replay = ctx_replay

        def test_it(self):
            with self.subTest("a"):
                self.assertEqual(1, 2)
            self.replay("mini", SlidingWindow(last=4))
    """
has_subtests = pytest.mark.skipif(
    pytest.version_tuple < (9,), reason="pytest has the fixture subtests since 9"
)
WORKERS = pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "xdist"])


def verdict(project: Project) -> tuple[str, str, str]:
    """Return the verdict of the last run; outcome and message of its one test."""
    run = project.last_run
    [test] = run["tests"]
    return run["verdict"], test["outcome"], test["message"]


@WORKERS
def test_a_strict_xfail_that_passes_is_no_pass(project: Project, workers: tuple[str]) -> None:
    tested = project.with_test(STRICT)

    assert tested.run("--ctxguard", *workers).exit == 1
    assert verdict(tested) == ("fail", "failed", "[XPASS(strict)] known")


@WORKERS
def test_an_xfail_that_passes_is_a_pass(project: Project, workers: tuple[str]) -> None:
    tested = project.with_test(PASSES_ALL_THE_SAME)

    assert tested.run("--ctxguard", *workers).exit == 0
    assert verdict(tested) == ("pass", "xpassed", "")


@has_subtests
@WORKERS
@pytest.mark.parametrize("source", [FIXTURE, UNITTEST], ids=["fixture", "unittest"])
def test_a_test_of_which_a_subtest_fails_is_no_pass_and_updates_nothing(
    project: Project, source: str, workers: tuple[str]
) -> None:
    tested = project.with_test(source)

    result = tested.run(*UPDATE, *workers)

    assert result.exit == 1
    assert verdict(tested) == ("fail", "failed", "a subtest of it failed")
    assert not tested.baseline_path.exists()


@has_subtests
def test_a_test_of_which_no_subtest_fails_passes(project: Project) -> None:
    tested = project.with_test(FIXTURE.replace("1 == 2", "1 == 1"))

    assert tested.run(*UPDATE).exit == 0
    assert verdict(tested) == ("pass", "passed", "")
    assert list(tested.entries) == ["test_it"]


@pytest.mark.parametrize(
    "source",
    [
        """
        @pytest.mark.xfail(run=False, reason="hangs")
        def test_it(ctx_replay): ctx_replay("mini", SlidingWindow(last=4))
        """,
        """
        def test_it(ctx_replay): pytest.xfail("known")
        """,
    ],
    ids=["run=False", "in the body"],
)
def test_an_xfail_that_ends_the_body_judges_nothing(project: Project, source: str) -> None:
    tested = project.with_test(source)

    result = tested.run("--ctxguard")

    assert (result.exit, result.outcomes) == (1, {"xfailed": 1})
    assert "[run.nothing-judged]" in result.text
    assert verdict(tested)[:2] == ("inconclusive", "skipped")


def test_collecting_alone_leaves_the_last_run_as_it_was(project: Project) -> None:
    tested = project.with_test(PASSES_ALL_THE_SAME)
    tested.run("--ctxguard")

    tested.run("--ctxguard", "--co")

    assert verdict(tested)[0] == "pass"


AGENT = """
    import json
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen
    from pytest_ctxguard import ContextGateFailure

    def dull(server):
        messages = [{"role": "user", "content": "word " * 40}]
        body = json.dumps({"model": "m", "max_tokens": 64, "messages": messages}).encode()
        headers = {"content-type": "application/json"}
        with pytest.raises(HTTPError) as caught:
            urlopen(Request(server.openai_base_url + "/chat/completions", body, headers))
        caught.value.close()
        return "Something went wrong."

    def test_it(ctx_agent):
        with pytest.raises(ContextGateFailure):
            ctx_agent(dull, refuse="openai", says="Start a new chat")
    """


@pytest.mark.parametrize("end", ["", "        pytest.skip('later')\n"], ids=["passes", "skips"])
def test_a_broken_agent_fails_also_where_the_body_catches_that(project: Project, end: str) -> None:
    tested = project.with_test(AGENT.rstrip(" ") + end)

    assert tested.run("--ctxguard").exit == 1
    assert verdict(tested)[:2] == ("fail", "failed")


def test_a_run_in_which_all_failed_as_expected_passes(project: Project) -> None:
    source = """
        @pytest.mark.xfail(strict=True, reason="known")
        @pytest.mark.ctx_carried("shard")
        def test_it(ctx_replay): ctx_replay("mini", SlidingWindow(last=4))
        """
    tested = project.with_test(source)

    result = tested.run("--ctxguard")

    assert result.exit == 0
    assert "PASS: 1 test: 1 failed as expected." in result.section
    assert verdict(tested)[:2] == ("pass", "xfailed")


def test_a_module_that_cannot_be_collected_is_no_pass_where_pytest_goes_on(
    project: Project,
) -> None:
    kept = project.with_test('def test_it(ctx_replay): ctx_replay("mini", full_history)')
    broken = kept.with_file("test_broken.py", "import nothing_of_that_name")

    result = broken.run("--ctxguard", "--continue-on-collection-errors", subprocess=True)

    assert result.exit == 1
    assert "FAIL: 1 test: 1 passed, 1 finding about the run as a whole." in result.text
    assert "[run.broken] a module could not be collected" in result.text


def test_a_teardown_that_fails_is_named(project: Project) -> None:
    test = """
        @pytest.fixture
        def left():
            yield
            raise LookupError("left behind")

        def test_it(ctx_replay, left): ctx_replay("mini", full_history)
        """
    result = project.with_test(test).run("--ctxguard")

    assert result.exit == 1
    assert "its teardown failed" in result.section
    assert "ERROR: 1 test: 1 could not be judged." in result.section
