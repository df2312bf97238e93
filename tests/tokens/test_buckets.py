"""Where the tokens of a request go."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard.tokens.buckets import Buckets, PutIn, buckets
from tests import factories
from tests.factories import LetterCounter, assistant, call, calling, result, system, tool, user
from tests.tokens.histories import requests


@settings(deadline=None, max_examples=100)
@given(requests())
def test_they_add_up_and_none_is_negative(request_):
    messages, tools = request_
    found = buckets(factories.encoder(), messages, tools=tools)
    assert found.total == factories.encoder().count(messages, tools=tools)
    assert min(found.system, found.tools, found.tool_results, found.conversation) >= 0
    assert (found.tools > 0) == bool(tools)
    assert (found.tool_results > 0) == any(m["role"] == "tool" for m in messages)


HISTORY = [
    system("12345"),
    user("1234567"),
    calling(call("c1", "f"), content="abc"),
    result("1234567890"),
    assistant("12"),
]


def test_each_message_falls_to_its_bucket():
    # the call is 'abc\nf {}', the generation prompt 1; both are conversation
    found = buckets(LetterCounter(), HISTORY, tools=[tool(), tool()])
    assert found == Buckets(system=5, tools=20, tool_results=10, conversation=7 + 8 + 2 + 1)
    assert found.total == 53


def test_a_developer_message_is_system_and_a_later_system_message_is_conversation():
    counter = LetterCounter()
    developer = [{"role": "developer", "content": "12345"}, user("12"), system("123")]
    assert buckets(counter, developer) == Buckets(5, 0, 0, 2 + 3 + 1)
    assert buckets(counter, [system("12345"), system("123")]) == Buckets(5, 0, 0, 3 + 1)


def test_the_templates_own_system_text_is_system():
    found = buckets(factories.encoder(), [user("Hi")])
    assert found.system == factories.encoder().count([], generation_prompt=False) > 10
    assert found.tools == found.tool_results == 0


def test_what_a_policy_put_in_is_taken_out_first():
    counter = LetterCounter()
    pinned = {"role": "user", "content": "123456"}
    grown = system("12345 and 67")
    messages = [grown, user("sum"), pinned, *HISTORY[1:]]
    put_in = {
        0: PutIn("pinned", system("12345")),
        1: PutIn("summary"),
        2: PutIn("pinned"),
    }
    found = buckets(counter, messages, tools=[tool()], put_in=put_in)
    assert found == Buckets(5, 10, 10, 7 + 8 + 2 + 1, pinned=7 + 6, summary=3)
    assert found.total == counter.count(messages, tools=[tool()])


@settings(deadline=None, max_examples=50)
@given(requests(), st.data())
def test_they_add_up_whatever_was_put_in(request_, data):
    messages, tools = request_
    spoken = [i for i, m in enumerate(messages) if m["role"] in ("user", "assistant")]
    chosen = data.draw(st.sets(st.sampled_from(spoken))) if spoken else ()
    put_in = {i: PutIn(data.draw(st.sampled_from(["pinned", "summary"]))) for i in chosen}
    found = buckets(factories.encoder(), messages, tools=tools, put_in=put_in)
    assert found.total == factories.encoder().count(messages, tools=tools)
    assert any(each.bucket == "pinned" for each in put_in.values()) == (found.pinned > 0)
    assert any(each.bucket == "summary" for each in put_in.values()) == (found.summary > 0)


def test_buckets_of_several_requests_add_up():
    one, other = Buckets(1, 2, 3, 4, 5, 6), Buckets(10, 20, 30, 40)
    assert one + other == Buckets(11, 22, 33, 44, 5, 6)
    assert (one + other).total == one.total + other.total == 121
