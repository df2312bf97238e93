"""Build a tokenizer for the ``tokenizers`` runtime from the vocabulary inside a GGUF file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pytest_ctxguard.errors import ModelCorrupt, ModelError
from pytest_ctxguard.tokens.vocabulary import SPLIT

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4  # token types; others (unused, byte) are never encoded

BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": False,
}

# Each name stands for a normalizer and the splits before the merges. "smollm" takes digits one
# by one, then GPT-2's pattern, which is the runtime's own.
PRE_TOKENIZERS: dict[str, tuple[dict[str, Any] | None, list[dict[str, Any]]]] = {
    "qwen2": (
        {"type": "NFC"},
        [
            {
                "type": "Split",
                "pattern": {"Regex": SPLIT},
                "behavior": "Isolated",
                "invert": False,
            },
            BYTE_LEVEL,
        ],
    ),
    "smollm": (
        None,
        [{"type": "Digits", "individual_digits": True}, {**BYTE_LEVEL, "use_regex": True}],
    ),
}


def tokenizer_json(
    tokens: Sequence[str], types: Sequence[int], *, merges: Sequence[str], pre: str
) -> str:
    """Return the ``tokenizer.json`` of a byte-level BPE vocabulary.

    ``tokens`` are in the order of their ids, ``types`` say what each is, ``merges`` are pairs
    joined by a space, and ``pre`` names the pre-tokenizer.

    Raises:
        ModelError: the pre-tokenizer is none this package knows.
        ModelCorrupt: the parts do not fit together.
    """
    if pre not in PRE_TOKENIZERS:
        raise ModelError(
            f"the pre-tokenizer is {pre!r}; this package builds {', '.join(PRE_TOKENIZERS)} from "
            "a GGUF file. A safetensors folder of the same model brings its own tokenizer.json."
        )
    if len(tokens) != len(types):
        raise ModelCorrupt(
            f"the vocabulary has {len(tokens)} tokens and {len(types)} token types. "
            "Fetch the file again."
        )
    normalizer, splits = PRE_TOKENIZERS[pre]
    kept = (NORMAL, CONTROL, USER_DEFINED)
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": _added(tokens, types),
            "normalizer": normalizer,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": splits},
            "post_processor": None,
            "decoder": {**BYTE_LEVEL, "use_regex": True},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": False,
                "vocab": {
                    token: id_
                    for id_, (token, kind) in enumerate(zip(tokens, types, strict=True))
                    if kind in kept
                },
                "merges": [merge.split(" ", 1) for merge in merges],
            },
        },
        ensure_ascii=False,
    )


def _added(tokens: Sequence[str], types: Sequence[int]) -> list[dict[str, Any]]:
    return [
        {
            "id": id_,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": kind == CONTROL,
        }
        for id_, (token, kind) in enumerate(zip(tokens, types, strict=True))
        if kind in (CONTROL, USER_DEFINED)
    ]
