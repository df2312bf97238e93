"""Where the tokens of a request go."""

from hypothesis import given, settings

from pytest_ctxguard.tokens.buckets import Buckets, buckets
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
