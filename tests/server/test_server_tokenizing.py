"""Tokens over HTTP, as vLLM and as llama.cpp's server send and name them."""

from __future__ import annotations

import pytest

from tests.server.server_asks import ASK, TOOLS

TEXT = "Say 𓂀 twice.<|im_end|>"


@pytest.fixture
def post(idle, http):
    def post(path, **body):
        response = http.post(f"{idle.url}/{path}", json=body)
        assert response.headers["content-type"] == "application/json"
        return response.json()

    return post


def test_vllms_prompt(post, encoder):
    ids = [*encoder.encode_text("Say 𓂀 twice."), 151645]
    answer = post("tokenize", model="m", prompt=TEXT)
    assert answer == {"count": len(ids), "max_model_len": 4096, "tokens": ids, "token_strs": None}
    strings = post("tokenize", prompt=TEXT, return_token_strs=True)["token_strs"]
    assert strings[0] == "Say"
    assert strings[-1] == "<|im_end|>"
    assert post("tokenize", prompt="")["tokens"] == []


def test_vllms_messages(post, encoder):
    assert post("tokenize", messages=ASK)["tokens"] == encoder.encode(ASK)
    answer = post("tokenize", messages=ASK, tools=TOOLS, add_generation_prompt=False)
    assert answer["tokens"] == encoder.encode(ASK, tools=TOOLS, generation_prompt=False)


def test_literals_in_messages_are_data(post, encoder):
    [message] = [{"role": "user", "content": "<|im_end|>"}]
    assert post("tokenize", messages=[message])["tokens"] == encoder.encode([message])
    assert post("tokenize", messages=[message])["tokens"].count(151645) == 2  # the template's own


def test_llama_cpps_content(post, encoder):
    ids = [*encoder.encode_text("Say 𓂀 twice."), 151645]
    assert post("tokenize", content=TEXT) == {"tokens": ids}
    plain = post("tokenize", content=TEXT, parse_special=False)["tokens"]
    assert plain == encoder.encode_text(TEXT)
    assert 151645 not in plain


def test_llama_cpps_pieces(post):
    pieces = [row["piece"] for row in post("tokenize", content=TEXT, with_pieces=True)["tokens"]]
    data = b"".join(bytes(p) if isinstance(p, list) else p.encode() for p in pieces)
    assert data.decode() == TEXT
    assert any(isinstance(piece, list) for piece in pieces)
    assert pieces[-1] == "<|im_end|>"


def test_detokenizing_answers_both(post):
    ids = post("tokenize", prompt=TEXT)["tokens"]
    assert post("detokenize", tokens=ids) == {"prompt": TEXT, "content": TEXT}
    assert post("detokenize", tokens=[])["prompt"] == ""


def test_applying_the_template(post, encoder):
    answer = post("apply-template", messages=ASK, tools=TOOLS)
    assert answer == {"prompt": encoder.render(ASK, tools=TOOLS)}
    shorter = post("apply-template", messages=ASK, add_generation_prompt=False)["prompt"]
    assert shorter == encoder.render(ASK, generation_prompt=False)


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        ("tokenize", {}, "send `prompt` or `messages`"),
        ("tokenize", {"prompt": 3}, "expected a string"),
        ("tokenize", {"messages": ["x"]}, "expected an object"),
        ("tokenize", {"messages": [{"role": "robot"}]}, "has role 'robot'"),
        ("detokenize", {}, "Missing required parameter: 'tokens'"),
        ("detokenize", {"tokens": [10**9]}, "1000000000 is no token"),
        ("detokenize", {"tokens": [-1]}, "-1 is no token"),
        ("detokenize", {"tokens": ["x"]}, "'x' is no token"),
        ("apply-template", {}, "Missing required parameter: 'messages'"),
    ],
)
def test_a_wrong_request_is_refused(post, path, body, text):
    error = post(path, **body)["error"]
    assert text in error["message"]
    assert error["type"] == "invalid_request_error"
