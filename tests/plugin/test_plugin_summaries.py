"""Summarisers, shapes and honesty, through the fixture and the marks."""

from __future__ import annotations

import pytest

from tests.plugin.project import Project

POLICIES = """
    from pytest_ctxguard.policies.declare import mutates, persists
    from pytest_ctxguard.policies.summary_compaction import SummaryCompaction
    from pytest_ctxguard.testing import ScriptedSummariser

    def careless(messages, budget, count, summarise):
        if count(messages) <= budget:
            return list(messages)
        try:
            text = summarise(messages[1:-2])
        except Exception as error:
            text = f"failed: {error}"
        return [messages[0], {"role": "user", "content": f"Summary: {text}"}, *messages[-2:]]
    """


def test_a_policy_that_summarises_well_keeps_every_promise(project: Project) -> None:
    result = project.with_test(
        POLICIES
        + """
    @pytest.mark.ctx_summary
    @pytest.mark.ctx_summariser_faults
    @pytest.mark.ctx_honest
    @pytest.mark.ctx_budget(900)
    def test_it(ctx_replay):
        replay = ctx_replay("mini", SummaryCompaction, summariser=ScriptedSummariser())
        shown = [summary for step in replay.summaries for summary in step]
        assert "no model wrote it" in shown[0].text
    """
    ).run("--ctxguard", "--ctxguard-tier=structure")

    assert result.outcomes == {"passed": 1}
    assert "summariser_faults" in result.section


def test_what_a_bad_summariser_breaks_is_found(project: Project) -> None:
    result = project.with_test(
        POLICIES
        + """
    @pytest.mark.ctx_summariser_faults(faults=["raises", "empty"])
    def test_it(ctx_replay):
        ctx_replay("mini", careless, budget=600, summariser=ScriptedSummariser())

    def test_in_the_body(ctx_replay):
        replay = ctx_replay("mini", careless, budget=600, summariser=ScriptedSummariser())
        with pytest.raises(AssertionError, match="error-as-summary"):
            replay.check.summariser_faults(faults=["raises"])
        raise RuntimeError("seen")
    """
    ).run("--ctxguard")

    assert result.outcomes == {"failed": 2}
    findings = result.findings("test_it")
    assert set(findings) >= {
        "ctx_summariser_faults.error-as-summary",
        "ctx_summariser_faults.lost",
    }
    assert "RuntimeError: seen" in result.failure("test_in_the_body")


def test_an_async_test_gives_its_summariser_too(project: Project) -> None:
    result = project.with_test(
        """
    import asyncio

    async def short(shown):
        await asyncio.sleep(0)
        return "short"

    async def policy(messages, summarise):
        return [{"role": "user", "content": await summarise(messages)}, messages[-1]]

    def test_it(ctx_replay):
        async def body():
            return await ctx_replay.aio("mini", policy, summariser=short)

        replay = asyncio.run(body())
        assert {s.text for step in replay.summaries for s in step} == {"short"}
    """
    ).run("--ctxguard")

    assert result.outcomes == {"passed": 1}


def test_a_policy_without_its_summariser_says_what_to_give(project: Project) -> None:
    result = project.with_test(
        POLICIES
        + """
    def test_it(ctx_replay):
        ctx_replay("mini", careless, budget=600)
    """
    ).run("--ctxguard")

    assert "needs a summariser. Give ctx_replay(…, summariser=…)" in result.failure("test_it")


@pytest.mark.parametrize("policy", ["mutates(cuts)", "persists(mutates(cuts))"])
def test_declared_shapes(project: Project, policy: str) -> None:
    result = project.with_test(
        POLICIES
        + f"""
    def cuts(messages):
        del messages[1:-4]

    def test_declared(ctx_replay):
        ctx_replay("mini", {policy})

    def test_undeclared(ctx_replay):
        ctx_replay("mini", lambda messages: cuts(messages) or messages)
    """
    ).run("--ctxguard")

    assert result.outcomes == {"passed": 1, "failed": 1}
    assert "ctx_replay.mutated" in result.findings("test_undeclared")


def test_a_policy_that_clears_in_silence(project: Project) -> None:
    result = project.with_test(
        """
    def clears(messages):
        return [{**m, "content": ""} if m["role"] == "tool" else m for m in messages]

    @pytest.mark.ctx_honest
    def test_it(ctx_replay):
        ctx_replay("mini", clears)
    """
    ).run("--ctxguard")

    assert set(result.findings("test_it")) == {"ctx_honest.not-announced"}
