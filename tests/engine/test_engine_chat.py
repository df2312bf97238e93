from __future__ import annotations

import threading
import time

import pytest

from pytest_ctxguard.backend import BatchBackend, Sampling, ToolCall
from pytest_ctxguard.engine.answer import Generated
from pytest_ctxguard.engine.chat import EngineBackend
from pytest_ctxguard.engine.own import load_own
from pytest_ctxguard.engine.runner import Runner
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
        self.ids, self.prompts, self.limit = ids, [], 60

    def generate(self, prompt, *, max_tokens, stop=(), done=None, choose=None):
        self.prompts.append(list(prompt))
        self.choose = choose
        tokens = []
        for token in self.ids[:max_tokens]:
            tokens.append(token)
            if done is not None and done(tokens):
                return Generated(tuple(tokens), "stop", len(prompt), 3)
        finish = "stop" if len(self.ids) <= max_tokens else "length"
        return Generated(tuple(tokens), finish, len(prompt), 3)

    def generate_many(self, prompts, *, max_tokens, stop=(), done=None):
        return [
            PromptTooLong(len(prompt), self.limit)
            if len(prompt) > self.limit
            else self.generate(prompt, max_tokens=max_tokens, stop=stop, done=done)
            for prompt in prompts
        ]


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


OTHER = {"type": "function", "function": {"name": "other", "parameters": {}}}


def test_required_opens_the_reply_and_stops_at_the_first_object(encoder):
    backend = scripted(encoder, CALL.removeprefix('{"name": "') + "\n" + CALL)
    done = backend.complete(ASK, tools=[*TOOLS, OTHER], tool_choice="required")
    assert (done.text, done.tool_calls, done.finish_reason) == ("", (PARSED,), "tool_calls")
    assert done.completion_tokens < len(backend._runner.ids)
    opening = [151657, *encoder.encode_text('\n{"name": "')]
    assert backend._runner.prompts == [[*encoder.encode(ASK, tools=[*TOOLS, OTHER]), *opening]]


def test_a_required_call_of_an_only_tool_is_opened_with_its_name(encoder):
    backend = scripted(encoder, ' {"service": "payments-api"}}' + "\n" + CALL)
    done = backend.complete(ASK, tools=TOOLS, tool_choice="required")
    assert done.tool_calls == (PARSED,)
    opening = [151657, *encoder.encode_text('\n{"name": "get_metrics", "arguments":')]
    assert backend._runner.prompts == [[*encoder.encode(ASK, tools=TOOLS), *opening]]


def test_a_required_call_cut_short_is_text(encoder):
    backend = scripted(encoder, ' {"service": "payments-api"}}')
    told = []
    done = backend.complete(
        ASK, tools=TOOLS, tool_choice="required", max_tokens=4, watch=lambda t: not told.append(t)
    )
    assert (done.tool_calls, done.finish_reason) == ((), "length")
    assert done.text.startswith('<tool_call>\n{"name": "get_metrics", "arguments": {"service')
    assert "".join(told) == done.text


def test_a_watcher_ends_a_required_call_at_the_next_step(encoder):
    told = []
    done = scripted(encoder, ' {"service": "payments-api"}}').complete(
        ASK, tools=TOOLS, tool_choice="required", watch=lambda text: bool(told.append(text))
    )
    assert done.completion_tokens == 1
    assert told == [""]


def test_required_without_tools_is_an_error(encoder):
    with pytest.raises(BackendError, match="needs tools"):
        scripted(encoder, CALL).complete(ASK, tool_choice="required")


def watched(backend, *, end_at=None, **options):
    """Return what a watcher was told, and the answer; it ends it at piece ``end_at``."""
    told = []

    def watch(piece):
        told.append(piece)
        return len(told) != end_at

    return told, backend.complete(ASK, watch=watch, **options)


def test_a_watcher_is_told_the_text_step_by_step(encoder):
    told, done = watched(scripted(encoder, "It is slow. Very slow."))
    assert len(told) == done.completion_tokens > 4
    assert "".join(told) == done.text == "It is slow. Very slow."


def test_no_half_character_is_told(encoder):
    text = "🦑 жар 𓂀 漢字 🧑‍🚀!"
    ids = encoder.encode_text(text)
    assert any("\ufffd" in encoder.decode([token]) for token in ids)  # characters are cut by tokens
    told, done = watched(scripted(encoder, text), max_tokens=99)
    assert "".join(told) == done.text == text
    assert not any("\ufffd" in piece for piece in told)


def test_an_answer_cut_within_a_character_ends_before_it(encoder):
    ids = encoder.encode_text("ok 𓂀")
    told, done = watched(scripted(encoder, "ok 𓂀"), max_tokens=len(ids) - 1)
    assert "".join(told) == done.text == "ok "


def test_a_watcher_ends_the_answer_at_that_step(encoder):
    told, done = watched(scripted(encoder, "one two three four five"), end_at=2)
    assert (done.completion_tokens, done.text, done.finish_reason) == (2, "one two", "stop")
    assert told == ["one", " two"]


@pytest.mark.parametrize("end_at", [1, 5, 9])
def test_it_can_end_an_answer_it_is_told_nothing_of(encoder, end_at):
    told, done = watched(scripted(encoder, CALL), tools=TOOLS, end_at=end_at)
    assert done.completion_tokens == end_at
    assert "".join(told) == ""


