"""What is secret by where it stands, whatever it is; and what hides from a plain search."""

import base64
import gzip
import json
from pathlib import Path

import pytest

from pytest_ctxguard.errors import SecretFound
from pytest_ctxguard.recording.secrets import Secrets
from tests.recording.planting import CHAT, Exchange, events, message, multipart

FILE = Path("cassettes/some.yaml")
WORD = "opensesame"  # like no token at all
RANDOM = "q7vXw2kQ9rT4mZ8b"

HEADERS = [
    "Authorization",
    "Proxy-Authorization",
    "X-API-Key",
    "api-key",
    "x-goog-api-key",
    "Cookie",
    "OpenAI-Organization",
    "openai-project",
    "anthropic-organization-id",
    "X-Amz-Security-Token",
    "x-auth-token",
    "X-Some-Secret",
]
QUERY = ["key", "api_key", "apiKey", "token", "access_token", "sig", "signature", "X-Amz-Signature"]
BODY = ["api_key", "apiKey", "access_token", "refresh_token", "id_token", "client_secret"]
BODY += ["password", "private_key", "AWS_SECRET_ACCESS_KEY", "Authorization"]


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name):
    secrets = Secrets.from_environment({})
    exchange = Exchange(headers={name: WORD}, answer_headers={name: WORD})
    assert dict(secrets.scrub_request(exchange.request).headers) == {name: "SCRUBBED"}
    assert secrets.scrub_response(exchange.response)["headers"] == {name: ["SCRUBBED"]}


@pytest.mark.parametrize("name", QUERY)
def test_keys_of_addresses(name):
    secrets = Secrets.from_environment({})
    for before in (f"{CHAT}?a=1&{name}=", f"{CHAT}#b=2&{name}="):
        exchange = Exchange(uri=before + WORD, answer_headers={"Location": before + WORD})
        assert secrets.scrub_request(exchange.request).uri == f"{before}SCRUBBED"
        response = secrets.scrub_response(exchange.response)
        assert response["headers"]["Location"] == [f"{before}SCRUBBED"]


def test_user_and_password_of_addresses():
    request = Exchange(uri=f"https://me:{WORD}@api.example.com/v1?a=1").request
    new = Secrets.from_environment({}).scrub_request(request)
    assert new.uri == "https://SCRUBBED@api.example.com/v1?a=1"


@pytest.mark.parametrize("name", BODY)
def test_keys_of_bodies(name):
    secrets = Secrets.from_environment({})
    bodies = {
        "JSON": lambda value: json.dumps({"a": [{name: value, "n": 1}]}).encode(),
        "JSON in JSON": lambda value: message(json.dumps({"b": {name: value}})),
        "lines": lambda value: (
            b'data: {"a": 1}\n\ndata: {"%b": "%b"}\n\n' % (name.encode(), value.encode())
        ),
        "form": lambda value: f"grant_type=x&{name}={value}".encode(),
        "multipart": lambda value: multipart(name, value),
        "streamed": lambda value: events('{"', name, f'": "{value}', '", "n": 1}'),
    }
    for kind, body in bodies.items():
        exchange = Exchange(body=body(WORD), answer=body(WORD))
        assert WORD.encode() not in secrets.scrub_request(exchange.request).body, kind
        new = secrets.scrub_response(exchange.response)["body"]["string"]
        assert new == body("SCRUBBED"), kind


def test_a_value_is_replaced_also_before_the_place_that_shows_it_to_be_secret():
    exchange = Exchange(
        answer=b'{"seen": "tok_0001", "access_token": "tok_0001"}',
        answer_headers={"x-echo": "as tok_0001"},
    )
    new = Secrets.from_environment({}).scrub_response(exchange.response)
    assert new["headers"] == {"x-echo": ["as SCRUBBED"]}
    assert json.loads(new["body"]["string"]) == {"seen": "SCRUBBED", "access_token": "SCRUBBED"}


def test_the_same_in_a_request():
    exchange = Exchange(body=b'{"api_key": "tok_0001"}', headers={"x-note": "as tok_0001"})
    new = Secrets.from_environment({}).scrub_request(exchange.request)
    assert (new.body, dict(new.headers)) == (b'{"api_key": "SCRUBBED"}', {"x-note": "as SCRUBBED"})


def test_url_encoding_that_was_not_needed():
    spelled = "".join(f"%{ord(letter):02X}" for letter in RANDOM)
    secrets = Secrets.from_environment({"SOME_API_KEY": RANDOM})
    for body in (message(f"see x={spelled}&n=1"), f"see x={spelled}".encode()):
        new = secrets.scrub_request(Exchange(body=body).request).body
        assert new == body.replace(spelled.encode(), b"SCRUBBED")
        with pytest.raises(SecretFound, match="in URL encoding"):
            secrets.check(body, path=FILE)


def test_base64_wrapped_in_the_middle_of_a_secret():
    text = b"." * 50 + RANDOM.encode() + b"." * 80
    wrapped = base64.encodebytes(text).decode()
    secrets = Secrets.from_environment({"SOME_API_KEY": RANDOM})
    new = secrets.scrub_request(Exchange(body=message(wrapped)).request).body
    [content] = json.loads(new)["messages"]
    assert base64.b64decode(content["content"]) == text.replace(RANDOM.encode(), b"SCRUBBED")
    assert content["content"].index("\n") == wrapped.index("\n")
    with pytest.raises(SecretFound, match="in base64"):
        secrets.check(wrapped.encode(), path=FILE)


def test_what_cannot_be_replaced_is_refused():
    """In base64 of bytes that are no text, a secret beyond ASCII is seen by its base64 only."""
    value = "Gehëimnis-äöü-4711"
    data = message(base64.b64encode(b"\xff\xfe" + value.encode() + b"\xff").decode())
    secrets = Secrets.from_environment({"SOME_API_KEY": value})
    assert secrets.scrub_request(Exchange(body=data).request).body == data
    with pytest.raises(SecretFound, match=r"the value of SOME_API_KEY .* in base64"):
        secrets.check(data, path=FILE)


def test_compressed_bytes_anywhere_in_a_file():
    secrets = Secrets.from_environment({"SOME_API_KEY": RANDOM})
    data = b"\xff\n" + gzip.compress(b"it is " + RANDOM.encode()) + b"\xff"
    with pytest.raises(SecretFound, match=r"some\.yaml:2: the value of SOME_API_KEY .* in gzip"):
        secrets.check(data, path=FILE)
    secrets.check(b"\xff" + gzip.compress(b"it is not") + b"\xff", path=FILE)


def test_a_file_that_repeats_itself_is_searched_once():
    """An anchor's text counts once, however often it is named: no file can be made too long."""
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 20))
    data = f"l0: &l0 [ordinary, {RANDOM[:8]}]\n{levels}".encode()
    Secrets.from_environment({"SOME_API_KEY": RANDOM}).check(data, path=FILE)
    with pytest.raises(SecretFound):
        Secrets.from_environment({"SOME_API_KEY": RANDOM[:8]}).check(data, path=FILE)


def test_what_is_nested_too_deep_to_be_text_is_passed_over():
    data = b"[" * 100_000 + RANDOM.encode() + b"]" * 100_000
    secrets = Secrets.from_environment({"SOME_API_KEY": RANDOM})
    new = secrets.scrub_request(Exchange(body=data).request).body
    assert new == data.replace(RANDOM.encode(), b"SCRUBBED")
    with pytest.raises(SecretFound):
        secrets.check(data, path=FILE)
