"""One encoder for all tests of the server, and the real clients pointed at one."""

from __future__ import annotations

from contextlib import ExitStack

import anthropic
import httpx2
import openai
import pytest

from pytest_ctxguard.server.running import Server
from pytest_ctxguard.server.script import ScriptedAnswers
from pytest_ctxguard.tokens.request import RequestEncoder


@pytest.fixture(scope="session")
def encoder():
    return RequestEncoder()


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def serve(stack, encoder):
    """Start a server over answers or a backend; it stops after the test."""

    def start(answers=(), *, backend=None, **options):
        backend = ScriptedAnswers(answers) if backend is None else backend
        return stack.enter_context(Server(backend, encoder, **options))

    return start


@pytest.fixture(scope="session")
def idle(encoder):
    """One server for all tests whose requests never reach a backend."""
    with Server(ScriptedAnswers([]), encoder, limit=4096, keep=False) as server:
        yield server


@pytest.fixture(scope="session")
def http():
    """One HTTP client under the provider clients; its certificates take longer than a test."""
    with httpx2.Client(timeout=60) as client:
        yield client


@pytest.fixture
def openai_client(http):
    def make(server, **options):
        options = {"api_key": "any", "max_retries": 0, "http_client": http, **options}
        return openai.OpenAI(base_url=server.openai_base_url, **options)

    return make


@pytest.fixture
def anthropic_client(http):
    def make(server, **options):
        options = {"api_key": "any", "max_retries": 0, "http_client": http, **options}
        return anthropic.Anthropic(base_url=server.anthropic_base_url, **options)

    return make
