"""Which values count as secret, and what ordinary traffic keeps: every byte."""

import base64
import gzip
import json
from pathlib import Path

import pytest
import yaml
from vcr.request import Request

from pytest_ctxguard.errors import RecordingError, SecretFound, UsageError
from pytest_ctxguard.recording.secrets import Secrets
from tests.recording.planting import GZIP, Exchange, b64, events, file, message

FILE = Path("cassettes/some.yaml")
RANDOM = "q7vXw2kQ9rT4mZ8b"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"


def text_of(secrets, text):
    [content] = json.loads(secrets.scrub_request(Exchange(body=message(text)).request).body)[
        "messages"
    ]
    return content["content"]


SECRET_VARIABLES = {
    "OPENAI_API_KEY": RANDOM,
    "MY_KEY": RANDOM,
    "github_token": RANDOM,
    "CLIENT_SECRET": RANDOM,
    "PGPASSWORD": RANDOM,
    "DB_PASSWORD_OLD": RANDOM,
    "AWS_CREDENTIALS": RANDOM,
    "AWS_SECRET_ACCESS_KEY": "/wJalrXUtnFEMI/K7MDENG+bPxRfiCYzzzzzzzzz",
    "AWS_ACCESS_KEY_ID": "ZKIA2222ABCD3333EFGH",
    "OPENAI_ORG_ID": RANDOM,
    "ROOT_PASSWORD": "correcthorsebatterystaple",
    "PIN_TOKEN": "4711471147",
}
ORDINARY_VARIABLES = {
    "PATH": RANDOM,
    "OPENAI_API_KEY": "test",
    "ANTHROPIC_API_KEY": "not-needed",
    "MY_API_KEY": "your-api-key-here",
    "DUMMY_TOKEN": "dummy_token",
    "USE_TOKEN": "true",
    "KEY": "abc123",
    "SSL_KEY": "/etc/ssl/private/server.key",
    "TOKEN_SECRET": "~/secrets/token",
    "JWT_SECRET": "./secret.txt",
    "WINDOWS_KEY": r"C:\keys\server.key",
    "PGPASSWORD": "postgres",
    "SORT_KEY": "created-at",
    "YEAR_TOKEN": "20240101",
    "VAULT_TOKEN": "https://vault.example.com/v1",
    "SCRUBBED_TOKEN": "SCRUBBED",
}


@pytest.mark.parametrize("name", SECRET_VARIABLES)
def test_a_variable_that_holds_a_secret(name):
    value = SECRET_VARIABLES[name]
    secrets = Secrets.from_environment({name: value})
    assert text_of(secrets, f"It is <{value}>.") == "It is <SCRUBBED>."
    with pytest.raises(SecretFound) as caught:
        secrets.check(f"a: b\nc: It is <{value}>.\n".encode(), path=FILE)
    assert str(caught.value).startswith(f"{FILE}:2: the value of {name} (sha256 ")
    assert (caught.value.path, caught.value.line) == (FILE, 2)
    assert value not in str(caught.value)


@pytest.mark.parametrize("name", ORDINARY_VARIABLES)
def test_a_variable_that_holds_none(name):
    value = ORDINARY_VARIABLES[name]
    secrets = Secrets.from_environment({name: value})
    assert text_of(secrets, f"It is {value}.") == f"It is {value}."
    secrets.check(f"It is {value}.".encode(), path=FILE)


def test_a_password_in_an_address_is_secret_whatever_the_variable_is_called():
    secrets = Secrets.from_environment({"DATABASE_URL": "postgres://app:hunter2%21hunter@db/app"})
    assert text_of(secrets, "psql says hunter2!hunter") == "psql says SCRUBBED"


def test_the_secrets_in_a_service_account():
    account = {"type": "service_account", "private_key": RANDOM * 2, "client_id": "x"}
    secrets = Secrets.from_environment({"GOOGLE_CREDENTIALS": json.dumps(account)})
    assert text_of(secrets, f"a {RANDOM * 2} b") == "a SCRUBBED b"


def test_secrets_the_user_names():
    secrets = Secrets.from_environment({}, extra=["blue moon"])
    assert text_of(secrets, "say blue moon; " + b64("blue moon")) == "say SCRUBBED; " + b64(
        "SCRUBBED"
    )
    with pytest.raises(SecretFound, match="secret 1 of `extra`"):
        secrets.check(b"once in a blue moon", path=FILE)


def test_a_secret_the_user_names_is_long_enough():
    with pytest.raises(UsageError, match=r"secret 2 of `extra` has 3 characters; .* Give whole"):
        Secrets.from_environment({}, extra=["long enough", "abc"])


