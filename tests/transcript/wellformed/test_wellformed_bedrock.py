"""Bedrock's rules, each broken and mended."""

import pytest

from pytest_ctxguard.transcript.wellformed import PROVIDERS
from tests.factories import assistant, call, calling, result, system, tool, user
from tests.transcript.wellformed import examples
from tests.transcript.wellformed.examples import ASK, COMMON, MARK, ROUND, Example

PARALLEL = [ASK, calling(call("t1"), call("t2")), result("a", "t1"), result("b", "t2")]
USER_FIRST = (
    "A conversation must start with a user message. Try again with a conversation that starts with "
    "a user message."
)
EXCEEDS = (
    "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of "
    "previous turn."
)
PATTERN = (
    "failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"
)
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "The log ends.", "signature": "s"}}}
EDITED = {"reasoningContent": {"reasoningText": {"text": "The log", "signature": "s"}}}
MIDDLE = [
    ASK,
    {**calling(call("t1")), "thinking_blocks": [THOUGHT]},
    result("a", "t1"),
    calling(call("t2"), content="Now the other."),
    result("b", "t2"),
]


def blank(value):
    return "The text field in the ContentBlock object at messages.0.content." + (
        f"{value} is blank. Add text to the text field, and try again."
    )


EXAMPLES = [
    *COMMON,
    examples.SURROGATE,
    examples.SAME_ID,
    examples.LATE_SYSTEM,
    Example(
        rule="arguments-object",
        broken=examples.with_arguments('"lo"'),
        index=1,
        mended=ROUND,
        refusal="The format of the value at messages.1.content.0.toolUse.input is invalid.",
    ),
    Example(
        rule="cache-marks",
        broken=[
            {**m, **MARK}
            for m in [*PARALLEL, assistant("done")]
        ] + [ASK],
        index=None,
        mended=[{**m, **MARK} for m in PARALLEL] + [assistant("done"), ASK],
    ),
    Example(
        rule="call-id-length",
        broken=examples.identified("t" * 65),
        index=1,
        mended=examples.identified("t" * 64),
    ),
    Example(
        rule="call-id-pattern",
        broken=examples.identified("call|1"),
        index=1,
        mended=examples.identified("call.1:a"),
    ),
    Example(
        rule="duplicate-result",
        broken=[*PARALLEL, result("again", "t1")],
        index=4,
        mended=PARALLEL,
        refusal="The toolResult blocks at messages.2.content contain duplicate Ids: t1",
    ),
    Example(
        rule="empty-content",
        broken=[ASK, {"role": "assistant", "content": None}, ASK],
        index=1,
        mended=[ASK, assistant("(empty)"), ASK],
        refusal="The content field in the Message object at messages.1 is empty.",
    ),
    Example(
        rule="empty-error-result",
        broken=[ASK, calling(call()), {**result(""), "is_error": True}],
        index=2,
        mended=[ASK, calling(call()), {**result("it failed"), "is_error": True}],
        refusal="The content field at messages.2.content.0.toolResult cannot be empty when status "
        "value is error.",
    ),
    Example(
        rule="empty-request",
        broken=[],
        index=None,
        mended=[ASK],
        refusal=USER_FIRST,
    ),
    Example(rule="empty-text", broken=[user(" ")], index=0, mended=[ASK], refusal=blank(0)),
    Example(
        rule="empty-text",
        broken=[{"role": "user", "content": ["look", {"type": "text", "text": ""}]}],
        index=0,
        mended=[{"role": "user", "content": ["look"]}],
        refusal=blank(1),
    ),
    Example(
        rule="ends-with-assistant",
        broken=[ASK, assistant("It")],
        index=1,
        mended=[ASK],
        refusal="This model does not support assistant message prefill. The conversation must end "
        "with a user message.",
    ),
    Example(
        rule="first-role",
        broken=[system(), *ROUND[1:]],
        index=1,
        mended=[system(), *ROUND],
        refusal=USER_FIRST,
    ),
    Example(
        rule="function-name",
        broken=examples.named("mcp.read"),
        index=1,
        mended=examples.named("mcp-read"),
        refusal=PATTERN,
    ),
    Example(
        rule="function-name",
        broken=[ASK],
        index=None,
        mended=[ASK],
        tools=[tool("m" * 65)],
        mended_tools=[tool("m" * 64)],
    ),
    Example(
        rule="orphan-result",
        broken=[ASK, assistant("done"), result("a", "t9")],
        index=2,
        mended=[ASK, assistant("done"), ASK],
        refusal=EXCEEDS,
    ),
    Example(
        rule="orphan-result",
        broken=[*PARALLEL, result("c", "t9")],
        index=4,
        mended=PARALLEL,
        refusal=EXCEEDS,
    ),
    Example(
        rule="role-alternation",
        broken=[ASK, user("[Earlier messages were left out here.]")],
        index=1,
        mended=[ASK],
        refusal="A conversation must alternate between user and assistant roles. Make sure the "
        "conversation alternates between user and assistant roles and try again.",
    ),
    Example(
        rule="thinking-missing",
        broken=[ASK, *MIDDLE[3:]],
        index=1,
        mended=MIDDLE,
        history=MIDDLE,
        refusal="The model returned the following errors: messages.1.content.0.type: Expected "
        "`thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final "
        "`assistant` message must start with a thinking block (preceeding the lastmost set of "
        "`tool_use` and `tool_result` blocks).",
    ),
    Example(
        rule="thinking-modified",
        broken=[ASK, {**MIDDLE[1], "thinking_blocks": [EDITED]}, *MIDDLE[2:]],
        index=1,
        mended=MIDDLE,
        history=MIDDLE,
    ),
    Example(
        rule="unanswered-call",
        broken=[ASK, calling(call("t1"), call("t2")), result("b", "t2")],
        index=1,
        mended=PARALLEL,
        refusal="Expected toolResult blocks at messages.2.content for the following Ids: t1",
    ),
    Example(rule="unanswered-call", broken=[ASK, calling(call())], index=1, mended=ROUND),
]  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.rule)
def test_a_rule_broken_is_the_only_problem_and_mended_there_is_none(example):
    expected = [(example.rule, example.index, example.refusal)]
    assert examples.problems("bedrock", example) == expected
    assert examples.after_mending("bedrock", example) == []


def test_every_rule_has_an_example():
    assert {example.rule for example in EXAMPLES} == set(PROVIDERS["bedrock"].rules)


@pytest.mark.parametrize(
    "messages",
    [[*ROUND, user("and now?")], [ASK, calling(call()), result("")], [*ROUND, assistant("a"), ASK]],
    ids=["text after results", "empty result", "turns"],
)
def test_what_is_allowed(messages):
    assert PROVIDERS["bedrock"](messages) == []


def test_a_user_message_after_one_that_belongs_to_results_is_one_too_many():
    found = PROVIDERS["bedrock"]([*ROUND, user("and now?"), user("quickly")])
    assert [(problem.rule, problem.index) for problem in found] == [("role-alternation", 4)]
