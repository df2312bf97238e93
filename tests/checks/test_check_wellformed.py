"""``ctx_wellformed``."""

from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.checks.wellformed import Wellformed
from tests.factories import case_of, replayed, session, tool


def test_requests_that_the_provider_accepts():
    judgement = Wellformed().judge(case_of(replayed(lambda messages: messages)))
    assert judgement.verdict == "pass"
    assert judgement.promise == "wellformed(openai)"
    assert judgement.summary == "7 requests, all accepted"  # 4 calls, 3 probes


def cuts_rounds(messages):
    """Keep the newest three: in one call a result stands first, without its call."""
    return messages[-3:]


def test_one_finding_per_rule_at_its_first_place():
    judgement = Wellformed().judge(case_of(replayed(cuts_rounds)))
    assert judgement.verdict == "fail"
    assert judgement.summary == "7 requests, 3 problems"
    assert judgement.findings == (
        Finding(
            rule="ctx_wellformed.orphan-result",
            what="a tool result for c1, which the assistant message before it did not call",
            where="transcript small, policy cuts_rounds, call 3, message 0",
            measured="3 of 7 requests break this rule",
            allowed="0, by the rules of openai",
            why="the provider refuses: Invalid parameter: messages with role 'tool' must be a "
            "response to a preceeding message with 'tool_calls'.",
            remedy="keep a call and all its results together, or drop them together",
            requests=3,
        ),
    )


def test_several_rules_and_one_without_a_known_refusal():
    def spoils(messages):
        return [*messages[:-1], {**messages[-1], "content": "half \ud83d"}, {"role": "bot"}]

    judgement = Wellformed().judge(case_of(replayed_uncounted(spoils)))
    rules = {finding.rule.partition(".")[2]: finding for finding in judgement.findings}
    assert {"lone-surrogate", "unknown-role"} <= set(rules)
    assert rules["lone-surrogate"].why == (
        "clients cannot send it as UTF-8, or the API takes it for broken JSON"
    )
    assert rules["unknown-role"].where.endswith("call 0, message 2")


def without_roles_first(messages):
    """Drop the user messages before the newest."""
    last = max(i for i, m in enumerate(messages) if m["role"] == "user")
    return [m for i, m in enumerate(messages) if m["role"] != "user" or i == last]


def test_each_provider_has_rules_of_its_own():
    assert Wellformed("openai").judge(case_of(replayed(without_roles_first))).verdict == "pass"
    [finding] = Wellformed("gemini").judge(case_of(replayed(without_roles_first))).findings
    assert finding.rule == "ctx_wellformed.first-role"
    assert finding.where == ("transcript small, policy without_roles_first, call 1, message 1")
    assert finding.allowed == "0, by the rules of gemini"
    assert finding.why == "the provider refuses the request, or the model cannot read it"


def test_a_rule_stricter_than_the_provider_says_why():
    judgement = Wellformed("anthropic").judge(case_of(replayed(without_roles_first)))
    assert judgement.findings[0].why.startswith("refused until 2024 and by some gateways since")
    assert judgement.findings[0].why.endswith(
        '; the provider refuses: messages: first message must use the "user" role'
    )


def forgets(messages):
    """Send only the first user message, whatever is asked."""
    return messages[:2]


def test_the_current_task_is_looked_for_in_calls_and_probes():
    judgement = Wellformed().judge(case_of(replayed(forgets)))
    finding, newest_round = judgement.findings
    assert finding.rule == "ctx_wellformed.current-task"
    assert finding.where == "transcript small, policy forgets, call 1"
    assert finding.measured == "6 of 7 requests break this rule"
    assert newest_round.rule == "ctx_wellformed.current-round"
    assert newest_round.where == "transcript small, policy forgets, call 2"
    assert finding.why == "the API takes it, but the model no longer sees what it is asked"


def replayed_uncounted(policy):
    class Zero:
        name = "zero"

        def count(self, messages, **_):
            return 0

    return replayed(policy, session(facts=()), counter=Zero())


def test_a_problem_of_a_tool_definition_has_no_message():
    transcript = session(tools=(tool(name="read log"),), facts=())
    judgement = Wellformed().judge(case_of(replayed(lambda messages: messages, transcript)))
    [finding] = judgement.findings
    assert finding.rule == "ctx_wellformed.function-name"
    assert finding.measured == "4 of 4 requests break this rule"
    assert finding.where.startswith("transcript small, policy test_a_problem")
    assert finding.where.endswith(", call 0")
