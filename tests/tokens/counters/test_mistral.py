"""Mistral's tokens, against Mistral's own code where it is installed."""

import json
import random

import pytest

from pytest_ctxguard.errors import ModelMissing, PolicyError
from pytest_ctxguard.tokens.counters.mistral import FILE, MistralCounter
from tests.factories import assistant, call, calling, result, system, tool, user

WORDS = ["alpha", "1234", "été", "数据", "[INST]", "<s>", '{"a":1}', "\n\n", "end.", "👩\u200d💻"]


@pytest.fixture(scope="module")
def counter():
    try:
        return MistralCounter()
    except ModelMissing as error:
        pytest.skip(str(error))


def histories():
    """Histories that Mistral accepts: system, turns with and without tools, a last question."""
    draw = random.Random("mistral")

    def text():
        return " ".join(draw.choices(WORDS, k=draw.randint(1, 12)))

    for _ in range(60):
        messages = [system(text())] if draw.random() < 0.6 else []
        for _ in range(draw.randint(1, 4)):
            messages += [user(text()) for _ in range(draw.randint(1, 2))]
            if draw.random() < 0.5:
                ids = [f"{draw.randrange(10**9):09d}" for _ in range(draw.randint(1, 2))]
                messages.append(calling(*(call(each, "read_log", q=text()) for each in ids)))
                said = (text(), '{"a": [1, 2]}', "12")
                messages += [result(draw.choice(said), each) for each in ids]
            messages.append(assistant(text()))
        yield [*messages, user(text())], [tool("read_log")] if draw.random() < 0.5 else []


def test_counts_are_those_of_mistrals_own_code(counter):
    mistral = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    request = pytest.importorskip("mistral_common.protocol.instruct.request")
    theirs = mistral.MistralTokenizer.v3(is_tekken=True)
    for messages, tools in histories():
        asked = request.ChatCompletionRequest.from_openai(messages=messages, tools=tools or None)
        ids = theirs.encode_chat_completion(asked).tokens
        assert counter.count(messages, tools=tools) == len(ids)


def test_what_a_message_is_framed_by(counter):
    hello = counter.count_text("Hello")
    assert counter.count([user("Hello")]) == 1 + 2 + hello
    assert counter.count([user("Hello"), assistant("Hello")]) == 1 + 2 + hello + hello + 1
    joined = counter.count_text("Hello\n\nHello")
    assert counter.count([user("Hello"), user("Hello")]) == 1 + 2 + joined
    assert counter.count([system("Hello"), user("Hello")]) == 1 + 2 + joined
    assert counter.count([system("Hello")]) == 1 + hello


def test_calls_and_results_are_json(counter):
    called = [calling(call("123456789", "find", q=1)), result("12", "123456789")]
    calls = json.dumps([{"name": "find", "arguments": {"q": 1}, "id": "123456789"}])
    said = json.dumps({"content": 12, "call_id": "123456789"})
    tokens = counter.count_text(calls) + counter.count_text(said)
    assert counter.count(called) == 1 + 1 + 1 + 2 + tokens


def test_any_request_is_counted_also_one_that_mistral_refuses(counter):
    assert counter.count([]) == 1
    assert counter.count([{"role": "tool", "content": "late"}, assistant("x")]) > 1
    with pytest.raises(PolicyError, match="role 'critic'"):
        counter.count([{"role": "critic", "content": "x"}])


def test_what_spells_a_control_token_is_text(counter):
    assert counter.count_text("[INST]") > 1


def test_the_file_is_pinned_to_its_package():
    assert FILE.package == "mistral-common==1.13.1"