TOKENS = {
    "OpenAI": "sk-Ab12Cd34Ef56Gh78Ij90Kl12Mn34Op56",
    "OpenAI project": "sk-proj-Ab12Cd34_Ef56Gh78Ij90Kl12-Mn34Op56",
    "Anthropic": "sk-ant-api03-Ab12Cd34Ef56Gh78Ij90-Kl12_AA",
    "Google": "AIzaSyAb12Cd34Ef56Gh78Ij90Kl12Mn34Op56Q",
    "Google access": "ya29.a0Ab12Cd34Ef56Gh78Ij90Kl12",
    "GitHub": "ghp_Ab12Cd34Ef56Gh78Ij90Kl12Mn34Op56Qr78",
    "GitHub fine-grained": "github_pat_11Ab12Cd34Ef56Gh78Ij90_Kl12Mn34",
    "Slack": "xoxb-" + 3 * "1234" + "-Ab12Cd34Ef56",  # not whole, or scanners take it for real
    "AWS": "AKIAIOSFODNN7EXAMPLE",
    "JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.Ab12Cd34Ef56",
    "Hugging Face": "hf_Ab12Cd34Ef56Gh78Ij90Kl12Mn34Op",
    "GitLab": "glpat-Ab12Cd34Ef56Gh78Ij90",
    "organisation": "org-Ab12Cd34Ef56Gh78Ij90Kl12",
    "project": "proj_Ab12Cd34Ef56Gh78Ij90Kl12",
    "private key": "-----BEGIN PRIVATE KEY-----\nAb12\nCd34\n-----END PRIVATE KEY-----",
}
SENTENCES = ["{}", "use {} now", 'key="{}"', "https://x.org/a?b={}&c=d", "a:{},b"]


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("name", TOKENS)
def test_tokens_of_a_known_form(name, sentence):
    secrets = Secrets.from_environment({})
    text = sentence.format(TOKENS[name])
    assert text_of(secrets, text) == sentence.format("SCRUBBED")
    with pytest.raises(SecretFound):
        secrets.check(text.encode(), path=FILE)


TOLD_BY_WORDS = {
    "curl -H 'Authorization: Bearer {}'": "abcdefgh12345678",
    "Authorization: token {}": "abcdefgh1234",
    "export OPENAI_API_KEY={}": "abcdefgh1234",
    "api_key: {}": "abcdefgh1234",
    "postgres://app:{}@db/app": "hunter2",
    "{{'password': '{}'}}": "hunter2",
    'so {{"refresh_token": "{}"}} came': "abc123",
    "GET /x?access_token={}&n=1": "abcdefgh1234",
}


@pytest.mark.parametrize("sentence", TOLD_BY_WORDS)
def test_values_that_words_call_secret(sentence):
    text = sentence.format(TOLD_BY_WORDS[sentence])
    assert text_of(Secrets.from_environment({}), text) == sentence.format("SCRUBBED")


