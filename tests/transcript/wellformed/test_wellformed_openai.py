"""OpenAI's rules: each can be broken, and a well-formed history breaks none."""

import copy

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.transcript.wellformed import Problem, openai_rules

USER = {"role": "user", "content": "look at the logs"}


def call(call_id="c1", name="read_log", arguments="{}"):
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def calling(*calls):
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(call_id="c1"):
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def found(messages, tools=()):
    return [(problem.rule, problem.index) for problem in openai_rules(messages, tools)]


@given(ctx.histories())
def test_a_well_formed_history_has_no_problem(history):
    before = copy.deepcopy(history)
    assert openai_rules(history) == []
    assert history == before


def test_parallel_calls_may_be_answered_in_any_order_and_ids_used_again_later():
    first = [calling(call("c1"), call("c2")), result("c2"), result("c1")]
    assert found([USER, *first, *first]) == []


BROKEN = {
    "unknown role": ([{"role": "bot", "content": "x"}], [("unknown-role", 0)]),
    "no role": ([{"content": "x"}], [("unknown-role", 0)]),
    "orphan at the start": ([result(), USER], [("orphan-result", 0)]),
    "orphan after a turn": (
        [USER, calling(call()), result(), USER, result("c9")],
        [("orphan-result", 4)],
    ),
    "answered again after a turn": (
        [USER, calling(call()), result(), USER, result()],
        [("duplicate-result", 4)],
    ),
    "answered again in another round": (
        [calling(call()), result(), calling(call("c2")), result(), result("c2")],
        [("duplicate-result", 3)],
    ),
    "orphan of another id": (
        [USER, calling(call()), result(), result("c9")],
        [("orphan-result", 3)],
    ),
    "unanswered in the middle": ([calling(call()), USER], [("unanswered-call", 0)]),
    "unanswered at the end": ([USER, calling(call())], [("unanswered-call", 1)]),
    "answered too late": (
        [calling(call()), USER, result()],
        [("unanswered-call", 0), ("orphan-result", 2)],
    ),
    "one of two unanswered": (
        [USER, calling(call("a"), call("b")), result("b"), USER],
        [("unanswered-call", 1)],
    ),
    "answered twice": ([calling(call()), result(), result()], [("duplicate-result", 2)]),
    "two calls, one id": (
        [calling(call(), call()), result()],
        [("duplicate-call-id", 0)],
    ),
    "no tool_call_id": (
        [USER, {"role": "tool", "content": "x"}],
        [("missing-tool-call-id", 1)],
    ),
    "empty tool_calls": (
        [{"role": "assistant", "content": "x", "tool_calls": []}],
        [("empty-tool-calls", 0)],
    ),
    "tool_calls of a wrong type": (
        [{"role": "assistant", "content": "x", "tool_calls": 3}],
        [("empty-tool-calls", 0)],
    ),
    "call without id": (
        [calling({k: v for k, v in call().items() if k != "id"})],
        [("missing-call-id", 0)],
    ),
    "call without type": (
        [calling({k: v for k, v in call().items() if k != "type"}), result()],
        [("missing-call-type", 0)],
    ),
    "call that is no object": (
        [calling("read_log")],
        [(rule, 0) for rule in ("missing-call-id", "missing-call-type", "function-name")]
        + [("arguments-type", 0)],
    ),
    "arguments as object": (
        [calling(call(arguments={"q": 1})), result()],
        [("arguments-type", 0)],
    ),
    "arguments missing": ([calling(call(arguments=None)), result()], [("arguments-type", 0)]),
    "arguments cut": ([calling(call(arguments='{"q": "lo')), result()], [("arguments-json", 0)]),
    "name with a dot": ([calling(call(name="a.b")), result()], [("function-name", 0)]),
    "name with a newline": ([calling(call(name="ab\n")), result()], [("function-name", 0)]),
    "name too long": ([calling(call(name="a" * 65)), result()], [("function-name", 0)]),
    "name empty": ([calling(call(name="")), result()], [("function-name", 0)]),
    "user without content": ([{"role": "user", "content": None}], [("missing-content", 0)]),
    "system without content key": ([{"role": "system"}, USER], [("missing-content", 0)]),
    "tool without content": (
        [calling(call()), {"role": "tool", "tool_call_id": "c1", "content": None}],
        [("missing-content", 1)],
    ),
    "assistant with neither": ([{"role": "assistant", "content": None}], [("missing-content", 0)]),
    "content an empty list": ([{"role": "user", "content": []}], [("content-type", 0)]),
    "content an object": ([{"role": "user", "content": {"a": 1}}], [("content-type", 0)]),
    "half a pair in content": ([{"role": "user", "content": "a\ud83d"}], [("lone-surrogate", 0)]),
    "half a pair in a part": (
        [{"role": "user", "content": [{"type": "text", "text": "\udc00"}]}],
        [("lone-surrogate", 0)],
    ),
    "half a pair in arguments": (
        [calling(call(arguments='{"q": "\ud83d"}')), result()],
        [("lone-surrogate", 0)],
    ),
}


