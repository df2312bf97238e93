"""Who is let in, how much may be sent, and what is left when the server has stopped."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading

import anthropic
import openai
import pytest

from pytest_ctxguard.errors import CtxguardError, UsageError
from pytest_ctxguard.server.running import Server
from pytest_ctxguard.server.script import ScriptedAnswers
from tests.server.server_asks import ASK

BODY = {"model": "m", "messages": ASK}


def test_the_key_is_asked_of_both_clients(serve, openai_client, anthropic_client):
    server = serve(["a", "b", "c"], key="s3cret")
    assert openai_client(server, api_key="s3cret").chat.completions.create(**BODY).choices
    claude = anthropic_client(server, api_key="s3cret")
    assert claude.messages.create(max_tokens=9, **BODY).content
    bearer = anthropic_client(server, api_key=None, auth_token="s3cret")  # noqa: S106
    assert bearer.messages.create(max_tokens=9, **BODY).content
    with pytest.raises(openai.AuthenticationError) as caught:
        openai_client(server, api_key="wr0ng").chat.completions.create(**BODY)
    assert caught.value.code == "invalid_api_key"
    with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key") as caught:
        anthropic_client(server, api_key="wr0ng").messages.create(max_tokens=9, **BODY)
    assert "wr0ng" not in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("path", ["/v1/models", "/tokenize", "/v1/chat/completions"])
def test_every_route_but_health_needs_the_key(serve, http, path):
    server = serve([], key="s3cret")
    method = "GET" if path == "/v1/models" else "POST"
    assert http.request(method, server.url + path).status_code == 401
    assert http.get(f"{server.url}/health").json() == {"status": "ok"}


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example"])
def test_another_host_name_is_turned_away(idle, http, host):
    response = http.post(f"{idle.url}/v1/chat/completions", json=BODY, headers={"host": host})
    assert response.status_code == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "", "192.168.0.2", "::"])  # noqa: S104 - refused
def test_only_loopback_is_listened_on(encoder, host):
    with pytest.raises(UsageError, match=r"127\.0\.0\.1 only"):
        Server(ScriptedAnswers(["x"]), encoder, host=host)


@pytest.mark.parametrize("options", [{"limit": 0}, {"key": " "}])
def test_impossible_options_are_said(encoder, options):
    with pytest.raises(UsageError):
        Server(ScriptedAnswers(["x"]), encoder, **options)


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "chunked"])
def test_a_body_over_the_limit(serve, http, declared):
    server = serve(["x"], body_limit=1000)
    data = json.dumps({**BODY, "user": "x" * 200_000}).encode()
    for path, kind in (("chat/completions", "invalid_request_error"), ("messages", "request_too")):
        content = data if declared else iter([data[:900], data[900:]])
        response = http.post(f"{server.url}/v1/{path}", content=content)
        assert response.status_code == 413
        assert response.json()["error"]["type"].startswith(kind)
    assert server.requests == ()
    assert http.post(f"{server.url}/v1/chat/completions", json=BODY).status_code == 200


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000], ids=repr)
def test_a_body_that_is_no_json_object(idle, http, data):
    response = http.post(f"{idle.url}/v1/chat/completions", content=data)
    assert response.status_code == 400
    assert "could not parse the JSON body" in response.json()["error"]["message"]


def test_half_a_surrogate_pair_is_answered(serve, http):
    server = serve(["It is \ud800."], strict=False)
    data = b'{"model": "m", "messages": [{"role": "user", "content": "\\ud800"}]}'
    response = http.post(f"{server.url}/v1/chat/completions", content=data)
    assert response.json()["choices"][0]["message"]["content"] == "It is \ud800."


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/chat/completions", 405), ("POST", "/v1/nowhere", 404), ("GET", "/", 404)],
)
def test_a_route_there_is_none_of(idle, http, method, path, status):
    response = http.request(method, idle.url + path)
    assert response.status_code == status
    assert path in response.json()["error"]["message"]


def test_a_taken_port_is_said(idle, encoder):
    port = int(idle.url.rpartition(":")[2])
    with pytest.raises(CtxguardError, match=f"port {port} of 127.0.0.1 cannot be used"):
        Server(ScriptedAnswers(["x"]), encoder, port=port).start()


def test_nothing_is_left_of_a_stopped_server(encoder, openai_client):
    before = set(threading.enumerate())
    with Server(ScriptedAnswers(["x"]), encoder) as server:
        openai_client(server).chat.completions.create(**BODY)
        port = int(server.url.rpartition(":")[2])
        assert set(threading.enumerate()) > before
    server.stop()  # once more does nothing
    assert set(threading.enumerate()) == before
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    with Server(ScriptedAnswers(["x"]), encoder, port=port) as again:  # the port is free
        assert again.url.endswith(str(port))


def test_a_server_that_was_never_started_stops(encoder):
    Server(ScriptedAnswers(["x"]), encoder).stop()


def curl(*arguments):
    command = [shutil.which("curl"), "--silent", "--show-error", "--noproxy", "*", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl(serve):
    server = serve(["It is slow.", "Very."], key="s3cret")
    url, auth = f"{server.url}/v1/chat/completions", ("-H", "Authorization: Bearer s3cret")
    answer = json.loads(curl(url, *auth, "-d", json.dumps(BODY)))
    assert answer["choices"][0]["message"]["content"] == "It is slow."
    text = curl(url, *auth, "--no-buffer", "-d", json.dumps({**BODY, "stream": True}))
    events = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert events[-1] == "[DONE]"
    deltas = [json.loads(event)["choices"][0]["delta"] for event in events[:-1]]
    assert "".join(delta.get("content") or "" for delta in deltas) == "Very."
    status = curl(url, "-o", "-", "-w", "%{http_code}", "-d", json.dumps(BODY))
    assert status.endswith("401")
