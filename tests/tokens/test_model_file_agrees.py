"""Our vocabulary and chat template are those inside the model file."""

import json

import pytest
from hypothesis import given, settings

from pytest_ctxguard.cache import cache_folder
from pytest_ctxguard.engine.models.sources import CODER
from pytest_ctxguard.engine.models.store import resolve
from pytest_ctxguard.tokens import vocabulary
from pytest_ctxguard.tokens.chat_template import compile_template, qwen_template
from pytest_ctxguard.transcript.messages import content_text
from tests.tokens.gguf_metadata import read_metadata
from tests.tokens.histories import requests

pytestmark = pytest.mark.model

render_ours = compile_template(qwen_template())


@pytest.fixture(scope="module")
def fields():
    """The metadata of the model file; it is fetched on first need."""
    resolve(CODER.name, fetch=True)
    return read_metadata(cache_folder() / CODER.name / "model.gguf")


@pytest.fixture(scope="module")
def render_theirs(fields):
    return compile_template(fields["tokenizer.chat_template"])


def test_the_merges_are_the_models_in_order(fields):
    letters = vocabulary.byte_letters()
    merges = [
        " ".join("".join(letters[byte] for byte in part) for part in merge)
        for merge in vocabulary.derive_merges(vocabulary.read_ranks())
    ]
    assert merges == fields["tokenizer.ggml.merges"]


def test_the_tokens_are_the_models(fields, encoder):
    tokens = fields["tokenizer.ggml.tokens"]
    ours = encoder.tokenizer.get_vocab()
    assert ours == {token: id_ for id_, token in enumerate(tokens[: len(ours)])}
    assert all(token.startswith("[PAD") for token in tokens[len(ours) :])


def as_servers_do(message):
    """Parse arguments to objects and flatten content, then render."""
    role = "system" if message["role"] == "developer" else message["role"]
    calls = [
        {"function": {**call["function"], "arguments": json.loads(call["function"]["arguments"])}}
        for call in message.get("tool_calls") or []
    ]
    seen = {"role": role, "content": content_text(message)}
    return {**seen, "tool_calls": calls} if calls else seen


@settings(deadline=None, max_examples=300)
@given(request_=requests())
def test_the_template_renders_what_the_models_own_renders(render_theirs, encoder, request_):
    messages, tools = request_
    for prompt in (True, False):
        given_ = {
            "messages": [as_servers_do(message) for message in messages],
            "tools": tools,
            "add_generation_prompt": prompt,
        }
        expected = render_theirs(**given_)
        assert render_ours(**given_) == expected
        assert encoder.render(messages, tools=tools, generation_prompt=prompt) == expected
