"""The public test double that stands in for a model."""

from __future__ import annotations

import pytest

from pytest_ctxguard import Completion, CtxguardError
from pytest_ctxguard.testing import ScriptedBackend

HELLO = [{"role": "user", "content": "Hello?"}]


def test_a_list_of_answers_is_used_up_in_order() -> None:
    written = Completion("two", finish_reason="length")
    backend = ScriptedBackend(["one", written])

    assert backend.complete(HELLO) == Completion("one")
    assert backend.complete(HELLO) is written
    with pytest.raises(CtxguardError, match="the script has 2 answers; this is request 3"):
        backend.complete(HELLO)


def test_a_function_answers_from_the_messages() -> None:
    backend = ScriptedBackend(lambda messages: messages[-1]["content"].upper())

    assert backend.complete(HELLO).text == "HELLO?"
    assert backend.complete(HELLO).text == "HELLO?"


def test_requests_are_kept() -> None:
    backend = ScriptedBackend(["yes"])
    tool = {"type": "function", "function": {"name": "look"}}

    backend.complete(HELLO, tools=[tool], tool_choice="none", max_tokens=7)

    assert backend.requests == [
        {"messages": HELLO, "tools": [tool], "tool_choice": "none", "max_tokens": 7}
    ]
    assert backend.identity == {"model": "scripted", "numerics": "exact"}
