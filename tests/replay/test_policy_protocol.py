"""How a policy is called: what its signature asks for, what it may be."""

import functools

import pytest

from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.policies.protocol import policy_name
from tests.factories import LetterCounter, replayed, session, tool

HEARD = []


@pytest.fixture(autouse=True)
def heard():
    HEARD.clear()
    return HEARD


def plain(messages):
    return messages


def asks_for_all(messages, budget, count, tools):
    HEARD.append((budget, count(messages), tools))
    return messages


def test_what_the_signature_names_is_given(heard):
    replay = replayed(asks_for_all, budget=500)
    assert heard[0] == (
        500,
        LetterCounter().count(session().messages[:2], tools=[tool()]),
        [tool()],
    )
    assert [call[1] for call in heard[:4]] == list(replay.tokens.by_call)


def test_tools_are_a_copy():
    def empties(messages, tools):
        tools[0]["function"].clear()
        return messages

    transcript = session()
    replayed(empties, transcript)
    assert transcript.tools == (tool(),)


def test_keyword_only_arguments_and_defaults():
    def policy(history, *, count, budget=7, keep=3):
        HEARD.append((count(history), budget, keep))
        return history

    replayed(policy)
    assert {call[1:] for call in HEARD} == {(7, 3)}
    HEARD.clear()
    replayed(policy, budget=90)
    assert {call[1:] for call in HEARD} == {(90, 3)}


def test_more_positional_and_keyword_arguments_get_nothing():
    def policy(messages, *args, **kwargs):
        HEARD.append((args, kwargs))
        return messages

    replayed(policy, budget=90)
    assert HEARD[0] == ((), {})


def test_only_positional_arguments():
    def policy(*args):
        HEARD.append(len(args))
        return args[0]

    replayed(policy)
    assert set(HEARD) == {1}


def test_a_partial():
    def policy(keep, messages):
        return messages[-keep:]

    replay = replayed(functools.partial(policy, 2))
    assert [len(step.request.messages) for step in replay.steps] == [2, 2, 2, 2]
    assert replay.policy == "test_a_partial.<locals>.policy"


class Window:
    def __init__(self, last):
        self.last = last

    def __call__(self, messages, budget=None):
        HEARD.append(budget)
        return messages[-self.last :]

    def fit(self, messages):
        return messages[-self.last :]


def test_a_callable_object():
    replay = replayed(Window(3), budget=90)
    assert [len(step.request.messages) for step in replay.steps] == [2, 3, 3, 3]
    assert replay.policy == "Window"
    assert set(HEARD) == {90}


def test_a_bound_method():
    assert replayed(Window(1).fit).policy == "Window.fit"


def test_a_factory_is_called_once():
    made = []

    def make():
        made.append(Window(2))
        return made[-1]

    replay = replayed(make, budget=90)
    assert len(made) == 1
    assert replay.policy == "test_a_factory_is_called_once.<locals>.make"
    assert replay.budget == 90
    assert set(HEARD) == {90}


def test_a_class_is_a_factory():
    class Newest:
        def __call__(self, messages):
            return messages[-1:]

    assert [len(step.request.messages) for step in replayed(Newest).steps] == [1] * 4


REFUSED = {
    "no callable": (3, "3 is not a policy: it cannot be called"),
    "a budget nobody gave": (
        asks_for_all,
        "policy asks_for_all needs a budget. Give ctx_replay(…, budget=N) or mark the test with "
        "ctx_budget(N).",
    ),
    "an argument nobody offers": (
        lambda messages, model: messages,
        "policy <lambda> needs an argument 'model', and a replay offers budget, count, tools, "
        "summarise. Bind it: functools.partial(policy, model=…).",
    ),
    "no messages": (
        lambda *, messages: messages,
        "<lambda> takes no messages; a policy takes the history",
    ),
    "a factory of something else": (lambda: 7, "7 is not a policy: it cannot be called"),
    "no signature": (
        dict.update,
        "dict.update has no signature to read. Wrap it: lambda messages: policy(messages)",
    ),
}


@pytest.mark.parametrize(("policy", "message"), REFUSED.values(), ids=REFUSED)
def test_policies_that_cannot_be_called(policy, message):
    with pytest.raises(UsageError) as caught:
        replayed(policy)
    assert str(caught.value) == message


OUTPUTS = {
    "nothing": (None, "policy policy returned NoneType at call 0; a policy returns the list of "
                "messages to send. One that edits the list it is handed is declared: "
                "mutates(policy)"),
    "a text": ("messages", "policy policy returned str at call 0; a policy returns the list of "
               "messages to send"),
    "bytes": (b"x", "policy policy returned bytes at call 0; a policy returns the list of "
              "messages to send"),
    "a generator": ((m for m in ()), "policy policy returned generator at call 0; a policy "
                    "returns the list of messages to send"),
    "texts": (["hi"], "policy policy returned a str as message 0 at call 0; messages are "
              "OpenAI-format dicts"),
    "a result of a list of calls": (
        [{"role": "tool", "tool_call_id": ["c1"], "content": "x"}],
        "policy policy returned message 0 at call 0, which is no OpenAI message: `tool_call_id` "
        "must be text, the `id` of a call",
    ),
    "a call with a number for an id": (
        [{"role": "assistant", "content": None, "tool_calls": [{"id": 1, "function": {}}]}],
        "policy policy returned message 0 at call 0, which is no OpenAI message: `tool_calls` "
        "must be a list of objects with a `function`; an `id` is text",
    ),
    "a part whose text is a number": (
        [{"role": "user", "content": [{"type": "text", "text": 3}]}],
        "policy policy returned message 0 at call 0, which is no OpenAI message: a part of "
        "`content` must be text, or an object with a `type`",
    ),
    "a key that is no text": (
        [{"role": "user", "content": "hi", 1: 2}],
        "policy policy returned message 0 at call 0, which is no OpenAI message: its keys must be "
        "text",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("output", "message"), OUTPUTS.values(), ids=OUTPUTS)
def test_policies_that_return_no_messages(output, message):
    def policy(messages):
        return output

    with pytest.raises(PolicyError) as caught:
        replayed(policy)
    assert str(caught.value).replace(policy.__qualname__, "policy") == message


def test_a_policy_that_raises_keeps_its_error_and_gets_a_note():
    def policy(messages):
        return messages if len(messages) < 4 else messages[99]

    with pytest.raises(IndexError) as caught:
        replayed(policy)
    assert caught.value.__notes__ == [
        f"ctxguard: raised by policy {policy.__qualname__} at call 1 of transcript 'small' "
        "(history of 4 messages)"
    ]


def test_a_policy_that_raises_at_a_probe_is_named_with_the_probe():
    def policy(messages):
        assert messages[-1]["content"] != "Who opens the ticket?"
        return messages

    with pytest.raises(AssertionError) as caught:
        replayed(policy)
    assert "at probe employee/2 of transcript 'small'" in caught.value.__notes__[0]


NAMES = {
    "a function": (plain, "plain"),
    "a class": (Window, "Window"),
    "an object": (Window(1), "Window"),
    "a method": (Window(1).fit, "Window.fit"),
    "a partial of a partial": (functools.partial(functools.partial(plain)), "plain"),
    "a builtin": (len, "len"),
}


@pytest.mark.parametrize(("policy", "name"), NAMES.values(), ids=NAMES)
def test_names_for_reports(policy, name):
    assert policy_name(policy) == name
