"""The chat template of a folder in the hub's layout, wherever it keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_ctxguard.errors import ModelCorrupt, ModelError
from pytest_ctxguard.tokens.tokenizer_files import name_special_tokens

TEMPLATE_FILE = "chat_template.jinja"
SETTINGS_FILE = "tokenizer_config.json"


def hub_template(folder: Path, settings: Mapping[str, Any]) -> str | None:
    """Return a folder's chat template, the special tokens that it names set; ``None``: it has none.

    A file of its own wins over the one in the tokenizer's settings.

    Args:
        folder: where ``tokenizer.json`` lies.
        settings: what ``tokenizer_config.json`` says.

    Raises:
        ModelCorrupt: its file cannot be read.
        ModelError: it cannot be compiled.
    """
    path = folder / TEMPLATE_FILE
    template = read_text(path) if path.is_file() else settings.get("chat_template")
    if isinstance(template, list):  # several, by name
        entries = [entry for entry in template if isinstance(entry, dict)]
        template = {entry.get("name"): entry.get("template") for entry in entries}.get("default")
    if not isinstance(template, str) or not template:
        return None
    named = {key: token_text(settings.get(key)) for key in ("bos_token", "eos_token", "pad_token")}
    try:
        return name_special_tokens(template, {key: text for key, text in named.items() if text})
    except ModelError as error:
        raise ModelError(f"{folder}: {error}") from error


def token_text(value: Any) -> str:
    """Return a special token's text; it is stored as text, or as an object with its flags."""
    if isinstance(value, Mapping):
        value = value.get("content")
    return value if isinstance(value, str) else ""


def read_text(path: Path) -> str:
    """Read a text file of a tokenizer; raises ModelCorrupt."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelCorrupt(
            f"{path}: cannot be read ({error}). It belongs to a tokenizer; download it again."
        ) from error
