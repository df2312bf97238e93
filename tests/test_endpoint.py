"""A backend over HTTP: against our own server, and against whatever else may answer."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_ctxguard.backend import Completion, Sampling, ToolCall
from pytest_ctxguard.endpoint import EndpointBackend
from pytest_ctxguard.errors import BackendError, PromptTooLong, UsageError
from pytest_ctxguard.server.running import Server
from pytest_ctxguard.server.script import Fault, ScriptedAnswers
from pytest_ctxguard.tokens.request import RequestEncoder

ASK = [{"role": "user", "content": "How slow is payments-api?"}]
TOOLS = [{"type": "function", "function": {"name": "get_metrics", "parameters": {}}}]
ANSWER = {"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]}
MODELS = {"data": [{"id": "m"}]}


@pytest.fixture(scope="module")
def encoder():
    return RequestEncoder()


class Handler(BaseHTTPRequestHandler):
    """Answers each request with the next (status, headers, body) of the server's queue."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.reply()

    do_POST = do_GET

    def reply(self):
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        self.server.seen.append((self.path, dict(self.headers), body))
        status, headers, data = self.server.replies.popleft()
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def other():
    """Run another server than ours; ``other(reply, …)`` returns its URL and what it saw."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.replies, server.seen = deque(), []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def start(*replies):
        server.replies.extend(r if isinstance(r, tuple) else (200, {}, r) for r in replies)
        return f"http://127.0.0.1:{server.server_port}/v1", server.seen

    yield start
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def endpoint():
    """Make backends that are closed after the test."""
    made = []

    def make(url, **options):
        made.append(EndpointBackend(url, **options))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


def test_through_our_server_it_is_as_in_process(encoder, endpoint):
    call = ToolCall("get_metrics", '{"service": "payments-api"}')
    answers = [
        Completion("Slow.", prompt_tokens=31, cached_tokens=24, completion_tokens=2),
        Completion("", (call,), "tool_calls", prompt_tokens=40, completion_tokens=9),
        Completion("one", finish_reason="length", prompt_tokens=5, completion_tokens=1),
    ]
    identity = {"model": "toy@1234", "numerics": "avx512, 2 threads"}
    with Server(ScriptedAnswers(answers, identity), encoder) as server:
        backend = endpoint(server.url)
        assert backend.identity == identity
        told = []
        assert backend.complete(ASK, watch=lambda text: not told.append(text)) == answers[0]
        assert backend.complete(ASK, tools=TOOLS, tool_choice="required") == answers[1]
        assert backend.complete(ASK, max_tokens=1) == answers[2]
        assert told == ["Slow."]


def test_a_prompt_too_long_for_our_server(encoder, endpoint):
    count = len(encoder.encode(ASK))
    server = Server(ScriptedAnswers([]), encoder, limit=count - 1)
    with server, pytest.raises(PromptTooLong) as caught:
        endpoint(server.url).complete(ASK)
    assert (caught.value.tokens, caught.value.limit) == (count, count - 1)


def test_a_busy_server_is_asked_again(encoder, endpoint):
    waits = []
    faults = {1: Fault(status=429, retry_after=2), 2: Fault(status=503, retry_after=999)}
    with Server(ScriptedAnswers(["x"]), encoder, faults=faults) as server:
        assert endpoint(server.url, sleep=waits.append).complete(ASK).text == "x"
    assert waits == [2.0, 30.0]


def test_patience_ends(encoder, endpoint):
    waits = []
    faults = {n: Fault(status=429, retry_after=0) for n in range(1, 9)}
    with Server(ScriptedAnswers([]), encoder, faults=faults) as server:
        with pytest.raises(BackendError, match="answered 429"):
            endpoint(server.url, sleep=waits.append).complete(ASK)
        assert len(server.requests) == 5
    assert waits == [0.0] * 4


def test_a_busy_server_that_names_no_time_is_not_asked_again(endpoint, other):
    url, seen = other((429, {}, {"error": {"message": "slow down\nplease"}}))
    with pytest.raises(BackendError, match=f"{url} answered 429: slow down$"):
        endpoint(url, model="m").complete(ASK)
    assert len(seen) == 1


def test_what_is_sent(endpoint, other):
    url, seen = other(MODELS, ANSWER, ANSWER)
    backend = endpoint(url, key="s3cret")
    assert backend.identity == {"model": "m", "numerics": "endpoint"}
    backend.complete(ASK)
    backend.complete(
        ASK,
        tools=TOOLS,
        stop=["END"],
        max_tokens=7,
        sampling=Sampling(temperature=0.5, top_p=0.9, seed=3),
    )
    assert [path for path, _, _ in seen] == ["/v1/models", *["/v1/chat/completions"] * 2]
    assert {headers["authorization"] for _, headers, _ in seen} == {"Bearer s3cret"}
    plain = {"model": "m", "messages": ASK, "max_tokens": 48, "temperature": 0.0}
    assert seen[1][2] == plain
    sampled = {"max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "seed": 3, "stop": ["END"]}
    assert seen[2][2] == {**plain, **sampled, "tools": TOOLS, "tool_choice": "auto"}


def test_a_named_model_needs_no_list(endpoint, other):
    url, _ = other((404, {}, b"no such page"))
    assert endpoint(url, model="gpt").identity == {"model": "gpt", "numerics": "endpoint"}


def test_one_of_several_models_must_be_named(endpoint, other):
    url, _ = other({"data": [{"id": "a"}, {"id": "b"}]}, {"data": [{"id": "a"}, {"id": "b"}]})
    with pytest.raises(BackendError, match=r"serves 2 models \(a, b\); name the one to ask"):
        endpoint(url).complete(ASK)
    assert endpoint(url, model="b").identity["model"] == "b"


@pytest.mark.parametrize(
    ("error", "figures"),
    [
        (
            {
                "message": "This model's maximum context length is 4097 tokens. However, you "
                "requested 4120 tokens (3120 in the messages, 1000 in the completion).",
                "code": "context_length_exceeded",
            },
            (4120, 4097),
        ),
        (
            {
                "code": 400,
                "message": "the request exceeds the available context size",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 600,
                "n_ctx": 512,
            },
            (600, 512),
        ),
    ],
    ids=["openai", "llama.cpp"],
)
def test_other_servers_words_for_too_long(endpoint, other, error, figures):
    url, _ = other((400, {}, {"error": error}))
    with pytest.raises(PromptTooLong) as caught:
        endpoint(url, model="m").complete(ASK)
    assert (caught.value.tokens, caught.value.limit) == figures


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ((500, {}, b"\n<html>\nbad"), "answered 500: <html>$"),
        ((400, {}, {"error": {"message": "context_length_exceeded"}}), "answered 400: context_len"),
        (
            (401, {}, {"error": {"message": "wrong key s3cret given"}}),
            r"401: wrong key \*\*\* given",
        ),
        ((503, {}, b""), r"answered 503: \(empty\)"),
        ((500, {}, b"x" * 999), "answered 500: x{300}$"),
        ((500, {}, b"a\x1b[31mb"), r"answered 500: a\\u001b\[31mb$"),
        ((200, {}, b"hello"), "sent what is no JSON object: hello"),
        ((200, {}, [1]), "sent what is no JSON object"),
        ((200, {}, {"choices": []}), "sent what is no chat completion"),
        ((200, {}, {"choices": [{"message": None}]}), "sent what is no chat completion"),
        ((307, {"location": "http://evil.test/"}, b""), "answered 307"),
    ],
)
def test_what_is_no_answer(endpoint, other, reply, text):
    url, seen = other(reply)
    with pytest.raises(BackendError, match=text) as caught:
        endpoint(url, model="m", key="s3cret").complete(ASK)
    assert "s3cret" not in str(caught.value)
    assert len(seen) == 1


def test_nobody_there(endpoint):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        with pytest.raises(BackendError, match=f"{url}/v1 cannot be asked"):
            endpoint(url).complete(ASK)


def test_a_slow_server(endpoint):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(BackendError, match=r"no answer within 0\.1 seconds"):
            endpoint(url, model="m", timeout=0.1).complete(ASK)


def test_half_a_surrogate_pair_is_sent(endpoint, other):
    url, seen = other(ANSWER)
    endpoint(url, model="m").complete([{"role": "user", "content": "\ud800"}])
    assert seen[0][2]["messages"] == [{"role": "user", "content": "\ud800"}]


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "ftp://x/", "http://", "http://me:pw@x/", "http://x/?key=pw"]
)
def test_what_is_no_endpoint(url):
    with pytest.raises(UsageError) as caught:
        EndpointBackend(url)
    assert "pw" not in str(caught.value)


def test_proxies_are_left_out_on_loopback(endpoint, other, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    url, _ = other(ANSWER)
    assert endpoint(url, model="m").complete(ASK).text == "x"


def test_a_closed_backend_opens_again(endpoint, other):
    url, _ = other(ANSWER, ANSWER)
    backend = endpoint(url, model="m")
    assert backend.complete(ASK).text == "x"
    backend.close()
    backend.close()
    assert backend.complete(ASK).text == "x"
