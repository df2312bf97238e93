"""The transcript and its facts as values."""

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.matching import contains
from pytest_ctxguard.transcript.model import Call, Transcript
from tests.factories import assistant, call, calling, employee, result, session, system, user


def histories(*messages):
    return [call.history for call in Transcript(name="t", messages=messages).calls]


def test_a_call_comes_before_each_assistant_message():
    assert histories(system(), user("a"), assistant("b"), user("c"), assistant("d")) == [2, 4]


def test_every_step_of_a_tool_loop_is_a_call():
    loop = [user("a"), calling(call()), result("x"), calling(call()), result("y"), assistant("z")]
    assert histories(*loop) == [1, 3, 5]


def test_a_last_message_still_to_be_answered_is_one_more_call():
    assert histories(user("a"), assistant("b"), user("c")) == [1, 3]
    assert histories(user("a"), calling(call()), result("x")) == [1, 3]
    assert histories(user("a"), assistant("b"), system("later")) == [1]


def test_a_greeting_before_any_user_message_was_no_call():
    assert histories(assistant("Hello!"), user("a")) == [2]
    assert histories() == []


def test_calls_carry_what_the_recorder_knew():
    known = {2: {"prompt_tokens": 31}}
    transcript = Transcript(
        name="t",
        messages=(system(), user("a"), assistant("b"), user("c")),
        recorded=known,
    )
    assert transcript.calls == (Call(0, 2, {"prompt_tokens": 31}), Call(1, 4, {}))


def test_turns_run_from_user_message_to_user_message():
    assert session().turns == (range(1, 3), range(3, 7), range(7, 8))
    assert session().tool_rounds == (range(4, 6),)
    assert Transcript(name="t", messages=(system(),)).turns == ()


WITHIN = [
    ("It is 4417.", "4417", True),
    ("4417", "4417", True),
    ("(4417)", "4417", True),
    ("number\n4417\n", "4417", True),
    ("**4417**", "4417", True),
    ("44170", "4417", False),
    ("14417", "4417", False),
    ("pay-4417-x", "4417", False),
    ("id_4417", "4417", False),
    ("a4417", "4417", False),
    ("44170 or 4417", "4417", True),
    ("工号4417是我的", "4417", True),
    ("社員番号は4417です", "4417", True),
    ("номер4417", "4417", True),
    ("分片pay-shard-7很慢", "pay-shard-7", True),
    ("分片pay-shard-72很慢", "pay-shard-7", False),
    ("PAY-Shard-7 is slow", "pay-shard-7", True),
    ("МОСКВА", "москва", True),
    ("axc", "a.c", False),
    ("see a.c", "a.c", True),
    ("ticket #4417", "#4417", True),
    ("anything", "", False),
    ("", "4417", False),
]


@pytest.mark.parametrize(("text", "value", "found"), WITHIN)
def test_a_value_stands_in_a_text_as_a_word(text, value, found):
    assert contains(text, value) is found


def test_a_fact_accepts_its_value_unless_it_lists_answers():
    assert employee().accepted == ("4417",)
    assert employee(accepts=("number 4417", "#4417")).accepted == ("number 4417", "#4417")


def test_a_fact_is_mentioned_by_its_value_or_an_accepted_form():
    fact = employee(value="four four one seven", accepts=("4417",))
    assert fact.mentions("I am 4417.")
    assert fact.mentions("I am Four Four One Seven.")
    assert not fact.mentions("I am 44170.")


def test_a_fact_is_found_by_name():
    assert session().fact("employee") == employee()


def test_a_fact_that_is_not_there():
    with pytest.raises(UsageError) as caught:
        session().fact("ticket")
    assert str(caught.value) == ("transcript 'small' has no fact 'ticket'; it has: employee, shard")
    with pytest.raises(UsageError, match="it has: none"):
        session(facts=()).fact("ticket")


def test_more_facts_can_be_declared():
    ticket = employee(name="ticket")
    more = session().with_facts(ticket)
    assert [fact.name for fact in more.facts] == ["employee", "shard", "ticket"]
    assert [fact.name for fact in session().facts] == ["employee", "shard"]
