"""The gate: what later runs make of the baseline."""

from __future__ import annotations

import pytest

from tests.plugin.project import PARTS, UPDATE, Project, mini_transcript

COST = """
    @pytest.mark.ctx_token_cost(max_increase={increase})
    def test_it(ctx_replay):
        ctx_replay("mini", {policy})
    """
ANSWERED = """
    @pytest.mark.ctx_answered("shard", max_lost={lost})
    def test_it(ctx_replay):
        ctx_replay("mini", full_history)
    """


def cost(policy: str, *, increase: float = 0.0) -> str:
    return COST.format(policy=policy, increase=increase)


@pytest.mark.parametrize(
    ("policy", "state", "against"),
    [
        ("UserMessages(last_turns=4)", "unchanged", ""),
        ("UserMessages(last_turns=2)", "improved", ", -42.5% against 26,009"),
        ("full_history", "regressed", ", +44.8% against 26,009"),
    ],
    ids=["unchanged", "improved", "regressed"],
)
def test_a_cost_is_compared_with_the_baseline(
    project: Project, policy: str, state: str, against: str
) -> None:
    project.with_test(cost("UserMessages(last_turns=4)")).run(*UPDATE)

    result = project.with_test(cost(policy)).run("--ctxguard")

    assert result.outcomes == {"failed" if state == "regressed" else "passed": 1}
    assert result.states("test_it") == {"billed_input_tokens": state}
    [judged] = result.subjects("test_it", kind="replay")
    summaries = [judgement["summary"] for judgement in judged["judgements"]]
    assert summaries[-1].endswith(f"input tokens billed over 19 calls{against}")
    assert f"Against the baseline: 1 {state}" in result.section


def test_a_dearer_session_fails_with_old_new_and_the_command_that_accepts_it(
    project: Project,
) -> None:
    project.with_test(cost("UserMessages(last_turns=4)")).run(*UPDATE)

    result = project.with_test(cost("full_history", increase=0.4)).run("--ctxguard")

    finding = result.findings("test_it")["ctx_token_cost.dearer"]
    assert finding.keys() == {"what", *PARTS}
    assert finding["what"] == "the session costs 44.8% more input tokens"
    assert finding["measured"] == "37,651 input tokens billed"
    assert finding["allowed"] == "26,009 in the baseline, and 40.0% more"
    accept = 'pytest-ctxguard accept test_mini.py::test_it --reason "…"'
    assert finding["remedy"].endswith(accept)


def test_the_tolerance_forgives_and_the_command_accepts(project: Project) -> None:
    project.with_test(cost("UserMessages(last_turns=4)")).run(*UPDATE)
    dearer = project.with_test(cost("full_history", increase=0.45))

    within = dearer.run("--ctxguard")
    strict = project.with_test(cost("full_history"))
    accepted = strict.run(*UPDATE, "test_mini.py::test_it")
    after = strict.run("--ctxguard")

    assert within.outcomes == {"passed": 1}
    assert within.states("test_it") == {"billed_input_tokens": "regressed"}  # said, though allowed
    assert accepted.outcomes == after.outcomes == {"passed": 1}
    assert after.states("test_it") == {"billed_input_tokens": "unchanged"}


def test_lost_hits_are_listed_and_max_lost_allows_some(project: Project) -> None:
    project.with_test(ANSWERED.format(lost=0)).run(*UPDATE)
    flipping = project.with_backend("flipping")

    lost = flipping.with_test(ANSWERED.format(lost=0)).run("--ctxguard")
    allowed = flipping.with_test(ANSWERED.format(lost=1)).run("--ctxguard")

    finding = lost.findings("test_it")["ctx_answered.lost-hits"]
    assert finding["what"] == "1 wordings of 'shard' that were answered no longer are"
    assert "shard/2 other: 'Let me look.'" in finding["where"]
    assert finding["measured"] == "shard/2 other"
    assert finding["allowed"] == "at most 0 of the baseline's hits lost"
    assert lost.states("test_it") == {"answered.shard": "regressed"}
    assert allowed.outcomes == {"passed": 1}
    assert allowed.states("test_it") == {"answered.shard": "regressed"}


def test_more_hits_than_the_baseline_are_an_improvement(project: Project) -> None:
    project.with_backend("flipping").with_test(ANSWERED.format(lost=0)).run(*UPDATE)

    result = project.with_test(ANSWERED.format(lost=0)).run("--ctxguard")

    assert result.outcomes == {"passed": 1}
    assert result.states("test_it") == {"answered.shard": "improved"}


