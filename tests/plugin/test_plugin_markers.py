"""Every marker, kept and broken; what a broken one says, part by part."""

from __future__ import annotations

import pytest

from tests.plugin.project import PARTS, Project


def guarding(mark: str, policy: str, *, more: str = "") -> str:
    """Return a module with one guarded test."""
    return (
        f"{more}\n\n@pytest.mark.{mark}\ndef test_it(ctx_replay):\n    ctx_replay('mini', {policy})"
    )


POLICIES = (
    "def forgets_once(messages, budget=0): return messages[-1:] if budget == 317 else messages\n"
    "def dangling(messages): return messages[-1:] if messages[-1]['role'] == 'tool' else messages"
)
BROKEN = [
    pytest.param(
        "ctx_wellformed",
        "dangling",
        "ctx_wellformed.orphan-result",
        {
            "what": "a tool result for call_1, which the assistant message before it did not call",
            "where": "transcript mini, policy dangling, call 3, message 0",
            "measured": "8 of 25 requests break this rule",
            "allowed": "0, by the rules of openai",
            "why": "the provider refuses: Invalid parameter: messages with role 'tool'",
            "remedy": "keep a call and all its results together, or drop them together",
        },
        id="wellformed",
    ),
    pytest.param(
        "ctx_budget(300)",
        "SlidingWindow(last=1)",
        "ctx_budget.over",
        {
            "what": "8 of 25 requests are over the budget",
            "where": "transcript mini, policy SlidingWindow, call ",
            "measured": " tokens at the largest",
            "allowed": "300 tokens, by qwen2.5",
            "why": "beyond the model's window the provider refuses",
            "remedy": "have the policy count what is sent",
        },
        id="budget",
    ),
    pytest.param(
        'ctx_carried("shard")',
        "SlidingWindow(last=4)",
        "ctx_carried.lost",
        {
            "what": "the policy dropped 'shard' ('pay-core-07')",
            "where": "transcript mini, policy SlidingWindow, wording 1, planted at message 1",
            "measured": "carried in 0 of 3 requests",
            "allowed": "carried in all of them",
            "why": "the model cannot answer from what it is not sent",
            "remedy": "keep the message, pin its text, or have the summary carry the value",
        },
        id="carried",
    ),
    pytest.param(
        'ctx_carried("shard", at="every")',
        "SlidingWindow(last=4)",
        "ctx_carried.lost",
        {"where": "call 3 since planting", "measured": "carried in 2 of 19 requests"},
        id="carried-every",
    ),
    pytest.param(
        'ctx_carried("shard", budgets=range(300, 320))',
        "forgets_once",
        "ctx_carried.lost-at-budget",
        {
            "what": "the policy dropped 'shard' ('pay-core-07') at 1 of 20 budgets",
            "where": "transcript mini, policy forgets_once, budget 317, wording 1",
            "measured": "lost at 1 of 20 budgets: 317",
            "allowed": "carried at every one",
            "why": "the model cannot answer from what it is not sent",
            "remedy": "see what it cuts there: ctx_replay(…, budget=317)",
        },
        id="carried-budgets",
    ),
    pytest.param(
        'ctx_lifetime("shard")',
        "SlidingWindow(last=4)",
        "ctx_lifetime.lost",
        {
            "what": "the policy dropped 'shard' ('pay-core-07'), which still holds",
            "where": "transcript mini, policy SlidingWindow, wording 1, planted at message 1",
            "measured": "so in 3 of 3 requests",
            "allowed": "so in none",
            "why": "the model cannot answer from what it is not sent",
            "remedy": "keep the message, pin its text, or have the summary carry the value",
        },
        id="lifetime",
    ),
    pytest.param(
        'ctx_absent("shard")',
        "UserMessages(last_turns=1)",
        "ctx_absent.kept",
        {
            "what": "'shard' ('pay-core-07') is still sent",
            "where": "transcript mini, policy UserMessages, wording 1, from: original",
            "measured": "carried in 3 of 3 requests",
            "allowed": "carried in none",
            "why": "a value that should be gone can still be answered",
            "remedy": "drop the message and what repeats it",
        },
        id="absent",
    ),
    pytest.param(
        'ctx_absent("shard", at="every")',
        "SlidingWindow(last=4)",
        "ctx_absent.kept",
        {"where": "call 1 since planting", "measured": "carried in 2 of 19 requests"},
        id="absent-every",
    ),
    pytest.param(
        'ctx_answered("shard", at_least=2)',
        "SlidingWindow(last=4)",
        "ctx_answered.too-few",
        {
            "what": "'shard' is answered 0 of 3 times",
            "where": "policy SlidingWindow, shard/1 abstained: 'I do not know.', shard/2 abstained",
            "measured": "0 hits; carried: no (nowhere)",
            "allowed": "at least 2",
            "why": "it is not sent, so the model cannot answer it",
            "remedy": "have the policy carry the value",
        },
        id="answered",
    ),
]


