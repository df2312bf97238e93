"""``ctx_session``: what was really sent is judged, with no policy at all."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.plugin.project import UPDATE, Project, mini_transcript

importlib.import_module("yaml")  # else each run inside imports its Python half anew, not its C half

CASSETTES = Path(__file__).parents[2] / "fixtures" / "cassettes"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "transcripts"
STRUCTURE = ("--ctxguard", "--ctxguard-tier=structure")


def with_cassette(project: Project, name: str) -> Project:
    return project.with_file(name, (CASSETTES / name).read_text())


def test_every_structure_mark_judges_a_cassette(project: Project) -> None:
    project = with_cassette(project, "openai-chat.yaml").with_test(
        """
    from pytest_ctxguard import Fact

    SERVICE = Fact(name="service", value="payments-api", kind="identifier", planted_at=1,
                   wordings=("Which service?",), shape=r"[a-z]+-api")

    @pytest.mark.ctx_wellformed(provider="openai")
    @pytest.mark.ctx_budget(4000)
    @pytest.mark.ctx_carried("service")
    @pytest.mark.ctx_lifetime()
    @pytest.mark.ctx_no_repeats()
    @pytest.mark.ctx_catalogue()
    @pytest.mark.ctx_prefix_stable(min_reuse=0.8)
    @pytest.mark.ctx_prefix_moves(reason="none is expected")
    @pytest.mark.ctx_token_cost(max_increase=0.0)
    @pytest.mark.ctx_token_cost(provider="openai", max_total=5000)
    def test_it(ctx_session):
        session = ctx_session("openai-chat.yaml", facts=[SERVICE])
        assert session.policy == "as recorded"
        assert len(session.steps) == 4
        assert session.cost().simulation.rule.name == "openai-gpt-4-1"
        assert session.carried("service").at("every")
    """
    )
    assert project.run(*UPDATE).outcomes == {"passed": 1}
    result = project.run(*STRUCTURE)
    assert result.outcomes == {"passed": 1}
    assert "as recorded: 4 calls" in result.section
    assert "the client changed 0 of 4 requests" in result.section
    assert "in 4 of 4 requests at every (original, echoed)" in result.section


def test_each_broken_promise_is_a_finding(project: Project) -> None:
    result = (
        with_cassette(project, "openai-chat.yaml")
        .with_test(
            """
    from pytest_ctxguard import Fact

    SERVICE = Fact(name="service", value="payments-api", kind="forbidden", planted_at=1,
                   wordings=("Which service?",), shape=r"[a-z]+-api")

    @pytest.mark.ctx_budget(100)
    @pytest.mark.ctx_absent("service")
    @pytest.mark.ctx_lifetime("service")
    @pytest.mark.ctx_token_cost(max_total=100)
    def test_it(ctx_session):
        ctx_session("openai-chat.yaml", facts=[SERVICE])
    """
        )
        .run(*STRUCTURE)
    )
    findings = result.findings("test_it")
    assert {"ctx_budget.over", "ctx_absent.kept", "ctx_token_cost.over"} <= set(findings)
    assert findings["ctx_lifetime.forbidden"]["measured"].endswith("of 2 requests")
    assert findings["ctx_absent.kept"]["measured"] == "carried in 4 of 4 requests"


def test_a_client_that_cuts_loses_a_fact_and_breaks_its_prefix(project: Project) -> None:
    """The mini session, recorded by a client that sends the last four messages."""
    result = project.with_test(
        """
    import json
    from dataclasses import replace

    from pytest_ctxguard.transcript.jsonl import load

    def cut(tmp_path, last):
        whole = load("transcripts/mini.jsonl")
        rows = []
        for call in whole.calls[:4]:
            sent = whole.messages[: call.history]
            sent = sent if len(sent) <= last else (sent[0], *sent[1 - last :])
            body = {"model": "gpt-4o", "messages": sent, "tools": whole.tools}
            answer = {"choices": [{"message": whole.messages[call.history]}]}
            rows.append({
                "request": {"method": "POST", "uri": "https://x.test/v1/chat/completions",
                            "headers": {}, "body": json.dumps(body)},
                "response": {"status": {"code": 200, "message": "OK"}, "headers": {},
                             "body": {"string": json.dumps(answer)}},
            })
        path = tmp_path / "cut.json"
        path.write_text(json.dumps({"version": 1, "interactions": rows}))
        return path, whole.facts

    @pytest.mark.ctx_carried("shard")
    @pytest.mark.ctx_prefix_stable(min_reuse=0.99)
    def test_it(ctx_session, tmp_path):
        path, facts = cut(tmp_path, last=4)
        ctx_session(path, facts=[replace(fact, asked_at=None) for fact in facts])

    @pytest.mark.ctx_carried("shard")
    @pytest.mark.ctx_prefix_stable(min_reuse=0.99)
    def test_uncut(ctx_session, tmp_path):
        path, facts = cut(tmp_path, last=40)
        ctx_session(path, facts=[replace(fact, asked_at=None) for fact in facts])
    """
    ).run(*STRUCTURE)
    assert result.outcomes == {"failed": 1, "passed": 1}
    findings = result.findings("test_it")
    assert findings["ctx_carried.lost"]["what"] == "the client dropped 'shard' ('pay-core-07')"
    assert "dropped" in findings["ctx_prefix_stable.breaks"]["what"]


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        ('ctx_answered("shard")', "ctx_answered asks a model"),
        ('ctx_unanswered("shard")', "ctx_unanswered asks a model"),
        ("ctx_honest()", "ctx_honest judges what a policy does"),
        ("ctx_summary()", "ctx_summary judges what a policy does"),
        ("ctx_summariser_faults()", "ctx_summariser_faults judges what a policy does"),
        ('ctx_carried("shard", at="probe")', "nothing is asked of recorded traffic"),
        ('ctx_carried("shard", budgets=[100])', "cannot be run again"),
        ('ctx_carried("colour")', "has no such fact"),
        ('ctx_token_cost(provider="nobody", max_total=1)', "no cache rules for 'nobody'"),
    ],
)
def test_a_mark_that_nothing_can_keep_is_an_error(project: Project, mark: str, why: str) -> None:
    result = project.with_test(
        f"""
    @pytest.mark.{mark}
    def test_it(ctx_session):
        ctx_session("mini")
    """
    ).run("--ctxguard")
    assert result.outcomes == {"failed": 1}
    assert why in result.failure("test_it")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ('ctx_session("mini").check.answered("shard")', "ctx_answered asks a model"),
        ('ctx_session("mini").judge.honest()', "ctx_honest judges what a policy does"),
        ('ctx_session("mini").answers("shard")', "nothing is asked of recorded traffic"),
        ('ctx_session("mini").cost()', "no cache rules for ''; there are: anthropic"),
        ('ctx_session("mini", provider="nobody")', "no cache rules for 'nobody'"),
        ('ctx_session("mini", run=1)', "mini holds runs 0 to 0"),
        ('ctx_session("none.yaml")', "none.yaml: cannot be read"),
        ('ctx_session("mini"); ctx_session("mini")', "two judged replays are named ''"),
        (
            'ctx_session("mini", facts=[replace(SHARD, name="other", planted_at=2)])',
            "message 2 of 'mini' does not state 'pay-core-07'; message 1 is the first to",
        ),
    ],
)
def test_what_is_impossible_is_an_error(project: Project, call: str, why: str) -> None:
    result = project.with_test(
        f"""
    from dataclasses import replace

    from pytest_ctxguard.transcript.jsonl import load

    def test_it(ctx_session):
        SHARD = load("transcripts/mini.jsonl").facts[0]
        {call}
    """
    ).run("--ctxguard")
    assert result.outcomes == {"failed": 1}
    assert why in result.failure("test_it")


def test_a_recording_made_again_regresses_and_is_comparable(project: Project) -> None:
    """What is recorded is judged; it is not what it is judged with."""
    project = project.with_test(
        """
    @pytest.mark.ctx_token_cost(max_increase=0.02)
    @pytest.mark.ctx_token_cost(provider="openai", max_increase=0.02)
    def test_it(ctx_session):
        ctx_session("mini")
    """
    )
    project.run(*UPDATE)
    assert project.run(*STRUCTURE).outcomes == {"passed": 1}
    result = project.with_transcript(mini_transcript(turns=10)).run(*STRUCTURE)
    assert result.outcomes == {"failed": 1}
    assert set(result.findings("test_it")) == {"ctx_token_cost.dearer"}


def test_the_wellformed_request_of_a_call_has_its_own_tools(project: Project) -> None:
    result = (
        with_cassette(project, "bedrock.yaml")
        .with_test(
            """
    @pytest.mark.ctx_wellformed(provider="anthropic")
    def test_it(ctx_session):
        session = ctx_session("bedrock.yaml")
        assert [len(step.request.tools) for step in session.steps] == [1, 1, 1, 0]
        assert session.buckets().total == session.final.request.tokens
    """
        )
        .run(*STRUCTURE)
    )
    assert result.outcomes == {"passed": 1}


def test_a_test_that_reads_no_recording_has_nothing_to_check(project: Project) -> None:
    result = project.with_test(
        """
    @pytest.mark.ctx_prefix_stable()
    def test_it(ctx_session):
        ctx_session("mini", judged=False)
    """
    ).run(*STRUCTURE)
    assert result.outcomes == {"failed": 1}
    assert "or ctx_session(recording)" in result.failure("test_it")


def test_the_known_cassettes_are_judged_right(project: Project) -> None:
    folder = SHARED / "vcr_pydantic-ai"
    if not folder.exists():
        pytest.skip("the shared recordings are not here")
    result = project.with_test(
        f"""
    FOLDER = {str(folder)!r}

    @pytest.mark.ctx_prefix_stable(min_reuse=0.8)
    @pytest.mark.ctx_prefix_moves(reason="another test without tools", section="tools")
    def test_stable(ctx_session):
        ctx_session(FOLDER + "/test_openai_tool_call_roundtrip_wire_stable[vercel].yaml")

    @pytest.mark.ctx_prefix_stable(min_reuse=0.8)
    def test_dropping(ctx_session):
        ctx_session(FOLDER + "/test_anthropic_thinking_agui_0_1_10_drops_prefix.yaml")
    """
    ).run(*STRUCTURE)
    assert result.outcomes == {"passed": 1, "failed": 1}
    broken = result.findings("test_dropping")["ctx_prefix_stable.breaks"]
    assert broken["what"].endswith("reasoning_content, thinking_blocks taken off")
