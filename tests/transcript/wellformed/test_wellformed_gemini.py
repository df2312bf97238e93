"""Gemini's rules, each broken and mended."""

import pytest

from pytest_ctxguard.transcript.wellformed import PROVIDERS
from tests.factories import assistant, call, calling, result, system, tool, user
from tests.transcript.wellformed import examples
from tests.transcript.wellformed.examples import ASK, COMMON, ROUND, Example

PARALLEL = [ASK, calling(call("t1"), call("t2")), result("a", "t1"), result("b", "t2")]
COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)
LOOSE = "Please ensure that function response turn comes immediately after a function call turn."
NAME = (
    "* GenerateContentRequest.tools[0].function_declarations[{}].name: Invalid function name. Must "
    "start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), "
    "dots (.), colons (:), or dashes (-), with a maximum length of 64."
)
SIGNED = {**call("t1"), "extra_content": {"google": {"thought_signature": "sig-A"}}}

EXAMPLES = [
    *COMMON,
    examples.SURROGATE,
    examples.SAME_ID,
    examples.LATE_SYSTEM,
    Example(
        rule="arguments-object", broken=examples.with_arguments("3"), index=1, mended=ROUND
    ),
    Example(
        rule="duplicate-result",
        broken=[*PARALLEL, result("again", "t1")],
        index=4,
        mended=PARALLEL,
        refusal=COUNT,
    ),
    Example(
        rule="duplicate-result",
        broken=[*PARALLEL, assistant("done"), ASK, result("again", "t1")],
        index=6,
        mended=[*PARALLEL, assistant("done"), ASK],
        refusal=LOOSE,
    ),
    Example(
        rule="duplicate-tool-name",
        broken=[ASK],
        index=None,
        mended=[ASK],
        tools=examples.TWO_TOOLS,
        mended_tools=[tool()],
        refusal="Duplicate function declaration found: read_log",
    ),
    Example(
        rule="empty-content",
        broken=[system(), ASK, assistant(""), ASK],
        index=2,
        mended=[system(), ASK, assistant("(empty)"), ASK],
        refusal="* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.",
    ),
    Example(
        rule="empty-request",
        broken=[system()],
        index=None,
        mended=[system(), ASK],
        refusal="* GenerateContentRequest.contents: contents is not specified",
    ),
    Example(
        rule="empty-text",
        broken=[{"role": "user", "content": ["look", ""]}],
        index=0,
        mended=[{"role": "user", "content": ["look", " "]}],
        refusal="* GenerateContentRequest.contents[0].parts[1].data: required oneof field 'data' "
        "must have one initialized field",
    ),
    Example(
        rule="ends-with-assistant",
        broken=[ASK, assistant("It")],
        index=1,
        mended=[ASK],
        refusal="Please ensure that multiturn requests ends with a user role or a function "
        "response.",
    ),
    Example(
        rule="first-role",
        broken=[system(), *ROUND[1:]],
        index=1,
        mended=[system(), *ROUND],
        refusal="Please ensure that function call turn comes immediately after a user turn or "
        "after a function response turn.",
    ),
    Example(rule="first-role", broken=[assistant("done"), ASK], index=0, mended=[ASK]),
    Example(
        rule="function-name",
        broken=[ASK],
        index=None,
        mended=[ASK],
        tools=[tool(), tool("7zip")],
        mended_tools=[tool("mcp.read:log")],
        refusal=NAME.format(1),
    ),
    Example(
        rule="function-name",
        broken=examples.named("a b"),
        index=1,
        mended=examples.named("a.b"),
    ),
    Example(
        rule="orphan-result",
        broken=[ASK, assistant("done"), result("a", "t9")],
        index=2,
        mended=[ASK, assistant("done"), ASK],
        refusal=LOOSE,
    ),
    Example(
        rule="orphan-result",
        broken=[*PARALLEL, result("c", "t9")],
        index=4,
        mended=PARALLEL,
        refusal=COUNT,
    ),
    Example(
        rule="signature-missing",
        broken=[ASK, calling(call("t1")), result("a", "t1")],
        index=1,
        mended=[ASK, calling(SIGNED), result("a", "t1")],
        history=[ASK, calling(SIGNED), result("a", "t1")],
        refusal="Function call is missing a thought_signature in functionCall parts. This is "
        "required for tools to work correctly, and missing thought_signature may lead to degraded "
        "model performance.",
    ),
    Example(
        rule="unanswered-call",
        broken=[ASK, calling(call("t1"), call("t2")), result("b", "t2")],
        index=1,
        mended=PARALLEL,
        refusal=COUNT,
    ),
    Example(rule="unanswered-call", broken=[ASK, calling(call()), ASK], index=1, mended=ROUND),
]  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.rule)
def test_a_rule_broken_is_the_only_problem_and_mended_there_is_none(example):
    expected = [(example.rule, example.index, example.refusal)]
    assert examples.problems("gemini", example) == expected
    assert examples.after_mending("gemini", example) == []


def test_every_rule_has_an_example():
    assert {example.rule for example in EXAMPLES} == set(PROVIDERS["gemini"].rules)


def test_a_request_of_one_assistant_message_is_refused_in_other_words():
    found = PROVIDERS["gemini"]([system(), assistant("It")])
    assert [(problem.rule, problem.index) for problem in found] == [
        ("first-role", 1),
        ("ends-with-assistant", 1),
    ]
    assert found[1].refusal == (
        "Please ensure that single turn requests end with a user role or the role field is empty."
    )


@pytest.mark.parametrize(
    "messages",
    [
        [ASK, user("quickly"), assistant("one"), assistant("two"), ASK],
        [ASK, assistant("I look."), *ROUND[1:], user("and now?")],
        examples.identified("call|1 of a very long name " + "x" * 80),
        [user(" ")],
    ],
    ids=["one role in a row", "text, then calls", "any id", "white space"],
)
def test_what_is_allowed(messages):
    assert PROVIDERS["gemini"](messages) == []


def test_a_signature_of_an_earlier_turn_is_not_missed():
    history = [ASK, calling(SIGNED), result("a", "t1"), assistant("done"), ASK]
    request = [ASK, calling(call("t1")), *history[2:]]
    assert PROVIDERS["gemini"](request, history=history) == []