@pytest.mark.parametrize(("messages", "problems"), BROKEN.values(), ids=BROKEN)
def test_each_rule_can_be_broken(messages, problems):
    assert found(messages) == problems


@pytest.mark.parametrize(
    "message",
    [
        {"role": "developer", "content": "be brief"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None, "refusal": "I will not"},
        {"role": "user", "content": [{"type": "text", "text": "😀 é"}]},
    ],
)
def test_what_is_allowed(message):
    assert found([message]) == []


def test_a_custom_tool_call_has_no_function():
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
    assert found([calling(custom), result()]) == []


def test_tool_definitions_are_checked_too():
    def tool(name):
        return {"type": "function", "function": {"name": name, "description": "ok"}}

    assert found([USER], [tool("read_log")]) == []
    assert found([USER], [tool("read_log"), tool("a b")]) == [("function-name", None)]
    assert found([USER], [tool("read_log"), {"type": "x\ud800"}]) == [("lone-surrogate", None)]


@pytest.mark.parametrize(
    ("messages", "refusal"),
    [
        (
            [],
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got "
            "an empty array instead.",
        ),
        (
            [{"role": "bot", "content": "x"}],
            "Invalid value: 'bot'. Supported values are: 'system', 'assistant', 'user', "
            "'function', 'tool', and 'developer'.",
        ),
        (
            [result()],
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            "message with 'tool_calls'.",
        ),
        (
            [USER, calling(call("a"), call("b"), call("c")), result("b"), USER],
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            "a, c",
        ),
        (
            [calling(call()), result(), result("c9")],
            "Invalid parameter: 'tool_call_id' of 'c9' not found in 'tool_calls' of previous "
            "message.",
        ),
        (
            [calling(call()), result(), result()],
            "Invalid parameter: Duplicate value for 'tool_call_id' of 'c1', in messages[1] and "
            "messages[2].",
        ),
        (
            [{"role": "assistant", "content": "x", "tool_calls": []}],
            "Invalid 'messages[0].tool_calls': empty array. Expected an array with minimum "
            "length 1, but got an empty array instead.",
        ),
        (
            [calling(call(arguments={"q": 1})), result()],
            "Invalid type for 'messages[0].tool_calls[0].function.arguments': expected a string, "
            "but got an object instead.",
        ),
        (
            [calling(call(name="a.b")), result()],
            "Invalid 'messages[0].tool_calls[0].function.name': string does not match pattern. "
            "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        ),
        (
            [calling(call(name="a" * 65)), result()],
            "Invalid 'messages[0].tool_calls[0].function.name': string too long. Expected a "
            "string with maximum length 64, but got a string with length 65 instead.",
        ),
        ([{"role": "function", "content": "x"}], ""),
    ],
)
def test_refusals_are_the_words_users_see(messages, refusal):
    assert [problem.refusal for problem in openai_rules(messages)] == [refusal]


def test_every_problem_says_what_and_what_to_do():
    for messages, _ in BROKEN.values():
        for problem in openai_rules(messages):
            assert isinstance(problem, Problem)
            assert problem.what
            assert problem.remedy


@given(ctx.histories(), st.data())
def test_dropping_any_part_of_a_tool_round_is_found(history, data):
    parts = [i for i, m in enumerate(history) if m["role"] == "tool" or "tool_calls" in m]
    assume(parts)
    dropped = data.draw(st.sampled_from(parts))
    rest = history[:dropped] + history[dropped + 1 :]
    rules = {problem.rule for problem in openai_rules(rest)}
    assert rules == {"unanswered-call" if history[dropped]["role"] == "tool" else "orphan-result"}


@given(ctx.histories(), st.data())
def test_moving_a_result_out_of_its_round_is_found(history, data):
    results = [i for i, m in enumerate(history) if m["role"] == "tool"]
    assume(results)
    moved = data.draw(st.sampled_from(results))
    rest = history[:moved] + history[moved + 1 :]
    assert openai_rules([history[moved], *rest])


def test_every_rule_can_be_broken():
    lacking = {"current-round", "current-task"}  # in test_wellformed_kept.py
    broken = {rule for _, problems in BROKEN.values() for rule, _ in problems}
    assert broken | {"empty-request"} | lacking == set(openai_rules.rules)
