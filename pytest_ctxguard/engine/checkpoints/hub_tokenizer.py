"""Read tokenizer, chat template and stop ids from a folder in the hub's layout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_ctxguard.engine.checkpoints.layout import REMEDY
from pytest_ctxguard.errors import ModelCorrupt, ModelError
from pytest_ctxguard.tokens.hub_template import hub_template, read_text, token_text
from pytest_ctxguard.tokens.tokenizer_files import (
    TokenizerFiles,
    largest_id,
    parse_tokenizer,
)


def read_tokenizer(folder: Path, config: Mapping[str, Any], *, vocab: int) -> TokenizerFiles:
    """Read tokenizer, chat template and stop ids; ``config`` is what ``config.json`` says.

    Raises:
        ModelCorrupt: a file is broken or missing, or does not fit an embedding of ``vocab`` rows.
        ModelError: there is no chat template, or no token that ends an answer.
    """
    path = folder / "tokenizer.json"
    text = read_text(path)
    try:
        tokenizer = parse_tokenizer(text)
    except ModelCorrupt as error:
        raise ModelCorrupt(f"{path}: {error}") from error
    if largest_id(tokenizer) >= vocab:
        raise ModelCorrupt(
            f"{path}: it has the token id {largest_id(tokenizer)}; the embedding has {vocab} "
            f"rows. {REMEDY}"
        )
    settings_path = folder / "tokenizer_config.json"
    settings = read_json(settings_path) if settings_path.is_file() else {}
    template = hub_template(folder, settings)
    if template is None:
        raise ModelError(
            f"{folder}: it has no chat template, neither chat_template.jinja nor chat_template "
            "in tokenizer_config.json. Use an instruct model."
        )
    by_text = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    return TokenizerFiles(
        text,
        template,
        _stop_ids(folder, config, eos=by_text.get(token_text(settings.get("eos_token")))),
    )


def _stop_ids(folder: Path, config: Mapping[str, Any], *, eos: int | None) -> tuple[int, ...]:
    """Collect the ids that end an answer from wherever the folder states them."""
    path = folder / "generation_config.json"
    generation = read_json(path) if path.is_file() else {}
    ids: list[int] = []
    for stated in (generation.get("eos_token_id"), config.get("eos_token_id"), eos):
        ids += stated if isinstance(stated, list) else [stated] if isinstance(stated, int) else []
    if not ids:
        raise ModelError(
            f"{folder}: nothing says which token ends an answer (eos_token_id in "
            "generation_config.json or config.json, eos_token in tokenizer_config.json)."
        )
    return tuple(dict.fromkeys(ids))


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; raises ModelCorrupt."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelCorrupt(f"{path}: there is no such file. {REMEDY}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ModelCorrupt(f"{path}: not a JSON file ({error}). {REMEDY}") from error
    if not isinstance(data, dict):
        raise ModelCorrupt(f"{path}: not a JSON object. {REMEDY}")
    return data
