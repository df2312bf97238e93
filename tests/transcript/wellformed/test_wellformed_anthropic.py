"""Anthropic's rules, each broken and mended."""

import pytest

from pytest_ctxguard.transcript.wellformed import PROVIDERS
from tests.factories import assistant, call, calling, result, system, tool, user
from tests.transcript.wellformed import examples
from tests.transcript.wellformed.examples import ASK, COMMON, MARK, ROUND, Example

PARALLEL = [ASK, calling(call("t1"), call("t2")), result("a", "t1"), result("b", "t2")]
UNEXPECTED = (
    "unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` block must "
    "have a corresponding `tool_use` block in the previous message."
)
THOUGHT = {"type": "thinking", "thinking": "The log ends at noon.", "signature": "sig-A"}
THINKS = {**calling(call("t1")), "thinking_blocks": [THOUGHT]}
MIDDLE = [ASK, THINKS, result("a", "t1"), calling(call("t2")), result("b", "t2")]


def text(value, **marks):
    return {"type": "text", "text": value, **marks}


def parts(role, *items):
    return {"role": role, "content": list(items)}


EXAMPLES = [
    *COMMON,
    Example(
        rule="arguments-object",
        broken=examples.with_arguments("[1]"),
        index=1,
        mended=examples.with_arguments("{}"),
        refusal="messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    Example(
        rule="cache-mark-empty",
        broken=[parts("user", text("a"), text("", **MARK))],
        index=0,
        mended=[parts("user", text("a", **MARK))],
        refusal="messages.0.content.1.text: cache_control cannot be set for empty text blocks",
    ),
    Example(
        rule="cache-marks",
        broken=[
            parts("system", text("rules", **MARK)),
            parts("user", text("a", **MARK)),
            parts("assistant", text("b", **MARK)),
            {**user("c"), **MARK},
        ],
        index=None,
        mended=[
            parts("system", text("rules", **MARK)),
            parts("user", text("a")),
            parts("assistant", text("b", **MARK)),
            {**user("c"), **MARK},
        ],
        tools=[{**tool(), **MARK}],
        mended_tools=[{**tool(), **MARK}],
        refusal="A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    Example(
        rule="call-id-pattern",
        broken=examples.identified("call|fc:1"),
        index=1,
        mended=examples.identified("call_1"),
        refusal="messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    Example(
        rule="duplicate-call-id",
        broken=[*ROUND, assistant("done"), *ROUND],
        index=5,
        mended=[*ROUND, assistant("done"), *examples.identified("c2")],
        refusal="messages.5.content.0: `tool_use` ids must be unique",
    ),
    Example(
        rule="duplicate-call-id",
        broken=[ASK, {**calling(call("t"), call("t")), "content": "I look."}, result("a", "t")],
        index=1,
        mended=PARALLEL,
        refusal="messages.1.content.2: `tool_use` ids must be unique",
    ),
    Example(
        rule="duplicate-result",
        broken=[*PARALLEL, result("again", "t1")],
        index=4,
        mended=PARALLEL,
        refusal="messages.2.content.2: each tool_use must have a single result. Found multiple "
        "`tool_result` blocks with id: t1",
    ),
    Example(
        rule="duplicate-result",
        broken=[*PARALLEL, assistant("done"), ASK, result("again", "t1")],
        index=6,
        mended=[*PARALLEL, assistant("done"), ASK],
        refusal=f"messages.5.content.0: {UNEXPECTED.format('t1')}",
    ),
    Example(
        rule="duplicate-tool-name",
        broken=[ASK],
        index=None,
        mended=[ASK],
        tools=examples.TWO_TOOLS,
        mended_tools=[tool("read_log"), tool("read_file")],
        refusal="tools: Tool names must be unique.",
    ),
    Example(
        rule="empty-content",
        broken=[ASK, assistant(""), ASK],
        index=1,
        mended=[ASK, assistant("(empty)"), ASK],
        refusal="messages.1: all messages must have non-empty content except for the optional "
        "final assistant message",
    ),
    Example(
        rule="empty-request",
        broken=[system()],
        index=None,
        mended=[system(), ASK],
        refusal="messages: at least one message is required",
    ),
    Example(
        rule="empty-text",
        broken=[ASK, calling(call()), {**result(""), "content": [text("")]}],
        index=2,
        mended=[ASK, calling(call()), {**result(""), "content": [text("[cleared]")]}],
        refusal="messages: text content blocks must be non-empty",
    ),
    Example(
        rule="empty-text",
        broken=[ASK, calling(call(), content="\n\n"), result("ok")],
        index=1,
        mended=[ASK, calling(call(), content=""), result("ok")],
        refusal="messages: text content blocks must contain non-whitespace text",
    ),
    Example(
        rule="ends-with-assistant",
        broken=[ASK, assistant("It")],
        index=1,
        mended=[ASK, assistant("It"), user("go on")],
        refusal="This model does not support assistant message prefill. The conversation must end "
        "with a user message.",
    ),
    Example(
        rule="first-role",
        broken=[system(), assistant("done"), ASK],
        index=1,
        mended=[system(), ASK, assistant("done"), ASK],
        refusal='messages: first message must use the "user" role',
    ),
    Example(
        rule="function-name",
        broken=[ASK],
        index=None,
        mended=[ASK],
        tools=[tool(), tool("mcp.read")],
        mended_tools=[tool(), tool("m" * 128)],
        refusal="tools.1.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    Example(
        rule="function-name",
        broken=[ASK],
        index=None,
        mended=[ASK],
        tools=[tool("m" * 129)],
        refusal="tools.0.custom.name: String should have at most 128 characters",
    ),
    Example(
        rule="function-name",
        broken=examples.named("mcp.read"),
        index=1,
        mended=examples.named("mcp_read"),
    ),
    Example(
        rule="lone-surrogate",
        broken=[user("a\ud83d")],
        index=0,
        mended=[user("a")],
        refusal="The request body is not valid JSON: no low surrogate in string",
    ),
    Example(rule="lone-surrogate", broken=[user("a\ude00")], index=0, mended=[user("a")]),
    Example(
        rule="orphan-result",
        broken=[system(), ASK, assistant("done"), result("a", "t9")],
        index=3,
        mended=[system(), ASK, assistant("done"), ASK],
        refusal=f"messages.2.content.0: {UNEXPECTED.format('t9')}",
    ),
    Example(
        rule="orphan-result",
        broken=[*PARALLEL, result("c", "t9")],
        index=4,
        mended=PARALLEL,
        refusal=f"messages.2.content.2: {UNEXPECTED.format('t9')}",
    ),
    Example(
        rule="system-position",
        broken=examples.LATE_SYSTEM.broken,
        index=2,
        mended=examples.LATE_SYSTEM.mended,
        refusal='messages: Unexpected role "system". The Messages API accepts a top-level `system` '
        'parameter, not "system" as an input message role.',
    ),
    Example(
        rule="thinking-missing",
        broken=[ASK, *MIDDLE[3:]],
        index=1,
        mended=MIDDLE,
        history=MIDDLE,
        refusal="messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        "`tool_use`. When `thinking` is enabled, a final `assistant` message must start with a "
        "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
    ),
    Example(
        rule="thinking-modified",
        broken=[
            ASK,
            {**THINKS, "thinking_blocks": [{**THOUGHT, "thinking": "The log ends"}]},
            *MIDDLE[2:],
        ],
        index=1,
        mended=MIDDLE,
        history=MIDDLE,
        refusal="messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest "
        "assistant message cannot be modified. These blocks must remain as they were in the "
        "original response.",
    ),
    Example(
        rule="trailing-whitespace",
        broken=[ASK, assistant("It is ")],
        index=1,
        mended=[ASK, assistant("It is "), ASK],
        refusal="messages: final assistant content cannot end with trailing whitespace",
    ),
    Example(
        rule="unanswered-call",
        broken=[*PARALLEL[:3], assistant("done"), ASK],
        index=1,
        mended=[*PARALLEL, assistant("done"), ASK],
        refusal="messages.1: `tool_use` ids were found without `tool_result` blocks immediately "
        "after: t2. Each `tool_use` block must have a corresponding `tool_result` block in the "
        "next message.",
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.rule)
def test_a_rule_broken_is_the_only_problem_and_mended_there_is_none(example):
    expected = [(example.rule, example.index, example.refusal)]
    assert examples.problems("anthropic", example) == expected
    assert examples.after_mending("anthropic", example) == []


def test_every_rule_has_an_example():
    assert {example.rule for example in EXAMPLES} == set(PROVIDERS["anthropic"].rules)


@pytest.mark.parametrize(
    "messages",
    [
        [*ROUND, user("and now?")],
        [ASK, user("quickly"), assistant("one"), assistant("two"), ASK],
        [ASK, calling(call("t1")), calling(call("t2")), result("a", "t1"), result("b", "t2")],
        [ASK, calling(call()), result("")],
        [ASK, {**THINKS, "content": "", "tool_calls": None}, ASK],
        [{"role": "system", "content": ""}, ASK],
    ],
    ids=["text after results", "one role in a row", "calls of two messages", "empty result",
         "nothing but thoughts", "empty instructions"],
)  # fmt: skip
def test_what_is_allowed(messages):
    assert PROVIDERS["anthropic"](messages) == []


def test_a_model_that_thinks_when_it_likes_may_begin_without():
    history = [ASK, calling(call("t0")), result("z", "t0"), *MIDDLE[1:]]
    assert PROVIDERS["anthropic"](history, history=history) == []


def test_thoughts_of_earlier_turns_may_be_dropped_whole():
    history = [*MIDDLE, assistant("done"), ASK]
    request = [ASK, calling(call("t1")), *history[2:]]
    assert PROVIDERS["anthropic"](request, history=history) == []


def test_signed_parts_of_content_are_compared_too():
    history = [ASK, parts("assistant", THOUGHT, text("done")), ASK]
    request = [ASK, parts("assistant", {**THOUGHT, "thinking": "cut"}, text("done")), ASK]
    [problem] = PROVIDERS["anthropic"](request, history=history)
    assert (problem.rule, problem.index) == ("thinking-modified", 1)
    assert problem.refusal.startswith("messages.1.content.0: ")
