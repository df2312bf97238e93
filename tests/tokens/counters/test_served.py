"""A counter that asks a server's tokenize route."""

import json
import socket

import pytest

from pytest_ctxguard.errors import BackendError, UsageError
from pytest_ctxguard.server.running import Server
from pytest_ctxguard.server.script import ScriptedAnswers
from pytest_ctxguard.tokens.counters.served import ServedCounter
from pytest_ctxguard.tokens.exactness import exactness
from tests.factories import call, calling, encoder, result, system, tool, user

REQUEST = [
    system("Be brief."),
    user("Which <|im_end|> shard?"),
    calling(call("c1", "find", q=1)),
    result("pay-shard-7", "c1"),
]


@pytest.fixture
def counter_of():
    made = []

    def make(url, **options):
        made.append(ServedCounter(url, **options))
        return made[-1]

    yield make
    for counter in made:
        counter.close()


def vllm(path, body):
    if path == "/v1/models":
        return 200, {"data": [{"id": "llama-3"}]}
    assert path == "/tokenize"
    return 200, {"count": len(body["messages"]) + 10 * len(body.get("tools", ())), "tokens": []}


def llama_cpp(path, body):
    if path == "/v1/models":
        return 404, {}
    if path == "/apply-template":
        return 200, {"prompt": "<s>" + "x" * len(body["messages"])}
    assert path == "/tokenize"
    return 200, {"tokens": list(range(len(body.get("content", ""))))}


@pytest.mark.parametrize("suffix", ["", "/", "/v1"])
def test_our_own_server_counts_as_the_encoder_in_process(counter_of, suffix):
    with Server(ScriptedAnswers([]), encoder()) as server:
        counter = counter_of(server.openai_base_url.removesuffix("/v1") + suffix)
        for tools in ((), (tool("find"),)):
            assert counter.count(REQUEST, tools=tools) == encoder().count(REQUEST, tools=tools)
        assert counter.count(REQUEST, generation_prompt=False) == encoder().count(
            REQUEST, generation_prompt=False
        )
        assert "tokenize" in counter.name


def test_a_server_that_counts_messages_is_asked_for_a_count(answering, counter_of):
    server = answering(vllm)
    counter = counter_of(server.url)
    assert counter.count(REQUEST) == 4
    assert counter.count(REQUEST, tools=[tool("find")]) == 14
    assert counter.name == "llama-3 (its server's runtime and chat template, /tokenize)"
    assert exactness(counter) == (True, "said by the server")


def test_a_server_that_tokenizes_text_is_asked_for_its_template_first(answering, counter_of):
    server = answering(llama_cpp)
    counter = counter_of(server.url)
    assert counter.count(REQUEST) == len("<s>xxxx")
    assert "/apply-template and /tokenize" in counter.name
    assert counter.name.startswith(server.url.removeprefix("http://"))
    path, body, _ = server.seen[2]
    assert (path, body["parse_special"], body["add_special"]) == ("/tokenize", True, True)


def test_a_request_is_asked_for_once(answering, counter_of):
    server = answering(vllm)
    counter = counter_of(server.url)
    counts = {counter.count(REQUEST) for _ in range(3)}
    assert len(counts) == 1
    assert len(server.seen) == 2  # which kind it is, and the count


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((500, "out of memory"), "answered 500: .*out of memory"),
        ((200, "not JSON"), "no JSON object"),
        ((200, []), "no JSON object"),
        ((200, {"count": "many"}), "sent the count 'many'"),
        ((200, {"count": -1}), "sent the count -1"),
        ((200, {"prompt": 5}), "sent no prompt"),
        ((200, {"prompt": "x"}), "neither count nor tokens"),
    ],
)
def test_what_is_no_count_is_an_error(answering, counter_of, answer, told):
    server = answering(lambda path, body: answer)
    with pytest.raises(BackendError, match=told):
        counter_of(server.url).count(REQUEST)


def test_a_server_that_is_not_there_is_an_error(counter_of):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(BackendError, match="cannot be asked"):
        counter_of(f"http://127.0.0.1:{port}").count(REQUEST)


def test_a_server_that_does_not_answer_is_an_error(counter_of):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(BackendError, match=r"no answer within 0\.05 seconds"):
            counter_of(url, timeout=0.05).count(REQUEST)


def test_a_key_is_sent_and_never_shown(answering, counter_of):
    server = answering(lambda path, body: (401, "no such key: s3cret"))
    with pytest.raises(BackendError) as raised:
        counter_of(server.url, key="s3cret").count(REQUEST)
    assert server.seen[0][2] == "Bearer s3cret"
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("url", ["127.0.0.1:80", "http://", "http://u:p@host", "http://host?a=b"])
def test_what_is_no_plain_url_is_refused(url):
    with pytest.raises(UsageError) as raised:
        ServedCounter(url)
    assert "u:p" not in str(raised.value)


def test_any_text_travels(answering, counter_of):
    server = answering(vllm)
    assert counter_of(server.url).count([user("half \ud83d, 数据")]) == 1
    assert (
        json.dumps(server.seen[-1][1]["messages"][0]["content"]) == '"half \\ud83d, \\u6570\\u636e"'
    )
