"""Two workers: the same verdicts, the same words, and one writer."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from tests.plugin.project import UPDATE, Project, mini_transcript

SUITE = """
    @pytest.mark.ctx_token_cost(max_increase=0.02)
    @pytest.mark.ctx_answered("shard")
    class TestSuite:
        @pytest.mark.parametrize("turns", [1, 2, 4])
        def test_user(self, ctx_replay, turns):
            ctx_replay("mini", UserMessages(last_turns=turns), name="user")

        def test_full(self, ctx_replay):
            ctx_replay("mini", full_history)

        @pytest.mark.ctx_carried("shard")
        @pytest.mark.ctx_budget(500)
        def test_window(self, ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4))

        @pytest.mark.xfail(strict=True, reason="known")
        def test_known(self, ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4))

        def test_skips(self, ctx_replay):
            pytest.skip("not today")

        def test_nothing(self, ctx_replay):
            pass

    @pytest.mark.ctx_carried("sherd")
    def test_typo(ctx_replay):
        ctx_replay("mini", full_history)

    def test_plain():
        pass
    """


def test_two_workers_say_and_write_what_one_process_does(project: Project) -> None:
    suite = project.with_test(SUITE)
    alone = suite.run(*UPDATE)
    written = alone.baseline_path.read_bytes()
    alone.baseline_path.unlink()

    together = suite.run(*UPDATE, "-n2", "--junitxml=report.xml")

    assert alone.outcomes == {"failed": 3, "passed": 5, "skipped": 1, "xfailed": 1}
    assert together.outcomes == alone.outcomes
    assert together.judged == alone.judged
    assert together.baseline_path.read_bytes() == written
    assert together.payloads == alone.payloads
    for row in together.reports:
        assert row["payload"] is None or isinstance(row["payload"], str)
        assert all(name.startswith("ctxguard.") for name, _ in row["properties"])
    report = (project.root / "report.xml").read_text()
    assert ET.fromstring(report).find("testsuite").get("tests") == "10"  # noqa: S314 - our own
    assert "judgements" not in report
    assert "ctxguard_payload" not in report


def test_workers_judge_against_the_baseline_and_write_nothing(project: Project) -> None:
    project.with_test(SUITE).run(*UPDATE)
    before = (project.root / "test_mini.ctxguard.json").read_bytes()
    dearer = project.with_test(SUITE.replace("last_turns=turns", "last_turns=turns + 2"))

    alone = dearer.run("--ctxguard")
    together = dearer.run("--ctxguard", "-n2")

    assert together.judged == alone.judged
    assert (
        together.outcomes
        == alone.outcomes
        == {
            "failed": 6,
            "passed": 2,
            "skipped": 1,
            "xfailed": 1,
        }
    )
    finding = together.findings("TestSuite::test_user[4]")["ctx_token_cost.dearer"]
    assert finding["allowed"].endswith("in the baseline, and 2.0% more")
    assert together.baseline_path.read_bytes() == before


KILLER = """
    import os

    @pytest.mark.ctx_token_cost
    class TestKiller:
        @pytest.mark.parametrize("turns", [1, 2, 3, 4])
        def test_good(self, ctx_replay, turns):
            ctx_replay("mini", UserMessages(last_turns=turns))

        def test_dies(self, ctx_replay):
            ctx_replay("mini", full_history)
            os._exit(3)
    """


def test_a_worker_that_dies_loses_its_own_test_only(project: Project) -> None:
    result = project.with_test(KILLER).run(*UPDATE, "-n2")

    good = [f"TestKiller::test_good[{n}]" for n in (1, 2, 3, 4)]
    assert result.outcomes == {"failed": 1, "passed": 4}
    assert "crashed while running" in result.failure("TestKiller::test_dies")
    assert sorted(result.payloads) == ["TestKiller::test_dies", *good]
    assert result.payloads["TestKiller::test_dies"]["outcome"] == "lost"
    assert list(result.baseline["entries"]) == good
    assert "promises: 8 pass; against the baseline: 4 new" in result.section
    assert "baseline written: test_mini.ctxguard.json" in result.section


HALF = "half a pair \ud83d"
SURROGATES = """
    HALF = "half a pair \\ud83d"

    @pytest.mark.ctx_wellformed
    def test_transcript(ctx_replay):
        ctx_replay("half", full_history)

    @pytest.mark.ctx_answered("shard")
    def test_answer(ctx_replay):
        ctx_replay("mini", SlidingWindow(last=4), name=HALF)

    def test_policy(ctx_replay):
        def policy(messages):
            raise ValueError(HALF)
        ctx_replay("mini", policy)

    def test_assertion(ctx_replay, caplog):
        import logging
        logging.getLogger().error(HALF)
        print(HALF)
        assert ctx_replay("mini", full_history).policy == HALF

    @pytest.mark.xfail(strict=True, reason="known")
    def test_xfail(ctx_replay):
        raise LookupError(HALF)

    @pytest.mark.ctx_carried(HALF, at=HALF)
    def test_mark(ctx_replay):
        ctx_replay("mini", full_history)

    @pytest.mark.ctx_token_cost
    @pytest.mark.parametrize("text", [HALF])
    def test_label(ctx_replay, text):
        ctx_replay("mini", full_history, name=text)
    """


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
def test_half_a_surrogate_pair_kills_no_worker(project: Project, workers: tuple[str, ...]) -> None:
    mini = mini_transcript(turns=2)
    half = mini_transcript(turns=2, name="half")
    half = type(half)(
        name="half",
        messages=(*mini.messages[:-1], {"role": "user", "content": HALF}),
        tools=mini.tools,
        facts=mini.facts,
    )
    broken = project.with_transcript(half).with_backend("surrogate").with_test(SURROGATES)

    result = broken.run(*UPDATE, *workers, subprocess=True)  # else this run's own log has the half

    assert result.outcomes == {"failed": 4, "errors": 1, "xfailed": 1, "passed": 1}
    assert "INTERNALERROR" not in result.text
    assert "crashed" not in result.text
    assert result.findings("test_transcript").keys() == {"ctx_wellformed.lone-surrogate"}
    assert "shard/1 other: 'It is \\ud800.'" in result.failure("test_answer")
    for test in ("test_policy", "test_assertion"):
        assert "half a pair \\ud83d" in result.failure(test)
    spelled = "half a pair \\ud83d"
    assert list(result.baseline["entries"][f"test_label[{spelled}]"]) == [spelled]


def test_recorded_text_is_spelled_out_on_the_terminal(project: Project) -> None:
    source = """
    @pytest.mark.ctx_budget(1)
    def test_it(ctx_replay):
        ctx_replay("mini", full_history, name="a \\x1b[31mlabel", expect_identity=True)

    @pytest.mark.ctx_wellformed
    def test_error(ctx_replay):
        raise ValueError("red \\x1b[31m")
    """
    result = project.with_test(source).run("--ctxguard", subprocess=True)

    assert result.outcomes == {"failed": 2}
    assert "[a \\x1b[31mlabel]" in result.section
    assert "a \\x1b[31mlabel" in result.findings("test_it")["ctx_budget.over"]["where"]
    assert "ValueError: red \\x1b[31m" in result.failure("test_error")
    assert "\x1b" not in result.text


def test_a_misspelt_option_value_stops_the_run_before_the_workers(project: Project) -> None:
    result = project.with_test("def test_it(): pass").run("--ctxguard-tier=modle", "-n2")

    assert result.exit == pytest.ExitCode.USAGE_ERROR
    assert "invalid choice: 'modle'" in result.text


def test_exitfirst_under_workers_writes_what_finished(project: Project) -> None:
    test = """
        @pytest.mark.ctx_token_cost
        def test_good(ctx_replay):
            ctx_replay("mini", full_history)

        def test_fails():
            raise AssertionError

        @pytest.mark.parametrize("n", range(20))
        def test_later(n):
            import time
            time.sleep(1)
        """

    result = project.with_test(test).run(*UPDATE, "-n1", "-x")

    assert result.outcomes == {"failed": 1, "passed": 1}
    assert list(json.loads(result.baseline_path.read_bytes())["entries"]) == ["test_good"]


DIFFERING = """
    import os

    @pytest.mark.ctx_budget(5000)
    def test_it(ctx_replay):
        mine = os.environ["PYTEST_XDIST_WORKER"] == "{worker}"
        ctx_replay("mini", SlidingWindow(last=2 if mine else 4))
        assert not mine, "on this worker"
    """


@pytest.mark.parametrize("worker", ["gw0", "gw1"])
def test_where_every_worker_runs_a_test_its_worst_result_counts(
    project: Project, worker: str
) -> None:
    suite = project.with_test(DIFFERING.format(worker=worker))

    result = suite.run("--ctxguard", "--ctxguard-report=report.json", "-n2", "--dist=each")

    assert result.outcomes == {"failed": 1, "passed": 1}
    [test] = json.loads((result.root / "report.json").read_text())["tests"]
    assert (test["verdict"], test["message"]) == ("fail", "AssertionError: on this worker")