BOTH_METRICS = """
    @pytest.mark.ctx_answered("shard")
    @pytest.mark.ctx_token_cost
    def test_it(ctx_replay):
        ctx_replay("mini", full_history)
    """


def test_another_instrument_is_incomparable_and_names_what_differs(project: Project) -> None:
    project.with_test(BOTH_METRICS).run(*UPDATE)
    changed = project.with_transcript(mini_transcript(turns=7)).with_test(BOTH_METRICS)

    result = changed.run("--ctxguard")
    accepted = changed.run(*UPDATE)

    findings = result.findings("test_it")
    assert findings.keys() == {"ctx_token_cost.incomparable", "ctx_answered.incomparable"}
    tokens = findings["ctx_token_cost.incomparable"]
    assert tokens["what"] == "billed_input_tokens cannot be compared with the baseline"
    assert tokens["allowed"].startswith("37,651, with transcript ") or tokens["allowed"].startswith(
        "37651, with transcript "
    )
    assert tokens["remedy"].startswith("undo the change of transcript, or accept: pytest-")
    assert "undo the change of fact, transcript" in findings["ctx_answered.incomparable"]["remedy"]
    assert set(result.states("test_it").values()) == {"incomparable"}
    assert accepted.outcomes == {"passed": 1}


def test_another_policy_or_budget_is_no_other_instrument(project: Project) -> None:
    def budgeted(budget: int) -> str:
        return cost(f"ThreeStepFit(), budget={budget}")

    project.with_test(budgeted(1000)).run(*UPDATE)

    result = project.with_test(budgeted(1500)).run("--ctxguard")

    assert result.findings("test_it").keys() == {"ctx_token_cost.dearer"}


def test_where_only_the_numerics_differ_a_lost_hit_is_inconclusive(project: Project) -> None:
    project.with_test(ANSWERED.format(lost=0)).run(*UPDATE)
    body = """
        def test_it(ctx_replay):
            ctx_replay("mini", full_history).check.answered("shard")
        """
    elsewhere = project.with_backend("flipping", numerics="another processor")
    marked = elsewhere.with_test(ANSWERED.format(lost=0))

    strict = marked.run("--ctxguard")
    lenient = marked.run("--ctxguard", "--ctxguard-inconclusive=warn")
    in_body = elsewhere.with_test(body).run("--ctxguard", "--ctxguard-inconclusive=warn")

    assert strict.outcomes == {"failed": 1}
    why = strict.findings("test_it")["ctx_answered.lost-hits"]["why"]
    assert why.startswith("only the numerics differ from the baseline's")
    assert strict.payloads["test_it"]["verdict"] == "inconclusive"
    assert lenient.outcomes == in_body.outcomes == {"passed": 1}
    assert lenient.payloads["test_it"]["verdict"] == "inconclusive"


def test_other_numerics_and_the_same_hits_pass(project: Project) -> None:
    project.with_test(ANSWERED.format(lost=0)).run(*UPDATE)

    result = (
        project.with_backend("honest", numerics="another processor")
        .with_test(ANSWERED.format(lost=0))
        .run("--ctxguard")
    )

    assert result.outcomes == {"passed": 1}
    assert result.states("test_it") == {"answered.shard": "unchanged"}


@pytest.mark.parametrize("ci", ["1", "true", "True"])
def test_a_new_metric_is_a_note_here_and_a_failure_in_ci(
    project: Project, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    guarded = project.with_test(BOTH_METRICS)

    here = guarded.run("--ctxguard")
    monkeypatch.setenv("CI", ci)
    there = guarded.run("--ctxguard")
    recorded = guarded.run(*UPDATE, "-octxguard_update_in_ci=true")
    after = guarded.run("--ctxguard")

    assert here.outcomes == {"passed": 1}
    assert set(here.states("test_it").values()) == {"new"}
    findings = there.findings("test_it")
    assert findings.keys() == {"ctx_token_cost.new", "ctx_answered.new"}
    assert findings["ctx_token_cost.new"]["measured"] == "37651"
    assert findings["ctx_token_cost.new"]["allowed"] == "a recorded value, since CI is set"
    assert "--ctxguard-update-new test_mini.py::" in findings["ctx_token_cost.new"]["remedy"]
    assert recorded.outcomes == after.outcomes == {"passed": 1}


@pytest.mark.parametrize("ci", ["", "0", "false"])
def test_ci_may_be_set_to_say_no(
    project: Project, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    monkeypatch.setenv("CI", ci)

    assert project.with_test(BOTH_METRICS).run("--ctxguard").outcomes == {"passed": 1}