@pytest.mark.parametrize(("mark", "policy", "rule", "said"), BROKEN)
def test_a_broken_promise_is_said_in_five_parts(
    project: Project, mark: str, policy: str, rule: str, said: dict[str, str]
) -> None:
    result = project.with_test(guarding(mark, policy, more=POLICIES)).run("--ctxguard")

    findings = result.findings("test_it")
    assert result.outcomes == {"failed": 1}
    assert findings.keys() == {rule}
    assert findings[rule].keys() == {"what", *PARTS}
    for part, text in said.items():
        assert text in findings[rule][part]
    assert f"  fail         {mark.removeprefix('ctx_').partition('(')[0]}" in result.section


@pytest.mark.parametrize(
    ("mark", "policy", "summary"),
    [
        ("ctx_wellformed", "full_history", "wellformed(openai): 25 requests, all accepted"),
        ("ctx_budget(4000)", "full_history", "of 4000 tokens"),
        (
            'ctx_carried("shard", "employee")',
            "full_history",
            "in 3 of 3 requests at probe (original)",
        ),
        ('ctx_carried("shard", at="every")', "full_history", "in 19 of 19 requests at every"),
        ('ctx_absent("shard")', "SlidingWindow(last=4)", "absent(shard): in 0 of 3 requests"),
        ("ctx_lifetime", "full_history", "lifetime: 2 facts that hold, 0 that must be gone"),
        ('ctx_answered("shard", at_least=3)', "full_history", "3 of 3 usable wordings (3 hit)"),
        ("ctx_token_cost", "full_history", "input tokens billed over 19 calls [new]"),
    ],
)
def test_a_kept_promise_passes_and_is_summed_up(
    project: Project, mark: str, policy: str, summary: str
) -> None:
    result = project.with_test(guarding(mark, policy)).run("--ctxguard")

    assert result.outcomes == {"passed": 1}
    assert summary in result.section
    assert "fail" not in result.section


def test_what_a_policy_lost_in_the_middle_of_the_session_counts_at_every(project: Project) -> None:
    forgetful = """
        def forgetful(messages):
            return messages[2:] if len(messages) == 20 else messages

        @pytest.mark.ctx_carried("shard")
        def test_probe(ctx_replay):
            ctx_replay("mini", forgetful)

        @pytest.mark.ctx_carried("shard", at="every")
        def test_every(ctx_replay):
            ctx_replay("mini", forgetful)
        """

    result = project.with_test(forgetful).run("--ctxguard")

    assert result.outcomes == {"passed": 1, "failed": 1}
    measured = result.findings("test_every")["ctx_carried.lost"]["measured"]
    assert measured == "carried in 18 of 19 requests"


