"""The real model, served and in process."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ctxguard.endpoint import EndpointBackend
from pytest_ctxguard.engine.open import open_backend
from pytest_ctxguard.server.running import Server
from tests.server.server_asks import ASK, TOOLS

SHORT = [{"role": "user", "content": "Count from one to five in words."}]
SEARCH = {"type": "function", "function": {"name": "search_logs"}}


@pytest.mark.model
def test_a_served_answer_is_the_one_in_process(default_model, encoder, openai_client):
    backend = open_backend(encoder=encoder, fetch=False)
    plain = backend.complete(SHORT, max_tokens=24)
    call = backend.complete(ASK, tools=TOOLS, tool_choice="required", max_tokens=40)
    with Server(backend, encoder) as server:
        served = EndpointBackend(server.url)
        assert served.identity == backend.identity
        again = served.complete(SHORT, max_tokens=24)
        assert again.cached_tokens > 0
        assert dataclasses.replace(again, cached_tokens=plain.cached_tokens) == plain
        assert (
            served.complete(ASK, tools=TOOLS, tool_choice="required", max_tokens=40).tool_calls
            == call.tool_calls
        )
        served.close()
        create = openai_client(server).chat.completions.create
        chunks = list(create(model="m", messages=SHORT, max_tokens=24, stream=True))
        pieces = [chunk.choices[0].delta.content or "" for chunk in chunks]
        assert len(pieces) > 5
        assert "".join(pieces) == plain.text
        named = create(model="m", messages=ASK, tools=TOOLS, tool_choice=SEARCH, max_tokens=40)
        assert named.choices[0].message.tool_calls[0].function.name == "search_logs"
