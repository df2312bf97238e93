"""Examples of rules: a request that breaks one, and the same request mended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.transcript.wellformed import PROVIDERS
from tests.factories import assistant, call, calling, result, system, tool, user

Messages = Sequence[Mapping[str, Any]]
ASK = user("look at the logs")
MARK = {"cache_control": {"type": "ephemeral"}}
WITHOUT_ID = {key: value for key, value in call().items() if key != "id"}


@dataclass(frozen=True, kw_only=True)
class Example:
    """One rule, broken and kept.

    Attributes:
        rule: its id.
        broken: a request that breaks it and no other.
        index: message index of the problem.
        mended: the request as it should have been.
        refusal: what users see; "" where it is not known.
        tools: definitions sent with the broken request.
        mended_tools: definitions sent with the mended one.
        history: what both were made from.
    """

    rule: str
    broken: Messages
    index: int | None
    mended: Messages
    refusal: str = ""
    tools: Sequence[Mapping[str, Any]] = ()
    mended_tools: Sequence[Mapping[str, Any]] = ()
    history: Messages | None = None


def problems(provider: str, example: Example) -> list[tuple[str, int | None, str]]:
    """Return rule, index and refusal of what is wrong with the broken request."""
    found = PROVIDERS[provider](example.broken, example.tools, history=example.history)
    return [(problem.rule, problem.index, problem.refusal) for problem in found]


def after_mending(provider: str, example: Example) -> list[str]:
    """Return the rules that the mended request still breaks."""
    rules = PROVIDERS[provider]
    found = rules(example.mended, example.mended_tools, history=example.history)
    return [problem.rule for problem in found]


def with_arguments(arguments: Any) -> Messages:
    """A round whose call has these arguments."""
    function = {"name": "read_log", "arguments": arguments}
    return [ASK, calling({**call(), "function": function}), result("ok")]


def named(name: Any) -> Messages:
    """A round whose call has this name."""
    return [ASK, calling(call(name=name)), result("ok")]


def identified(call_id: str) -> Messages:
    """A round whose call has this id."""
    return [ASK, calling(call(call_id)), result("ok", call_id)]


ROUND = [ASK, calling(call()), result("ok")]
COMMON = [  # rules of every provider but OpenAI's chat format itself, without a known refusal
    Example(rule="arguments-json", broken=with_arguments('{"q": "lo'), index=1, mended=ROUND),
    Example(rule="arguments-type", broken=with_arguments({"q": 1}), index=1, mended=ROUND),
    Example(
        rule="content-type",
        broken=[{"role": "user", "content": {"text": "x"}}],
        index=0,
        mended=[user("x")],
    ),
    Example(
        rule="current-round",
        broken=[ASK],
        index=None,
        mended=ROUND,
        history=ROUND,
    ),
    Example(rule="current-task", broken=[user("go on")], index=None, mended=[ASK], history=[ASK]),
    Example(
        rule="empty-tool-calls",
        broken=[ASK, {**assistant("done"), "tool_calls": []}, ASK],
        index=1,
        mended=[ASK, assistant("done"), ASK],
    ),
    Example(
        rule="missing-call-id",
        broken=[ASK, calling(WITHOUT_ID), ASK],
        index=1,
        mended=ROUND,
    ),
    Example(
        rule="missing-tool-call-id",
        broken=[*ROUND, {"role": "tool", "content": "x"}],
        index=3,
        mended=ROUND,
    ),
    Example(
        rule="unknown-role", broken=[ASK, {"role": "bot", "content": "x"}], index=1, mended=[ASK]
    ),
]
SURROGATE = Example(rule="lone-surrogate", broken=[user("a\ud83d")], index=0, mended=[user("a😀")])
SAME_ID = Example(
    rule="duplicate-call-id",
    broken=[ASK, calling(call("c1"), call("c1")), result("ok")],
    index=1,
    mended=[ASK, calling(call("c1"), call("c2")), result("ok"), result("ok", "c2")],
)
LATE_SYSTEM = Example(
    rule="system-position",
    broken=[ASK, assistant("done"), system("be brief"), ASK],
    index=2,
    mended=[system("be brief"), ASK, assistant("done"), ASK],
)
TWO_TOOLS = [tool("read_log"), tool("read_log")]
