"""The corpus is what it says: its languages, scripts, lengths and tokens per character."""

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from pytest_ctxguard.tokens.corpus.texts import corpus, scripts

DATA = Path(__file__).parents[4] / "shared" / "data"
MEASURED = DATA / "measurements" / "fertility_udhr_115.json"
DECLARATION = DATA / "scripts" / "udhr_parallel.jsonl"
LETTERS = {
    "Canadian_Aboriginal": ("CANADIAN SYLLABICS",),
    "Han": ("CJK UNIFIED IDEOGRAPH",),
    "Japanese": ("CJK UNIFIED IDEOGRAPH", "HIRAGANA", "KATAKANA"),
}
# Tags of ours that the measurements spell otherwise.
TAGS = {"de": "de-1996", "el": "el-monoton", "mn": "mn-Cyrl", "ug": "ug-Arab", "zh-Hans": "zh"}
CLOSE = 0.15

each = pytest.mark.parametrize("text", corpus(), ids=[text.language for text in corpus()])
beside = pytest.mark.skipif(not MEASURED.is_file(), reason="the measurements are not beside us")


def measured():
    """Return tag -> tokens per character of the Declaration, as counted for Qwen2.5."""
    rows = map(json.loads, DECLARATION.read_text(encoding="utf-8").splitlines())
    tags = {row["lang"]: row["bcp47"] for row in rows}
    counts = json.loads(MEASURED.read_text(encoding="utf-8"))
    return {tags[row["lang"]]: row["qwen"] / row["chars"] for row in counts}


def test_it_has_forty_languages_and_twenty_five_scripts():
    assert len({text.language for text in corpus()}) == len(corpus()) >= 40
    assert len(scripts()) >= 25


def test_it_says_how_sure_it_is_of_each_language():
    sure = Counter(text.sure for text in corpus())
    assert set(sure) == {"good", "fair", "poor"}
    assert sure["poor"] < len(corpus()) / 5


@each
def test_a_text_is_a_few_hundred_characters_of_its_script(text):
    letters = [c for c in text.text if unicodedata.category(c).startswith("L")]
    names = LETTERS.get(text.script, (text.script.upper(),))
    own = sum(unicodedata.name(letter, "").startswith(names) for letter in letters)
    assert own >= 0.9 * len(letters)
    assert 180 <= len(text.text) <= 500


@each
def test_a_text_is_normalised_but_for_letters_that_nfc_takes_apart(text):
    composed = unicodedata.normalize("NFC", text.text)
    assert composed == text.text or text.language in ("yi", "pa", "hi")


@beside
@each
def test_tokens_per_character_are_those_of_the_language_or_the_reason_is_given(text, encoder):
    reference = measured().get(TAGS.get(text.language, text.language))
    if reference is None:
        assert not text.note
        return
    share = len(encoder.encode_text(text.text)) / len(text.text)
    assert bool(text.note) is (abs(share / reference - 1) > CLOSE), share / reference


@beside
def test_most_languages_can_be_compared():
    known = measured()
    compared = [text for text in corpus() if TAGS.get(text.language, text.language) in known]
    assert len(compared) >= 58


@beside
def test_no_sentence_is_of_the_declaration():
    rows = map(json.loads, DECLARATION.read_text(encoding="utf-8").splitlines())
    declared = {sentence for row in rows for sentence in sentences(row["text"])}
    assert len(declared) > 1000
    ours = {sentence for text in corpus() for sentence in sentences(text.text)}
    assert not ours & declared


def sentences(text):
    parts = re.split(r"[.。।།։።᠃\n]|၊|\u06d4", text)
    return {part.strip() for part in parts if len(part.strip()) > 4}
