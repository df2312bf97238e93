"""Tokenizers built from the vocabulary inside a GGUF file."""

import json

import pytest
from tokenizers import Tokenizer

from pytest_ctxguard.errors import ModelCorrupt, ModelError
from pytest_ctxguard.tokens.byte_bpe import PRE_TOKENIZERS, tokenizer_json
from tests.tokens.tiny_vocabulary import ID, MERGES, TOKENS, TYPES, tiny_json

SPLITS = {
    "smollm": {
        "ab12 3": ["ab", "1", "2", "Ġ", "3"],
        "it's 'S": ["it", "'s", "Ġ'", "S"],
        "a  b\n\n c": ["a", "Ġ", "Ġb", "ĊĊ", "Ġc"],
        "x½Ⅷ": ["x", "Â½", "âħ§"],
        "the, end": ["the", ",", "Ġend"],
    },
    "qwen2": {
        "ab12 3": ["ab", "1", "2", "Ġ", "3"],
        "it'S": ["it", "'S"],
        "(the": ["(the"],
        "a,\n\nb": ["a", ",ĊĊ", "b"],
    },
}


@pytest.mark.parametrize("pre", PRE_TOKENIZERS)
def test_where_text_is_split_before_merging(pre):
    splitter = Tokenizer.from_str(tiny_json(pre=pre)).pre_tokenizer
    for text, pieces in SPLITS[pre].items():
        assert [piece for piece, _ in splitter.pre_tokenize_str(text)] == pieces


def test_only_qwens_text_is_composed_first():
    composed, as_written = (
        Tokenizer.from_str(tiny_json(pre=pre)).encode("e\u0301", add_special_tokens=False).ids
        for pre in ("qwen2", "smollm")
    )
    assert (len(composed), len(as_written)) == (2, 3)


def test_tokens_keep_their_ids_and_merges_their_order():
    tokenizer = Tokenizer.from_str(tiny_json())
    assert tokenizer.get_vocab() == ID
    data = json.loads(tokenizer.to_str())
    assert [" ".join(merge) for merge in data["model"]["merges"]] == list(MERGES)
    assert tokenizer.encode(" the12").tokens == ["Ġthe", "1", "2"]
    special = {token["content"] for token in data["added_tokens"] if token["special"]}
    assert special == {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}


def test_tokens_that_are_never_used_are_left_out():
    tokens, types = [*TOKENS, "[PAD267]"], [*TYPES, 5]
    tokenizer = Tokenizer.from_str(tokenizer_json(tokens, types, merges=MERGES, pre="smollm"))
    assert tokenizer.token_to_id("[PAD267]") is None


def test_another_pre_tokenizer_is_refused():
    with pytest.raises(ModelError, match=r"'llama-bpe'; .* qwen2, smollm"):
        tokenizer_json(TOKENS, TYPES, merges=MERGES, pre="llama-bpe")


def test_types_for_other_tokens_are_corrupt():
    with pytest.raises(ModelCorrupt, match="267 tokens and 266 token types"):
        tokenizer_json(TOKENS, TYPES[1:], merges=MERGES, pre="qwen2")