def test_a_stop_text_ends_the_answer_and_is_never_told(encoder):
    backend = scripted(encoder, "alpha\n\nObservation: beta")
    told, done = watched(backend, stop=["\nObservation:", "gamma"], max_tokens=99)
    assert (done.text, done.finish_reason) == ("alpha\n", "stop")
    assert done.stopped_by == "\nObservation:"
    assert done.completion_tokens < len(backend._runner.ids)
    assert "".join(told) == "alpha\n"


def test_what_only_began_like_a_stop_text_is_told(encoder):
    told, done = watched(scripted(encoder, "a ST b STO"), stop=["STOP"])
    assert "".join(told) == done.text == "a ST b STO"
    assert done.stopped_by is None


def test_a_call_is_never_told(encoder):
    answer = f"I will look.\n```json\n{CALL}\n```\nThen I answer."
    told, done = watched(scripted(encoder, answer), tools=TOOLS, max_tokens=99)
    assert done.tool_calls == (PARSED,)
    assert "".join(told) == done.text
    assert told.index("I") < told.index(" look")
    assert "`" not in done.text
    assert "get_metrics" not in done.text


def test_temperature_zero_leaves_the_choice_to_the_runner(encoder):
    backend = scripted(encoder, "x")
    backend.complete(ASK, sampling=Sampling(temperature=0, seed=5))
    assert backend._runner.choose is None
    backend.complete(ASK, sampling=Sampling(temperature=1))
    assert backend._runner.choose is not None


def test_threads_wait_their_turn(encoder):
    backend = scripted(encoder, "one two three four")
    inside, asked = threading.Event(), []

    def watch(piece):
        inside.set()
        time.sleep(0.01)
        asked.append("first")
        return True

    first = threading.Thread(target=lambda: backend.complete(ASK, watch=watch))
    first.start()
    assert inside.wait(20)
    backend.complete(ASK, watch=lambda piece: not asked.append("second"))
    first.join()
    assert asked == ["first"] * 4 + ["second"] * 4


def test_many_answers_keep_their_places(encoder):
    backend = scripted(encoder, CALL)
    assert isinstance(backend, BatchBackend)
    long = [{"role": "user", "content": "word " * 60}]
    plain = backend.complete_many([ASK, long, ASK])
    assert plain[0] == plain[2] == backend.complete(ASK)
    assert isinstance(plain[1], PromptTooLong)
    [long_prompt] = backend.complete_many([ASK], tools=TOOLS)
    assert isinstance(long_prompt, PromptTooLong)  # the tools are in the prompt


def test_many_without_tools_in_the_prompt(encoder):
    backend = scripted(encoder, CALL)
    [done] = backend.complete_many([ASK], tools=TOOLS, tool_choice="none")
    assert (done.text, done.tool_calls) == (CALL, ())
    assert backend._runner.prompts == [encoder.encode(ASK)]


@pytest.mark.parametrize("answer", [' {"service": "payments-api"}}\n' + CALL, " no call at all"])
def test_many_required_calls_are_those_that_are_asked_for_alone(encoder, answer):
    backend = scripted(encoder, answer)
    backend._runner.limit = 999
    alone = backend.complete(ASK, tools=TOOLS, tool_choice="required")
    long = [{"role": "user", "content": "word " * 999}]
    answers = backend.complete_many([ASK, long, ASK], tools=TOOLS, tool_choice="required")
    assert answers[0] == answers[2] == alone
    assert isinstance(answers[1], PromptTooLong)
    assert backend._runner.prompts[0] == backend._runner.prompts[1]


def test_many_required_calls_without_tools_are_errors(encoder):
    answers = scripted(encoder, CALL).complete_many([ASK, ASK], tool_choice="required")
    assert ["needs tools" in str(answer) for answer in answers] == [True, True]


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_the_tiny_model_gives_many_what_it_gives_each(encoder, tiny_files, choice):
    backend = EngineBackend(Runner(load_own(tiny_files, threads=1)), encoder, model="tiny")
    long = "The log says little. " * 40
    requests = [[{"role": "user", "content": f"{long} What is in box {n}?"}] for n in range(3)]
    options = {"tools": TOOLS, "tool_choice": choice, "max_tokens": 12}
    together = backend.complete_many(requests, **options)
    alone = [backend.complete(messages, **options) for messages in requests]
    assert [(a.text, a.tool_calls, a.finish_reason) for a in together] == [
        (a.text, a.tool_calls, a.finish_reason) for a in alone
    ]


def test_the_tiny_model_answers_and_says_what_it_is(encoder, tiny_files):
    backend = EngineBackend(
        Runner(load_own(tiny_files, threads=1)), encoder, model=tiny_files.identity
    )
    first = backend.complete(ASK, tools=TOOLS, max_tokens=5)
    again = backend.complete(ASK, tools=TOOLS, max_tokens=5)
    assert first.completion_tokens == 5
    assert again.text == first.text
    assert again.cached_tokens == first.prompt_tokens - 2
    assert backend.identity["model"] == tiny_files.identity
    assert "onnxruntime" in backend.identity["numerics"]
    with pytest.raises(PromptTooLong):
        backend.complete([{"role": "user", "content": "word " * 9000}])
