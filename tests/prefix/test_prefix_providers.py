"""Which rules a recording goes by."""

import pytest

from pytest_ctxguard.prefix.providers import MODELS, rules_of, told_provider
from pytest_ctxguard.prefix.rules import load_rules
from tests.factories import session


def test_every_name_is_one_of_rules():
    assert {name for _, name in MODELS} <= set(load_rules())


@pytest.mark.parametrize(
    ("model", "rules"),
    [
        ("claude-sonnet-4-5-20250929", "anthropic"),
        ("claude-sonnet-5", "anthropic"),
        ("anthropic/claude-opus-4.5", "anthropic-opus-4-5"),
        ("claude-haiku-4-5", "anthropic-opus-4-5"),
        ("claude-opus-4-7", "anthropic-opus-4-7"),
        ("claude-opus-5", "anthropic-5"),
        ("claude-haiku-5-5", "anthropic-5"),
        ("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock-claude"),
        ("gpt-4o-2024-08-06", "openai-gpt-4o"),
        ("openai/gpt-4.1-mini", "openai-gpt-4-1"),
        ("gpt-5.1-codex", "openai"),
        ("gpt-5.6", "openai-5-6"),
        ("o3-mini", "openai"),
        ("gemini-2.5-pro", "gemini-pro"),
        ("gemini-2.5-flash", "gemini"),
        ("deepseek-chat", "deepseek"),
        ("Qwen2.5-Coder", ""),
        ("", ""),
    ],
)
def test_a_model_tells_its_rules(model, rules):
    assert rules_of(model) == rules


def test_most_calls_decide():
    models = {2: "gpt-4o", 4: "claude-sonnet-5", 6: "claude-sonnet-5"}
    recorded = {at: {"model": model} for at, model in models.items()}
    assert told_provider([session(recorded=recorded)]) == "anthropic"
    assert told_provider([session(recorded={2: {"model": "llama"}})]) == ""
