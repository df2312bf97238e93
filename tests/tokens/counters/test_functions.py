"""A user's function as a counter."""

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.counters.functions import FunctionCounter, TextCounter
from pytest_ctxguard.tokens.exactness import exactness
from tests.factories import call, calling, result, tool, user


def letters(messages):
    return sum(len(message["content"]) for message in messages)


def letters_and_tools(messages, tools):
    return letters(messages) + 100 * len(tools)


def test_a_function_of_messages_counts_no_tools_and_says_so():
    counter = FunctionCounter(letters)
    assert counter.name == "letters"
    assert counter.count([user("abc")], tools=[tool("find")]) == 3
    exact, why = exactness(counter)
    assert not exact
    assert "tool definitions" in why


def test_one_that_names_tools_is_given_them():
    counter = FunctionCounter(letters_and_tools)
    assert counter.count([user("abc")], tools=[tool("find")]) == 103
    assert counter.count([user("abc")]) == 3
    assert exactness(counter) == (True, "said by its owner")


@pytest.mark.parametrize("said", [2.5, -1, True, None, "3"])
def test_what_is_no_number_of_tokens_is_refused(said):
    with pytest.raises(UsageError, match="is no number of tokens"):
        FunctionCounter(lambda messages: said).count([user("a")])
    with pytest.raises(UsageError, match="is no number of tokens"):
        TextCounter(lambda text: said).count([user("a")])


def test_numpys_integers_are_numbers():
    numpy = pytest.importorskip("numpy")
    assert FunctionCounter(lambda messages: numpy.int64(7)).count([]) == 7


def test_a_function_of_text_sees_contents_calls_and_definitions():
    counter = TextCounter(len)
    request = [user("abc"), calling(call("c1", "find", q=1)), result("ok", "c1")]
    assert counter.count(request) == len("abc") + len("find") + len('{"q": 1}') + len("ok")
    assert counter.count(request, tools=[tool("find")]) > counter.count(request)
    assert not exactness(counter).exact


def test_a_text_is_counted_once():
    asked = []

    def count(text):
        asked.append(text)
        return 1

    counter = TextCounter(count)
    assert counter.count([user("abc"), user("abc")]) == counter.count([user("abc"), user("abc")])
    assert asked == ["abc"]
