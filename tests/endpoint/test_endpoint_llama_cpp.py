"""A real server of another's, over the default model's own file: llama-cpp-python's.

It runs under ``nox -s endpoint`` alone, which installs that server.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
from contextlib import closing
from functools import partial

import pytest

from pytest_ctxguard import full_history
from pytest_ctxguard.backend import Sampling
from pytest_ctxguard.endpoint import EndpointBackend, Patience
from pytest_ctxguard.endpoint.together import together
from pytest_ctxguard.errors import BackendError, PromptTooLong
from pytest_ctxguard.recall.needles.running import Setting, show
from pytest_ctxguard.recall.needles.sample import drawn
from pytest_ctxguard.tokens.request import RequestEncoder

HERE = importlib.util.find_spec("llama_cpp") is not None or "CTXGUARD_ENDPOINT_TEST" in os.environ
pytestmark = [
    pytest.mark.endpoint,
    pytest.mark.skipif(not HERE, reason="no llama-cpp-python; nox -s endpoint installs it"),
]
WINDOW = 2048
ALIAS = "qwen2.5-coder-0.5b"
ASK = [{"role": "user", "content": "Count from one to five in words."}]
CALL = {"id": "c1", "type": "function", "function": {"name": "get_metrics", "arguments": "{}"}}


@pytest.fixture(scope="module")
def url(default_model, tmp_path_factory):
    """Run the server on a loopback port, over the file that our own engine was converted from."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    command = [sys.executable, "-m", "llama_cpp.server", "--host", "127.0.0.1"]
    options = {
        "port": port,
        "model": default_model.folder.parent / "model.gguf",
        "model_alias": ALIAS,
        "n_ctx": WINDOW,
        "n_threads": 1,  # more wait for each other, busily, where other work is done
        "n_threads_batch": 1,
    }
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, process, said=log.read_text)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait(url, process, *, said):
    """Wait until the server answers, two minutes at most."""
    with closing(EndpointBackend(url, patience=Patience(tries=1))) as backend:
        for _ in range(240):
            if process.poll() is not None:
                pytest.fail(f"the server ended: {said()[-2000:]}")
            try:
                return backend.window
            except BackendError:
                time.sleep(0.5)
    return pytest.fail(f"the server does not answer: {said()[-2000:]}")


@pytest.fixture
def backend(url):
    with closing(EndpointBackend(url)) as made:
        yield made


@pytest.fixture(scope="module")
def prompts():
    """Twelve needles, each in a haystack of its own."""
    sample = drawn("register", records=(2,), depths=(0.0, 1.0), trials=6, seed=0)
    setting = Setting(policy=full_history, counter=RequestEncoder())
    return [shown.request.messages for shown in show(sample, setting).values()]


def test_together_they_are_answered_as_one_by_one(backend, prompts):
    one_by_one = backend.complete_many(prompts, max_tokens=16)
    at_once = together(partial(backend.complete, max_tokens=16), prompts, at_once=8)
    assert at_once == one_by_one
    assert len({answer.text for answer in one_by_one}) > 6


def test_it_counts_prompts_as_we_do(backend, prompts):
    count = RequestEncoder().count
    answers = backend.complete_many(prompts[:2], max_tokens=1)
    assert [answer.prompt_tokens for answer in answers] == [count(each) for each in prompts[:2]]


def test_what_it_says_of_itself(url, backend):
    identity = backend.identity
    assert identity["model"] == ALIAS
    assert identity["weights"] == "not said by the server"
    assert identity["numerics"].startswith("endpoint: llama-cpp-python 0.")
    with closing(EndpointBackend(url, model=ALIAS)) as named:
        assert named.identity == identity


def test_a_prompt_beyond_its_window(backend):
    with pytest.raises(PromptTooLong) as caught:
        backend.complete([{"role": "user", "content": "word " * WINDOW}])
    assert caught.value.tokens > caught.value.limit == WINDOW


def test_a_model_that_it_does_not_have(url):
    told = f"does not serve 'gpt', but {ALIAS}"
    with (
        closing(EndpointBackend(url, model="gpt")) as backend,
        pytest.raises(BackendError, match=told),
    ):
        backend.complete(ASK)


def test_ends_of_an_answer(backend):
    whole = backend.complete(ASK, max_tokens=32)
    cut = backend.complete(ASK, max_tokens=3)
    stopped = backend.complete(ASK, max_tokens=32, stop=["three"])
    assert (whole.finish_reason, cut.finish_reason) == ("stop", "length")
    assert cut.completion_tokens == 3
    assert whole.text.startswith(cut.text.strip())
    assert "three" in whole.text.lower()
    assert stopped.text == whole.text.partition("three")[0]


def test_one_seed_has_one_answer(backend):
    warm = Sampling(temperature=1.0, top_p=0.95, seed=7)
    first, second = (backend.complete(ASK, sampling=warm).text for _ in range(2))
    assert first == second


def test_a_history_with_tool_rounds(backend):
    history = [
        {"role": "user", "content": "How slow is payments-api?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "p99 412 ms"},
        {"role": "user", "content": "Which p99 did the tool report? Answer in milliseconds."},
    ]
    assert "412" in backend.complete(history).text
