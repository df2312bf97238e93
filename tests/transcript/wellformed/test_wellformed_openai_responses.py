"""The rules of OpenAI's Responses, each broken and mended."""

import pytest

from pytest_ctxguard.transcript.wellformed import PROVIDERS
from tests.factories import assistant, call, calling, result, system, tool, user
from tests.transcript.wellformed import examples
from tests.transcript.wellformed.examples import ASK, COMMON, ROUND, Example

PARALLEL = [ASK, calling(call("t1"), call("t2")), result("a", "t1"), result("b", "t2")]
ITEM = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
REASONED = [ASK, {**calling(call()), "reasoning_items": [ITEM]}, result("ok")]
ALONE = {"role": "assistant", "content": None, "reasoning_items": [ITEM]}

EXAMPLES = [
    *COMMON,
    examples.SURROGATE,
    examples.SAME_ID,
    Example(
        rule="call-id-length",
        broken=examples.identified("c" * 65),
        index=1,
        mended=examples.identified("c" * 64),
    ),
    Example(
        rule="duplicate-call-id",
        broken=[*ROUND, assistant("done"), ASK, calling(call())],
        index=5,
        mended=[*ROUND, assistant("done"), *examples.identified("c2")],
    ),
    Example(
        rule="duplicate-result",
        broken=[*PARALLEL, ASK, result("again", "t1")],
        index=5,
        mended=PARALLEL,
    ),
    Example(
        rule="empty-request",
        broken=[],
        index=None,
        mended=[ASK],
        refusal="One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' "
        "must be provided.",
    ),
    Example(
        rule="function-name",
        broken=[ASK],
        index=None,
        mended=[ASK],
        tools=[tool("mcp.read")],
        mended_tools=[tool("mcp_read")],
        refusal="Invalid 'tools[0].name': string does not match pattern. Expected a string that "
        "matches the pattern '^[a-zA-Z0-9_-]+$'.",
    ),
    Example(
        rule="missing-content",
        broken=[{"role": "user", "content": None}],
        index=0,
        mended=[ASK],
    ),
    Example(
        rule="orphan-result",
        broken=[ASK, result("a", "t9")],
        index=1,
        mended=[ASK],
        refusal="No tool call found for function call output with call_id t9.",
    ),
    Example(
        rule="reasoning-alone",
        broken=[ASK, ALONE, ASK],
        index=1,
        mended=[ASK, {**ALONE, "content": "done"}, ASK],
        refusal="Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ),
    Example(
        rule="reasoning-alone",
        broken=[ASK, {**ALONE, "reasoning_items": [{"type": "reasoning"}]}, ASK],
        index=1,
        mended=[ASK, ASK],
    ),
    Example(
        rule="reasoning-modified",
        broken=[
            ASK,
            {**REASONED[1], "reasoning_items": [{**ITEM, "encrypted_content": "gA"}]},
            result("ok"),
        ],
        index=1,
        mended=REASONED,
        history=REASONED,
    ),
    Example(
        rule="unanswered-call",
        broken=[ASK, calling(call("t1"), call("t2")), result("b", "t2"), ASK],
        index=1,
        mended=PARALLEL,
        refusal="No tool output found for function call t1.",
    ),
]  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.rule)
def test_a_rule_broken_is_the_only_problem_and_mended_there_is_none(example):
    expected = [(example.rule, example.index, example.refusal)]
    assert examples.problems("openai-responses", example) == expected
    assert examples.after_mending("openai-responses", example) == []


def test_every_rule_has_an_example():
    assert {example.rule for example in EXAMPLES} == set(PROVIDERS["openai-responses"].rules)


@pytest.mark.parametrize(
    "messages",
    [
        [ASK, calling(call()), user("meanwhile?"), assistant("yes"), result("ok")],
        [assistant("done"), ASK, system("be brief"), assistant("It")],
        examples.with_arguments("[1]"),
    ],
    ids=["result later", "any order", "arguments of any kind"],
)
def test_what_is_allowed(messages):
    assert PROVIDERS["openai-responses"](messages) == []


def test_a_result_of_a_call_that_has_the_id_of_an_earlier_one_is_no_second_result():
    found = PROVIDERS["openai-responses"]([*ROUND, ASK, calling(call()), result("ok")])
    assert [(problem.rule, problem.index) for problem in found] == [("duplicate-call-id", 4)]


def test_each_unanswered_call_is_a_problem_of_its_own():
    found = PROVIDERS["openai-responses"]([ASK, calling(call("t1"), call("t2"))])
    assert [problem.refusal for problem in found] == [
        "No tool output found for function call t1.",
        "No tool output found for function call t2.",
    ]