@pytest.mark.parametrize(
    ("variant", "outcome"),
    [
        ("honest", "abstained"),
        ("neighbour", "neighbour"),
        ("invented", "invented"),
        ("rambling", "other"),
        ("erroring", "error"),
    ],
)
def test_each_outcome_of_a_dropped_fact_is_named(
    project: Project, variant: str, outcome: str
) -> None:
    test = guarding('ctx_answered("shard")', "SlidingWindow(last=4)")

    result = project.with_backend(variant).with_test(test).run("--ctxguard")

    assert f"answered(shard): 0 of 3 usable wordings (3 {outcome})" in result.section
    where = result.findings("test_it")["ctx_answered.too-few"]["where"]
    assert f"shard/1 {outcome}: " in where


def test_a_fact_that_is_sent_and_not_found_has_another_remedy(project: Project) -> None:
    test = guarding('ctx_answered("shard", at_least=3)', "full_history")

    result = project.with_backend("flipping").with_test(test).run("--ctxguard")

    finding = result.findings("test_it")["ctx_answered.too-few"]
    assert finding["measured"] == "2 hits; carried: yes (original)"
    assert finding["why"] == "it is sent, but the model does not find it"
    assert "(2 hit, 1 other)" in result.section


def test_the_controls_are_shown_with_the_reason_a_wording_is_unusable(project: Project) -> None:
    test = guarding('ctx_answered("shard", at_least=2)', "full_history")

    result = project.with_backend("deaf").with_test(test).run("--ctxguard")

    assert result.outcomes == {"passed": 1}
    assert (
        "2 of 2 usable wordings (2 hit); 1 unusable: shard/2 other with the fact alone"
        in result.section
    )


@pytest.mark.parametrize(
    ("variant", "at_least", "text"),
    [
        ("deaf", 3, "only 2 of 3 wordings are usable (shard/2 other with the fact alone)"),
        ("guessing", 1, "only 0 of 3 wordings are usable (shard/1 guessed without the fact"),
        ("honest", 4, "only 3 of 3 wordings are usable (no more are written)"),
    ],
)
def test_a_promise_above_the_usable_wordings_is_an_error(
    project: Project, variant: str, at_least: int, text: str
) -> None:
    test = guarding(f'ctx_answered("shard", at_least={at_least})', "full_history")

    result = project.with_backend(variant).with_test(test).run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    failure = result.failure("test_it")
    assert f"ctx_answered('shard', at_least={at_least}): {text}" in failure
    assert "Lower at_least or add wordings." in failure
    assert "  not judged: ctx_answered('shard'" in result.section


def test_one_failure_carries_the_findings_of_every_promise(project: Project) -> None:
    test = """
        @pytest.mark.ctx_budget(300)
        @pytest.mark.ctx_carried("shard", "employee")
        @pytest.mark.ctx_wellformed
        def test_it(ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4))
        """

    result = project.with_test(test).run("--ctxguard")

    failure = result.failure("test_it")
    assert failure.splitlines()[0] == (
        "budget, carried(employee), carried(shard): "
        "22 of 25 requests are over the budget (and 2 more)"
    )
    assert failure.count("[ctx_carried.lost]") == 2
    assert failure.count("[ctx_budget.over]") == 1
    assert "pytest_ctxguard/" not in failure
    assert "ContextGateFailure: budget" in result.text  # pytest's short summary


def test_the_same_checks_can_be_asked_for_in_the_body(project: Project) -> None:
    test = """
        def test_kept(ctx_replay):
            replay = ctx_replay("mini", full_history, budget=4000)
            assert replay.check.carried("shard", "employee", at="every")
            assert replay.check.budget(4000)
            assert replay.answers("shard").hits == 3
            assert replay.findings == ()

        def test_broken(ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4)).check.carried("shard")

        def test_unknown(ctx_replay):
            ctx_replay("mini", full_history).check.carry("shard")
        """

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"passed": 1, "failed": 2}
    assert "  pass         carried(shard): in 19 of 19 requests at every" in result.section
    assert result.findings("test_broken").keys() == {"ctx_carried.lost"}
    assert "replay.check has no 'carry'; it has: absent, answered" in result.failure("test_unknown")
