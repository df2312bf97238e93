"""What a model brings for its tokens: tokenizer, chat template, and the ids that end an answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.errors import ModelCorrupt, ModelError
from pytest_ctxguard.tokens.chat_template import qwen_template
from pytest_ctxguard.tokens.request import END_TOKENS
from pytest_ctxguard.tokens.vocabulary import load_tokenizer

QWEN_TEMPLATE_SHA256 = "55b2f4a26ac9ee719330a61a0c39d9e538b0e9322212f048326318cff4f8674a"
"""Of the chat template in Qwen2.5's instruct models, outer white space stripped; ours is written
anew and renders the same."""


@dataclass(frozen=True, slots=True)
class TokenizerFiles:
    """The tokenizer of a model.

    Attributes:
        tokenizer_json: a ``tokenizer.json`` of the ``tokenizers`` runtime.
        chat_template: the Jinja source of its chat template.
        stop_ids: the token ids that end an answer.
    """

    tokenizer_json: str
    chat_template: str
    stop_ids: tuple[int, ...]


def parse_tokenizer(text: str) -> dict[str, Any]:
    """Parse a ``tokenizer.json``; raises ModelCorrupt."""
    try:
        data = json.loads(text)
        if not isinstance(data["model"], dict) or not isinstance(data["added_tokens"], list):
            raise TypeError("`model` is no object, or `added_tokens` no list")
        for token in data["added_tokens"]:
            if not isinstance(token["content"], str) or not isinstance(token["id"], int):
                raise TypeError("an added token has no text or no id")
    except (ValueError, KeyError, TypeError) as error:
        raise ModelCorrupt(
            f"the model's tokenizer.json is not one ({type(error).__name__}: {error}). "
            "Fetch the model again."
        ) from error
    return dict(data)


def largest_id(tokenizer: Mapping[str, Any]) -> int:
    """Return the largest token id of a parsed ``tokenizer.json``."""
    vocabulary = tokenizer["model"].get("vocab") or {}
    ids = vocabulary.values() if isinstance(vocabulary, dict) else range(len(vocabulary))
    return max((*ids, *(token["id"] for token in tokenizer["added_tokens"])), default=0)


def is_qwen(files: TokenizerFiles) -> bool:
    """Tell whether this is Qwen2.5's own tokenizer and template, which this package carries."""
    if not _is_qwen_template(files.chat_template):
        return False
    ours = load_tokenizer()
    if set(files.stop_ids) != {ours.token_to_id(token) for token in END_TOKENS}:
        return False
    tokenizer = parse_tokenizer(files.tokenizer_json)
    if tokenizer["model"].get("type") != "BPE":
        return False
    return _essence(tokenizer) == _essence(json.loads(ours.to_str()))


def _is_qwen_template(source: str) -> bool:
    digest = hashlib.sha256(source.strip().encode("utf-8", "surrogatepass")).hexdigest()
    return digest == QWEN_TEMPLATE_SHA256 or source == qwen_template()


def _essence(tokenizer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the ids; files differ in spelling and in flags without effect."""
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    model = tokenizer["model"]
    splits = (tokenizer.get("pre_tokenizer") or {}).get("pretokenizers") or []
    return {
        "added": added,
        "normalizer": (tokenizer.get("normalizer") or {}).get("type"),
        "splits": [
            (split.get("type"), split.get("pattern"), split.get("use_regex")) for split in splits
        ],
        "vocabulary": {t: n for t, n in model["vocab"].items() if t not in added},
        "merges": [m.split(" ") if isinstance(m, str) else m for m in model["merges"]],
        "ignore_merges": model.get("ignore_merges", False),
    }


def name_special_tokens(template: str, tokens: Mapping[str, str]) -> str:
    """Set the special tokens that a template reads by name (``bos_token`` …) at its top.

    A template is rendered by whoever has it, who then needs nothing else of the model.
    """
    from jinja2 import TemplateError, meta
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(extensions=["jinja2.ext.loopcontrols"])
    try:
        read = meta.find_undeclared_variables(environment.parse(template))
    except TemplateError as error:
        raise ModelError(
            f"the model's chat template cannot be read ({error}). This package runs templates "
            "in plain Jinja2 with loop controls."
        ) from error
    named = [(name, token) for name, token in sorted(tokens.items()) if name in read]
    setting = "".join(f"{{%- set {name} = {json.dumps(token)} -%}}" for name, token in named)
    return setting + template
