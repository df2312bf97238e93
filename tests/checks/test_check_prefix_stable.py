"""``ctx_prefix_stable`` and ``ctx_prefix_moves``."""

import pytest

from pytest_ctxguard.checks.prefix_stable import PrefixMoves, PrefixStable
from pytest_ctxguard.checks.promise import make_promises
from pytest_ctxguard.errors import UsageError
from tests.factories import case_of, replayed, session, user


class Clock:
    """Writes the time of the call into the system prompt."""

    def __init__(self):
        self.minute = 0

    def __call__(self, messages):
        self.minute += 1
        time = {"role": "system", "content": f"You run payments. It is 10:0{self.minute}."}
        return [time, *messages[1:]]


def once(messages):
    """Edit the first user message, from the last call on."""
    if len(messages) < 8:
        return list(messages)
    return [messages[0], {**messages[1], "content": "My number is 4417."}, *messages[2:]]


def judged(promise, policy, *others, **fields):
    replay = replayed(policy, session(facts=(), **fields))
    return promise.judge(case_of(replay, promises=(promise, *others)))


def test_an_append_only_session_is_stable_however_fast_it_grows():
    judgement = judged(PrefixStable(min_reuse=1.0), list)
    assert (judgement.verdict, judgement.promise) == ("pass", "prefix_stable")
    assert judgement.summary == (
        "281 of 419 tokens were in the request before, whole messages compared; 0 breaks in 3 "
        "changes"
    )
    assert judgement.requests == 4


def test_a_clock_in_the_system_prompt_breaks_it_at_every_call():
    judgement = judged(PrefixStable(), Clock)
    assert judgement.verdict == "fail"
    assert judgement.counts == {"breaks": 3}
    finding = judgement.findings[0]
    assert finding.rule == "ctx_prefix_stable.breaks"
    assert finding.what == "the prefix breaks at call 1: clock"
    assert finding.where == (
        "transcript small, policy Clock, call 1, system, message 0, content, character 28"
    )
    assert finding.measured.startswith(
        "'You run payments. It is 10:01.' became 'You run payments. It is 10:02.'; 10 of "
    )
    assert finding.allowed.startswith("80.0% of the tokens reused, or no break; ")


def test_few_breaks_are_no_finding_where_enough_is_reused():
    assert judged(PrefixStable(min_reuse=0.3), once).verdict == "pass"
    judgement = judged(PrefixStable(min_reuse=0.9), once)
    assert [finding.where.split(", ")[2] for finding in judgement.findings] == ["call 3"]


def test_more_breaks_than_can_be_shown_are_counted():
    messages = [{"role": "system", "content": "."}]
    for number in range(9):
        messages += [user(f"q{number}"), {"role": "assistant", "content": "a"}]
    judgement = judged(PrefixStable(), Clock, messages=tuple(messages))
    assert len(judgement.findings) == 5
    assert judgement.counts == {"breaks": 8}
    assert judgement.findings[-1].what == "the prefix breaks at call 5: clock (and 3 more calls)"


def test_one_call_has_nothing_to_be_compared_with():
    with pytest.raises(UsageError, match="transcript 'small' has one call"):
        judged(PrefixStable(), list, messages=(user("a"),))
    with pytest.raises(UsageError, match="transcript 'small' has one call"):
        judged(PrefixMoves(reason="by design"), list, messages=(user("a"),))


def test_the_provider_says_in_which_order_sections_stand():
    assert judged(PrefixStable(min_reuse=1.0, provider="vllm"), list).promise == (
        "prefix_stable(vllm)"
    )
    with pytest.raises(UsageError, match="no cache rules for 'nobody'"):
        judged(PrefixStable(provider="nobody"), list)


def test_moves_are_allowed_with_a_reason_that_the_report_shows():
    move = PrefixMoves("the task is edited once")
    assert judged(PrefixStable(min_reuse=0.9), once, move).verdict == "pass"
    stable = judged(PrefixStable(min_reuse=0.9), once, move)
    assert stable.summary.endswith("0 breaks in 3 changes, 1 more allowed")
    judgement = judged(move, once)
    assert (judgement.verdict, judgement.promise) == ("pass", "prefix_moves")
    assert judgement.summary == "1 of 1 moves: the task is edited once"


def test_more_moves_than_stated_are_findings_of_both():
    move = PrefixMoves("the clock is shown", at_most=2, section="system")
    judgement = judged(move, Clock)
    assert (judgement.verdict, judgement.promise) == ("fail", "prefix_moves(system)")
    [finding] = judgement.findings
    assert (finding.rule, finding.what) == (
        "ctx_prefix_moves.more",
        "the prefix breaks at call 3: clock",
    )
    assert finding.allowed == "2 of 3, because the clock is shown"
    [left] = judged(PrefixStable(), Clock, move).findings
    assert left.where.split(", ")[2] == "call 3"


def test_moves_allow_breaks_in_their_section_only():
    move = PrefixMoves("tools are loaded", at_most=9, section="tools")
    assert judged(move, Clock).summary == "0 of 9 moves: tools are loaded"
    assert judged(PrefixStable(), Clock, move).counts == {"breaks": 3}


REFUSED = [
    (PrefixStable, {"min_reuse": 0}, "min_reuse=0 is not a share"),
    (PrefixStable, {"min_reuse": 1.1}, "min_reuse=1.1 is not a share"),
    (PrefixStable, {"min_reuse": True}, "min_reuse=True is not a share"),
    (PrefixStable, {"provider": 3}, "provider=3 is not a name"),
    (PrefixMoves, {"at_most": 1}, "missing 1 required positional argument: 'reason'"),
    (PrefixMoves, {"reason": " "}, "reason=' ' states no reason"),
    (PrefixMoves, {"reason": "a", "at_most": 0}, "at_most=0 is not a number of 1 or more"),
    (PrefixMoves, {"reason": "a", "section": "user"}, "section='user' is not one of"),
]


@pytest.mark.parametrize(("kind", "arguments", "says"), REFUSED)
def test_impossible_arguments(kind, arguments, says):
    with pytest.raises(UsageError, match=says) as caught:
        make_promises(kind, (), arguments)
    assert str(caught.value).endswith(f"Usage: {kind.usage}")
