"""Which cache rules a recording goes by, told by the models that answered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from pytest_ctxguard.prefix.recorded import recorded_calls
from pytest_ctxguard.transcript.model import Transcript

MODELS: tuple[tuple[str, str], ...] = (
    (r"anthropic\.claude", "bedrock-claude"),
    (r"claude-(opus-4[-.][56]|haiku-4[-.]5)", "anthropic-opus-4-5"),
    (r"claude-opus-4[-.]7", "anthropic-opus-4-7"),
    (r"claude-(opus|fable|mythos)-5|claude-(sonnet|haiku)-5[-.]5", "anthropic-5"),
    (r"claude", "anthropic"),
    (r"gpt-4o", "openai-gpt-4o"),
    (r"gpt-4\.1", "openai-gpt-4-1"),
    (r"gpt-(5\.[6-9]|6)", "openai-5-6"),
    (r"gpt-\d|codex|(^|/)o[134]\b", "openai"),
    (r"gemini.*-pro", "gemini-pro"),
    (r"gemini", "gemini"),
    (r"deepseek", "deepseek"),
)
"""Pattern of a model's name -> name of rules, as the comments of rules.toml have them; the first
that is found counts."""


def told_provider(runs: Sequence[Transcript]) -> str:
    """Return the name of the rules of most calls' models; empty where no model is known."""
    models = (str(call.recorded.get("model") or "") for _, call in recorded_calls(runs))
    found = Counter(filter(None, map(rules_of, models)))
    return found.most_common(1)[0][0] if found else ""


def rules_of(model: str) -> str:
    """Return the name of a model's cache rules; empty where it is unknown."""
    name = model.lower()
    return next((rules for pattern, rules in MODELS if re.search(pattern, name)), "")
