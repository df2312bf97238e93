"""A counter from any ``tokenizer.json``, with the chat template beside it if there is one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ctxguard.errors import ModelCorrupt, UsageError
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.tokens.counters.functions import definitions, texts
from pytest_ctxguard.tokens.growing import Sum
from pytest_ctxguard.tokens.hub_template import SETTINGS_FILE, hub_template, read_text
from pytest_ctxguard.tokens.model_encoder import ModelEncoder
from pytest_ctxguard.tokens.pieces import encode_plain
from pytest_ctxguard.tokens.tokenizer_files import TokenizerFiles, parse_tokenizer
from pytest_ctxguard.transcript.messages import Message

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER_FILE = "tokenizer.json"
PER_MESSAGE = 4
"""Tokens that frame a message where no template says it; those of most are 3 to 5."""
REMEMBERED_TEXTS = 1 << 16


class ContentCounter:
    """Counts the texts of a request with a tokenizer, and a fixed number of tokens a message.

    Attributes:
        name: the tokenizer, with a hash of its file.
    """

    exact = False
    why = (
        f"there is no chat template beside the tokenizer; a message is framed by {PER_MESSAGE} "
        "tokens, and tools are JSON"
    )

    def __init__(self, tokenizer_json: str, *, name: str) -> None:
        self.name = f"{name} (tokenizers runtime, {_digest(tokenizer_json)}, no chat template)"
        self._tokenizer = _load(tokenizer_json)
        self.count_text = lru_cache(maxsize=REMEMBERED_TEXTS)(self._count_text)

    def count(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> int:
        """Return the tokens of the texts, and of what is taken to frame each message."""
        parts = self.sum_of(tools=tools)
        total = parts.frame + sum(parts.message(message, {}) for message in messages)
        return total if generation_prompt else total - PER_MESSAGE

    def sum_of(self, *, tools: Sequence[Mapping[str, Any]]) -> Sum:
        """Return what the tokens of requests with these tools are the sum of."""
        frame = PER_MESSAGE + self.count_text(definitions(tools)) if tools else 0
        return Sum(
            PER_MESSAGE + frame,
            lambda message, _: PER_MESSAGE + sum(map(self.count_text, texts(message))),
        )

    def _count_text(self, text: str) -> int:
        return len(encode_plain(self._tokenizer, text))


def tokenizer_counter(path: Path) -> Counter:
    """Return a counter from a ``tokenizer.json``, or from the folder it lies in.

    Args:
        path: the file, or a folder in the hub's layout.

    Raises:
        UsageError: there is no such file.
        ModelCorrupt: it is no tokenizer.
        ModelError: its chat template cannot be run here.
    """
    file = path / TOKENIZER_FILE if path.is_dir() else path
    if not file.is_file():
        raise UsageError(f"{file}: there is no such tokenizer file")
    text, name = read_text(file), file.parent.name or file.stem
    try:
        parse_tokenizer(text)
    except ModelCorrupt as error:
        raise ModelCorrupt(f"{file}: {error}") from error
    template = hub_template(file.parent, _settings(file.parent / SETTINGS_FILE))
    if template is None:
        return ContentCounter(text, name=name)
    return ModelEncoder(TokenizerFiles(text, template, stop_ids=()), name=name)


def _settings(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        settings = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ModelCorrupt(f"{path}: not a JSON file ({error}). Download it again.") from error
    if not isinstance(settings, dict):
        raise ModelCorrupt(f"{path}: not a JSON object. Download it again.")
    return settings


def _load(text: str) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # the runtime raises bare Exception for a broken file
        raise ModelCorrupt(f"it is no tokenizer.json ({error}). Download it again.") from error
    tokenizer.encode_special_tokens = True  # what content spells is data
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
