"""The script that refuses like a provider, and what makes two requests the same."""

from __future__ import annotations

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.server.prompt import answer_limit, prompt_key, prompt_size, tools_run
from pytest_ctxguard.server.refusing import INVALID, NAMED, RETRYABLE, TOO_LONG, Refusing, is_busy
from pytest_ctxguard.server.running import Server
from pytest_ctxguard.server.script import Fault, ScriptedAnswers
from pytest_ctxguard.tokens.request import RequestEncoder


def body(text, **more):
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def statuses(refusing, *bodies):
    found = [refusing(number, each) for number, each in enumerate(bodies, 1)]
    return [fault and fault.status for fault in found]


@pytest.mark.parametrize("name", TOO_LONG)
def test_what_is_too_long_is_refused_until_it_is_smaller(name):
    long, same, other, short = body("long"), body("long"), body("also"), body("s")
    refused = NAMED[name].status
    assert statuses(Refusing(name), long, same, other, short) == [refused] * 3 + [None]


def test_what_is_invalid_for_no_stated_reason_is_refused_when_it_is_the_same():
    [name] = INVALID
    assert statuses(Refusing(name), body("long"), body("long"), body("longer")) == [400, 400, None]


@pytest.mark.parametrize("name", RETRYABLE)
def test_a_busy_server_answers_later(name):
    same = [body("x")] * 4
    status = NAMED[name].status
    assert statuses(Refusing(name, at=2, times=2), *same) == [None, status, status, None]
    assert is_busy(status)


def test_a_refusal_of_ones_own_and_what_is_none():
    fault = Fault(status=400, body="no")
    assert statuses(Refusing(fault), body("a"), body("a")) == [400, 400]
    assert statuses(Refusing({"status": 503}), body("a"), body("a")) == [503, None]
    for wrong, said in (("x", "there are: openai, "), ({"delay": 1}, "a refusal needs a status")):
        with pytest.raises(UsageError, match=said):
            Refusing(wrong)
    with pytest.raises(UsageError, match="times=0"):
        Refusing("openai", times=0)


def test_requests_are_the_same_by_their_prompt_and_what_decides_whether_it_fits():
    one = body("a", max_tokens=5)
    assert prompt_key(one) == prompt_key({**one, "stream": True, "temperature": 1, "user": "me"})
    for change in ({"max_tokens": 4}, {"model": "larger"}, {"system": "s"}, {"tools": []}):
        assert prompt_key(one) != prompt_key({**one, **change})
    assert prompt_size(body("ab")) == prompt_size(body("a")) + 1
    assert answer_limit(one) == 5
    assert answer_limit(body("a", max_completion_tokens=7)) == 7
    assert answer_limit(body("a")) == 0


def test_the_tools_that_were_run_are_those_with_results_in_either_shape():
    call = {"id": "c1", "function": {"name": "read"}}
    pending = {"id": "c2", "function": {"name": "write"}}
    openai = [
        {"role": "assistant", "tool_calls": [call, pending]},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
    ]
    assert tools_run({"messages": openai}) == [("c1", "read")]
    use = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
    claude = [
        {"role": "assistant", "content": [{"type": "text", "text": "hm"}, use]},
        {"role": "user", "content": [result, "text"]},
        "no message",
    ]
    assert tools_run({"messages": claude}) == [("t1", "read")]


def test_a_server_keeps_how_each_request_was_answered_and_its_size():
    faults = Refusing("bare-400", at=2)
    with Server(ScriptedAnswers(lambda m: "ok"), RequestEncoder(), limit=60, faults=faults) as one:
        for text in ("a", "bb", "word " * 99):
            data = json.dumps(body(text)).encode()
            request = Request(f"{one.openai_base_url}/chat/completions", data)  # noqa: S310
            try:
                urlopen(request).close()  # noqa: S310 - loopback
            except HTTPError as error:
                error.close()
    assert [request.status for request in one.requests] == [200, 400, 400]
    sizes = [request.prompt_tokens for request in one.requests]
    assert sizes[1] is None
    assert sizes[0] < 60 < sizes[2]
