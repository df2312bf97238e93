"""The real model against torch float32; how the reference was made: data/make_reference.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_ctxguard.engine import store
from pytest_ctxguard.engine.runner import Runner

REFERENCE = json.loads(
    Path(__file__).with_name("data").joinpath("reference.json").read_text("utf-8")
)
PROMPTS = {entry["name"]: entry for entry in REFERENCE["prompts"]}
STOP = (151643, 151645)
ANSWER_TOKENS = 32


@pytest.fixture(scope="module")
def runner():
    return Runner.load(store.resolve(fetch=True))


@pytest.mark.model
@pytest.mark.parametrize("name", PROMPTS)
def test_the_answer_equals_torch_float32_token_for_token(runner, name):
    entry = PROMPTS[name]
    result = runner.generate(entry["ids"], max_tokens=ANSWER_TOKENS, stop=STOP)
    assert list(result.tokens) == entry["answer"], f"torch's smallest margin: {entry['margin']}"


def test_the_reference_is_of_the_pinned_model_and_large_enough():
    assert REFERENCE["gguf_sha256"] == store.CODER.gguf.sha256
    assert len(PROMPTS) == len(REFERENCE["prompts"]) >= 24
