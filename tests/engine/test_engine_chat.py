from __future__ import annotations

import pytest

from pytest_ctxguard.backend import ToolCall
from pytest_ctxguard.engine.chat import EngineBackend
from pytest_ctxguard.engine.runner import Generated, Runner
from pytest_ctxguard.errors import BackendError, PromptTooLong
from pytest_ctxguard.tokens.request import RequestEncoder

ASK = [{"role": "user", "content": "How slow is payments-api?"}]
TOOLS = [
    {
        "type": "function",
        "function": {"name": "get_metrics", "description": "Read.", "parameters": {}},
    }
]
CALL = '{"name": "get_metrics", "arguments": {"service": "payments-api"}}'
PARSED = ToolCall("get_metrics", '{"service": "payments-api"}')


@pytest.fixture(scope="module")
def encoder():
    return RequestEncoder()


class Scripted:
    """Answers with fixed ids, as a runner would, and keeps the prompts it saw."""

    def __init__(self, ids):
        self.ids, self.prompts = ids, []

    def generate(self, prompt, *, max_tokens, stop=(), done=None):
        self.prompts.append(list(prompt))
        tokens = []
        for token in self.ids[:max_tokens]:
            tokens.append(token)
            if done is not None and done(tokens):
                return Generated(tuple(tokens), "stop", len(prompt), 3)
        finish = "stop" if len(self.ids) <= max_tokens else "length"
        return Generated(tuple(tokens), finish, len(prompt), 3)


def scripted(encoder, text):
    return EngineBackend(Scripted(encoder.encode_text(text)), encoder, model="toy@0")


def test_plain_text_comes_back_with_its_counts(encoder):
    done = scripted(encoder, "Very slow.").complete(ASK)
    assert (done.text, done.tool_calls, done.finish_reason) == ("Very slow.", (), "stop")
    assert done.prompt_tokens == len(encoder.encode(ASK))
    assert (done.cached_tokens, done.completion_tokens) == (3, 3)


def test_max_tokens_is_a_length_finish(encoder):
    done = scripted(encoder, "one two three four").complete(ASK, max_tokens=2)
    assert (done.text, done.finish_reason) == ("one two", "length")


def test_a_bare_call_is_found_when_tools_are_offered(encoder):
    done = scripted(encoder, CALL).complete(ASK, tools=TOOLS)
    assert (done.text, done.tool_calls, done.finish_reason) == ("", (PARSED,), "tool_calls")
    assert scripted(encoder, CALL).complete(ASK).text == CALL


def test_a_tagged_call_is_found_by_its_control_tokens(encoder):
    ids = [*encoder.encode_text("Let me look.\n"), 151657, *encoder.encode_text(CALL), 151658]
    backend = EngineBackend(Scripted(ids), encoder, model="toy@0")
    done = backend.complete(ASK, tools=TOOLS)
    assert (done.text, done.tool_calls) == ("Let me look.", (PARSED,))


def test_none_leaves_the_tools_out_of_the_prompt(encoder):
    backend = scripted(encoder, CALL)
    done = backend.complete(ASK, tools=TOOLS, tool_choice="none")
    assert (done.text, done.tool_calls) == (CALL, ())
    assert backend._runner.prompts == [encoder.encode(ASK)]


def test_required_opens_the_reply_and_stops_at_the_first_object(encoder):
    backend = scripted(encoder, CALL.removeprefix('{"name": "') + "\n" + CALL)
    done = backend.complete(ASK, tools=TOOLS, tool_choice="required")
    assert (done.text, done.tool_calls, done.finish_reason) == ("", (PARSED,), "tool_calls")
    assert done.completion_tokens < len(backend._runner.ids)
    opening = [151657, *encoder.encode_text('\n{"name": "')]
    assert backend._runner.prompts == [[*encoder.encode(ASK, tools=TOOLS), *opening]]


def test_a_required_call_cut_short_is_text(encoder):
    backend = scripted(encoder, CALL.removeprefix('{"name": "'))
    done = backend.complete(ASK, tools=TOOLS, tool_choice="required", max_tokens=4)
    assert (done.tool_calls, done.finish_reason) == ((), "length")
    assert done.text.startswith('<tool_call>\n{"name": "get_metrics"')


def test_required_without_tools_is_an_error(encoder):
    with pytest.raises(BackendError, match="needs tools"):
        scripted(encoder, CALL).complete(ASK, tool_choice="required")


def test_the_tiny_model_answers_and_says_what_it_is(encoder, tiny_files):
    backend = EngineBackend(Runner.load(tiny_files, threads=1), encoder, model=tiny_files.identity)
    first = backend.complete(ASK, tools=TOOLS, max_tokens=5)
    again = backend.complete(ASK, tools=TOOLS, max_tokens=5)
    assert first.completion_tokens == 5
    assert again.text == first.text
    assert again.cached_tokens == first.prompt_tokens - 2
    assert backend.identity["model"] == tiny_files.identity
    assert "onnxruntime" in backend.identity["numerics"]
    with pytest.raises(PromptTooLong):
        backend.complete([{"role": "user", "content": "word " * 9000}])