ORDINARY = [
    "The token count is 4711; total_tokens: 12, max_tokens=4096.",
    '{"usage": {"total_tokens": 12, "prompt_tokens": 8}, "id": "chatcmpl-D0tOQdWGd3SCIQXab12"}',
    '{"token": " Hello", "logprob": -0.1, "bytes": [32], "top_logprobs": []}',
    '{"token": "user 42", "key": "order-2024-000123-a7", "signature": "EqQBCgIYAhIkAb12Cd34"}',
    '{"id": "call_1EYWDzueHEp8OsB8jJSEp7WB", "tool_use_id": "toolu_01A09q90qw90lq917835lq9"}',
    '{"encrypted_content": "gAAAAABqF1Ab12Cd34_Ef56Gh78-Ij90Kl12Mn34Op56"}',
    '{"properties": {"password": {"type": "string"}, "token": {"type": "string"}}}',
    '{"password": "string", "authorization": "required", "organization": "Acme 2024 Ltd"}',
    "550e8400-e29b-41d4-a716-446655440000 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "The bearer of this letter needs authorization: basic rules apply. Bearer authentication.",
    "sk-learn-compatible-estimators; task-runner-2024-build-0001; risk-adjusted",
    "The password: ask your administrator. api_key = os.environ['OPENAI_API_KEY']",
    "token = tokenizer.get_next_token_v2(text); secret_key=settings.SECRET_KEY_2024",
    "Visit https://example.com/?key=home&page=2 and postgres://user:password@localhost/db",
    "https://user@example.com:8080/path/to/some/very/long/file_name_2024.html#section-12",
    "org-mode, org-roam-capture-templates, proj_name, hf_hub_download, ghp_, AKIA, eyJ",
    "line one\nline two with 100% of 50%25 and %zz\n\ttabs, 中文, é, \U0001f600",
    base64.b64encode(bytes(range(256)) * 4).decode(),
    base64.b64encode(b"ordinary text of a document, 2024 words long").decode(),
    "data: [DONE]",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_keeps_every_byte(text):
    secrets = Secrets.from_environment({"SOME_API_KEY": RANDOM})
    for body in (text.encode(), message(text), message(json.dumps({"a": text})), events(text, "b")):
        exchange = Exchange(body=body, answer=body)
        assert secrets.scrub_request(exchange.request).body == body
        assert secrets.scrub_response(exchange.response) == exchange.response
    packed = gzip.compress(message(text), mtime=7)
    exchange = Exchange(answer=packed, answer_headers=GZIP)
    assert secrets.scrub_response(exchange.response) == exchange.response
    data = file([exchange.request], [exchange.response])
    secrets.check(data, path=FILE)


def test_ordinary_headers_and_addresses_keep_every_byte():
    headers = {
        "User-Agent": "OpenAI/Python 2.34.0",
        "x-request-id": "req_011CVAb12Cd34Ef56",
        "anthropic-ratelimit-tokens-limit": "400000",
        "x-ratelimit-remaining-tokens": "149999",
        "anthropic-beta": "token-efficient-tools-2025-02-19",
        "content-type": "application/json",
        "Cookie": "",
    }
    uri = "https://api.example.com/v1/models/gemini-2.0:generate?alt=sse&q=a+b%20c&x=&y#z=1"
    secrets = Secrets.from_environment({"SOME_API_KEY": RANDOM})
    request = secrets.scrub_request(Request("GET", uri, None, headers))
    assert (request.uri, request.body, dict(request.headers)) == (uri, None, headers)


def test_cookies_keep_their_names():
    headers = {"Set-Cookie": "a=1; Path=/; Expires=Wed, 09 Jun 2027 10:18:14 GMT, b=2; Secure"}
    response = Secrets.from_environment({}).scrub_response(
        Exchange(answer_headers=headers).response
    )
    assert response["headers"]["Set-Cookie"] == [
        "a=SCRUBBED; Path=/; Expires=Wed, 09 Jun 2027 10:18:14 GMT, b=SCRUBBED; Secure"
    ]


def test_json_keeps_its_spelling_around_what_is_replaced():
    body = b'{ "a":1.0,"b" : "\\u00e9\\/ ' + RANDOM.encode() + b'", "c":[1e5,  "\\/x"] ,"a":2}'
    secrets = Secrets.from_environment({"SOME_API_KEY": RANDOM})
    assert secrets.scrub_request(Exchange(body=body).request).body == (
        b'{ "a":1.0,"b" : "\\u00e9/ SCRUBBED", "c":[1e5,  "\\/x"] ,"a":2}'
    )


def test_a_number_under_a_secret_name():
    body = b'{"password": 12345678, "total_tokens": 12}'
    new = Secrets.from_environment({}).scrub_request(Exchange(body=body).request).body
    assert new == b'{"password": "SCRUBBED", "total_tokens": 12}'


def test_a_body_that_cannot_be_unpacked_is_refused():
    exchange = Exchange(answer=b"\xff\x00\x81packed", answer_headers={"content-encoding": "new"})
    with pytest.raises(RecordingError, match=r"'new' cannot be searched for secrets\. Send"):
        Secrets.from_environment({}).scrub_response(exchange.response)


def test_a_body_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr("pytest_ctxguard.recording.scrubbing.compressed.LIMIT", 1000)
    exchange = Exchange(answer=gzip.compress(b"a" * 1001), answer_headers=GZIP)
    with pytest.raises(RecordingError, match="decompressed, is not searched"):
        Secrets.from_environment({}).scrub_response(exchange.response)


def test_frames_with_checksums_are_not_changed():
    headers = {"content-type": "application/vnd.amazon.eventstream"}
    secrets = Secrets.from_environment({"SOME_API_KEY": RANDOM})
    frames = Exchange(answer=b"\0\0\0\x10ordinary", answer_headers=headers)
    assert secrets.scrub_response(frames.response) == frames.response
    frames = Exchange(answer=b"\0\0\0\x10" + RANDOM.encode(), answer_headers=headers)
    with pytest.raises(RecordingError, match=r"the value of SOME_API_KEY .* event stream of AWS"):
        secrets.scrub_response(frames.response)


def test_the_place_of_what_is_found():
    secrets = Secrets.from_environment({"SOME_API_KEY": RANDOM})
    plain = Exchange()
    found = Exchange(answer=gzip.compress(message(b64(RANDOM))))
    data = file([plain.request] * 2, [plain.response, found.response])
    with pytest.raises(SecretFound) as caught:
        secrets.check(data, path=FILE)
    line = data.decode().split("\n").index("      string: !!binary |") + 1
    assert str(caught.value).startswith(f"{FILE}:{line}: the value of SOME_API_KEY (sha256 ")
    assert "in interactions[1].response.body.string, in gzip, in base64" in str(caught.value)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared recordings are not beside this project")
def test_recordings_of_others_lose_nothing_but_account_ids():
    """What is replaced in bodies of real recordings, listed; and all of it is scrubbed for good."""
    changed = {}
    for path in sorted(SHARED.glob("vcr_*/*.yaml")):
        for row in yaml.load(path.read_text(), Loader=yaml.CSafeLoader)["interactions"]:
            secrets = Secrets.from_environment({})
            asked, answered = row["request"], row["response"]
            body = asked.get("body")
            body = body.encode() if isinstance(body, str) else body
            new = secrets.scrub_request(Request("POST", asked["uri"], body, {})).body
            if new != (body or None):
                changed.setdefault(path.name, []).append("request")
            inner = answered.get("body", {}).get("string")
            inner = inner.encode() if isinstance(inner, str) else inner
            response = {**answered, "headers": {}, "body": {"string": inner}}
            if secrets.scrub_response(response) != response:
                changed.setdefault(path.name, []).append("response")
    assert changed == {}
