"""Recordings as replays."""

import pytest

from pytest_ctxguard.checks.carried import CarriedFact
from pytest_ctxguard.checks.lifetime import Lifetime
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.replay.recorded import as_recorded
from pytest_ctxguard.transcript.model import Compaction
from tests.factories import (
    LetterCounter,
    assistant,
    case_of,
    employee,
    replayed,
    session,
    system,
    tool,
    user,
)


def recorded(*runs, **fields):
    return as_recorded(runs or (session(),), counter=LetterCounter(), **fields)


def indexes(replay):
    return [[origin.index for origin in step.request.origins] for step in replay.steps]


def test_a_session_that_sent_everything_is_the_replay_of_full_history():
    ours, theirs = recorded(), replayed(full_history)
    assert ours.tokens == theirs.tokens
    assert ours.changes == theirs.changes
    assert ours.bucket_use == theirs.bucket_use
    assert ours.cost("openai").weighted == theirs.cost("openai").weighted
    assert not ours.acted
    assert [s.request.messages for s in ours.steps] == [s.request.messages for s in theirs.steps]
    assert [s.request.origins for s in ours.steps] == [s.request.origins for s in theirs.steps]


def test_a_fact_is_looked_for_at_every_call_and_nowhere_else():
    carried = recorded().carried("employee")
    assert (len(carried.probes), len(carried.calls)) == (0, 4)
    assert carried.sources_at("every") == ("original",)


def test_a_compaction_is_what_the_client_did():
    compaction = Compaction(at=6, kept_from=6, inserted=(user("So far: a number."),))
    replay = recorded(session(compactions=(compaction,)))
    assert [step.request.acted for step in replay.steps] == [False, False, True, True]
    assert indexes(replay)[2] == [0, None]
    assert [bool(seen) for seen in replay.carried("employee").calls] == [True, True, False, False]
    assert replay.steps[2].history_tokens > replay.steps[2].request.tokens
    assert replay.steps[2].history_tokens == replayed(full_history).steps[2].request.tokens


def cut_runs(*, tools=()):
    """Two requests of one client: a whole one, then one that replaced what was first."""
    first = [system(), user("I am 4417."), assistant("Noted."), user("Which?"), assistant("B.")]
    then = [
        system(),
        user("Summary."),
        user("Which?"),
        assistant("B."),
        user("Go."),
        assistant("."),
    ]
    return (
        session(
            name="cut-0", messages=tuple(first), facts=(),
            recorded={2: {"exchange": 1}, 4: {"exchange": 2}},
        ),
        session(
            name="cut-1", messages=tuple(then), facts=(),
            recorded={5: {"exchange": 3, "tools": list(tools)}},
        ),
    )  # fmt: skip


def test_runs_of_one_client_are_joined_each_message_once():
    replay = recorded(*cut_runs(), facts=[employee()])
    assert replay.transcript.name == "cut"
    assert [m["content"] for m in replay.transcript.messages] == [
        "You run payments.", "I am 4417.", "Noted.", "Which?", "B.", "Summary.", "Go.", ".",
    ]  # fmt: skip
    assert indexes(replay) == [[0, 1], [0, 1, 2, 3], [0, 5, 3, 4, 6]]
    assert [step.call.index for step in replay.steps] == [0, 1, 2]
    assert [step.request.acted for step in replay.steps] == [False, False, True]
    assert [bool(seen) for seen in replay.carried("employee").calls] == [True, True, False]
    assert replay.traffic is not None
    assert not replay.traffic.uncut


def test_each_request_has_the_tools_it_was_sent_with():
    replay = recorded(*cut_runs())
    assert [len(step.request.offered(replay.transcript)) for step in replay.steps] == [1, 1, 0]
    assert replay.transcript.tools == (tool(),)
    assert replay.steps[2].request.tokens == LetterCounter().count(replay.sent[2].messages)


def test_equal_messages_are_told_apart_by_their_place():
    again = (
        system(), user("Again."), assistant("Yes."), user("Again."), assistant("Yes."),
    )  # fmt: skip
    one = session(messages=again, facts=(), recorded={2: {"exchange": 1}, 4: {"exchange": 2}})
    other = session(messages=(user("Other."),), facts=(), recorded={})
    replay = recorded(one, other)
    assert indexes(replay) == [[0, 1], [0, 1, 2, 3]]


