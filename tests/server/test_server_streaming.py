"""Streaming is real, requests wait their turn, and nobody decodes for a client that is gone."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import anthropic
import httpx2
import openai
import pytest

from pytest_ctxguard.backend import Completion
from pytest_ctxguard.errors import BackendError
from pytest_ctxguard.server.ask import Ask
from pytest_ctxguard.server.jobs import Job
from tests.server.server_asks import ASK
from tests.server.server_backends import SECONDS, Stepwise


def test_the_first_chunk_arrives_while_decoding_goes_on(serve, openai_client):
    backend = Stepwise()
    client = openai_client(serve(backend=backend))
    backend.go.release()  # for the first piece, and no more
    stream = client.chat.completions.create(model="m", messages=ASK, stream=True)
    assert next(stream).choices[0].delta.role == "assistant"
    assert next(stream).choices[0].delta.content == "one"
    assert not backend.ended.is_set()
    backend.go.release(2)
    rest = [chunk.choices[0].delta.content for chunk in stream]
    assert rest == [" two", " three", None]


def test_the_same_in_anthropics_shape(serve, anthropic_client):
    backend = Stepwise()
    client = anthropic_client(serve(backend=backend))
    backend.go.release()
    with client.messages.stream(model="m", max_tokens=9, messages=ASK) as stream:
        texts = stream.text_stream
        assert next(texts) == "one"
        assert not backend.ended.is_set()
        backend.go.release(2)
        assert list(texts) == [" two", " three"]


def test_a_client_that_leaves_a_stream_ends_the_decoding(serve, openai_client):
    backend = Stepwise(["piece"] * 50)
    server = serve(backend=backend)
    backend.go.release()
    stream = openai_client(server).chat.completions.create(model="m", messages=ASK, stream=True)
    next(stream)
    stream.close()
    assert backend.stopped_before_its_end()
    assert server.transcripts == ()


def test_a_client_that_leaves_without_an_answer_ends_it_too(serve):
    backend = Stepwise(["piece"] * 50)
    server = serve(backend=backend)
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc)
    connection.request("POST", "/v1/chat/completions", json.dumps({"model": "m", "messages": ASK}))
    assert backend.began.acquire(timeout=SECONDS)
    connection.close()
    assert backend.stopped_before_its_end()


def test_decoding_ends_at_the_step_after_it_is_given_up():
    backend = Stepwise(["piece"] * 50)
    ask = Ask(model="m", messages=tuple(ASK))

    async def give_up_after_the_first_piece():
        with ThreadPoolExecutor(1) as pool:
            job = Job(backend, ask, pool=pool)
            backend.go.release()
            await anext(job.pieces())
            job.give_up()
            backend.go.release(50)
            await job.completion()

    asyncio.run(give_up_after_the_first_piece())
    assert len(backend.told) <= 2  # it may be given up before the first step has returned


def test_one_request_at_a_time_reaches_the_backend(serve, openai_client):
    backend = Stepwise(["x"])
    server = serve(backend=backend)
    client = openai_client(server)

    def ask():
        client.chat.completions.create(model="m", messages=ASK)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert backend.began.acquire(timeout=SECONDS)
    assert not backend.began.acquire(timeout=0.3)  # the others wait, and the server still answers
    assert httpx2.get(f"{server.url}/health").json() == {"status": "ok"}
    backend.go.release(3)
    for thread in threads:
        thread.join(SECONDS)
    assert backend.began.acquire(timeout=1)
    assert backend.began.acquire(timeout=1)


class Failing:
    """Fails after its first piece."""

    def __init__(self):
        self.identity = {"model": "failing", "numerics": "exact"}

    def complete(self, messages, *, watch=None, **asked):
        watch("one")
        raise BackendError("out of memory")


def test_a_failure_after_the_first_piece_ends_the_stream_with_an_error(
    serve, openai_client, anthropic_client
):
    server = serve(backend=Failing())
    stream = openai_client(server).chat.completions.create(model="m", messages=ASK, stream=True)
    with pytest.raises(openai.APIError, match="out of memory"):
        list(stream)
    stream = anthropic_client(server).messages.create(
        model="m", max_tokens=9, messages=ASK, stream=True
    )
    with pytest.raises(anthropic.APIError, match="out of memory"):
        list(stream)


class Silent:
    """Tells its watcher nothing before the end."""

    def __init__(self):
        self.identity = {"model": "silent", "numerics": "exact"}

    def complete(self, messages, *, watch=None, **asked):
        watch("")
        return Completion("")


def test_an_empty_answer_is_a_whole_stream(serve, openai_client):
    stream = openai_client(serve(backend=Silent())).chat.completions.create(
        model="m", messages=ASK, stream=True
    )
    assert [chunk.choices[0].finish_reason for chunk in stream] == [None, "stop"]


def test_stopping_the_server_ends_what_is_being_answered(serve, openai_client):
    backend = Stepwise(["piece"] * 50)
    server = serve(backend=backend)
    backend.go.release()
    stream = openai_client(server).chat.completions.create(model="m", messages=ASK, stream=True)
    next(stream)
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    assert backend.stopped_before_its_end()
    stopping.join(SECONDS)
    assert not stopping.is_alive()
    stream.close()