def test_what_was_really_sent_is_there_whatever_runs_there_are():
    for runs in ((session(),), cut_runs(), (session(), session(name="b"))):
        replay = recorded(*runs)
        for step, sent in zip(replay.steps, replay.sent, strict=True):
            assert step.request.messages == sent.messages
            assert step.request.tokens == sent.tokens
            history = replay.transcript.messages[: step.call.history]
            for message, origin in zip(sent.messages, step.request.origins, strict=True):
                assert origin.index is None or history[origin.index] == message


def test_what_is_no_fact_and_a_second_fact_of_one_name_are_refused():
    with pytest.raises(UsageError, match=r"'employee' is no Fact; give Fact\(name"):
        recorded(facts=["employee"])
    with pytest.raises(UsageError, match="two facts are named 'employee'"):
        recorded(facts=[employee()])


def test_a_fact_that_is_not_where_it_is_said_to_be_is_refused():
    with pytest.raises(UsageError, match="message 2 of 'small' does not state '4417'; message 1 "):
        recorded(facts=[employee(name="other", planted_at=2)])
    with pytest.raises(UsageError, match="does not state '9999'; no message states it"):
        recorded(facts=[employee(name="other", value="9999", accepts=(), look_alikes=())])


def test_a_recording_without_a_call_is_refused():
    with pytest.raises(UsageError, match="'small' holds no call"):
        recorded(session(messages=(assistant("Hello."),), facts=()))


def test_the_provider_is_told_by_the_models_or_named():
    told = session(recorded={2: {"model": "deepseek-chat"}})
    assert recorded(told).cost().simulation.rule.name == "deepseek"
    assert recorded(told, provider="vllm").cost().simulation.rule.name == "vllm"
    with pytest.raises(UsageError, match="no cache rules for ''"):
        recorded().cost()


def judged(promise, *runs, **fields):
    return promise.judge(case_of(recorded(*runs, **fields)))


def test_a_fact_that_holds_is_in_every_call_since_planting():
    compaction = Compaction(at=6, kept_from=6, inserted=(user("So far: a number."),))
    [lost] = judged(Lifetime("employee"), session(compactions=(compaction,))).findings
    assert lost.rule == "ctx_lifetime.lost"
    assert lost.what == "the client dropped 'employee' ('4417'), which still holds"
    assert "call 2" in lost.where
    assert lost.measured == "so in 2 of 4 requests"
    assert judged(Lifetime("employee")).verdict == "pass"


def test_a_fact_of_one_turn_is_gone_in_the_calls_after_it():
    fact = employee(lifetime="turn")
    judgement = judged(Lifetime("employee"), session(facts=(fact,)))
    assert [finding.rule for finding in judgement.findings] == ["ctx_lifetime.expired"]
    assert judgement.findings[0].measured == "so in 3 of 3 requests"


def test_an_outdated_value_is_told_from_the_newer_one_at_every_call():
    updated = (system(), user("Use port 80."), assistant("Yes."), user("Use port 81."))
    fact = employee(kind="update", value="81", accepts=(), supersedes=("80",), planted_at=3)
    run = session(messages=updated, facts=(fact,))
    assert judged(Lifetime()).verdict == "pass"
    assert judged(Lifetime(strict=True), run).findings[0].rule == "ctx_lifetime.superseded"
    assert judged(Lifetime(), run).verdict == "pass"


def test_a_promise_about_no_call_at_all_is_refused():
    late = employee(value="ticket", planted_at=7, accepts=(), look_alikes=(), lifetime="turn")
    with pytest.raises(UsageError, match="no call comes after 'employee' was planted, and its tu"):
        judged(Lifetime("employee"), session(facts=(late,)))
    answered = session(messages=session().messages[:7], facts=())
    last = employee(value="slow one", planted_at=6, accepts=(), look_alikes=())
    with pytest.raises(UsageError, match="no call comes after 'employee' was planted, so nothing"):
        judged(Lifetime("employee"), answered, facts=[last])
    with pytest.raises(UsageError, match=r"nothing could be wrong\. Leave the mark out"):
        judged(CarriedFact("employee"), answered, facts=[last])
