"""The kinds of content: drawn from a seed, and what their names say."""

import json
import re
import unicodedata

import pytest

from pytest_ctxguard.tokens.corpus.kinds import DRAWN, kinds

WANTED = (
    "access-log", "ansi", "base64", "bidi", "code-c", "code-python", "code-rust", "code-sql",
    "code-typescript", "combining", "csv", "diff", "digits", "emoji", "emoji-joined", "hex",
    "html", "json-escaped", "json-minified", "log", "long-line", "mixed-scripts", "mojibake",
    "nfd", "percent-encoded", "private-use", "rare-han", "stack-trace-python", "table-box",
    "tsv", "urls", "uuid", "zero-width",
)  # fmt: skip


def test_every_kind_that_was_asked_for_is_there():
    assert set(WANTED) <= set(kinds())
    assert list(kinds()) == sorted(kinds())


@pytest.mark.parametrize("name", kinds())
def test_a_kind_is_a_few_hundred_characters_that_can_be_encoded(name):
    assert 180 <= len(kinds()[name]) <= 2500
    kinds()[name].encode("utf-8")


def test_another_seed_draws_others_and_the_same_one_the_same():
    assert kinds(seed=1) == kinds.__wrapped__(seed=1)
    fixed = set(kinds()) - set(DRAWN)
    assert len(fixed) >= 15
    made_of_the_corpus = {"full-width", "json-escaped", "mojibake", "nfd"}
    same = {name for name, text in kinds().items() if kinds(seed=1)[name] == text}
    assert fixed | made_of_the_corpus <= same
    assert same <= fixed | made_of_the_corpus | {"one-character"}


def test_kinds_are_what_they_are_called():
    found = kinds()
    for name in ("json-minified", "json-indented", "json-nested", "json-escaped", "embedding"):
        json.loads(found[name])
    assert " " not in found["json-minified"]
    assert json.loads(json.loads(json.loads(found["json-nested"])["arguments"])["body"])
    assert found["json-escaped"].isascii()
    assert re.fullmatch(r"[0-9a-f]+", found["hex"])
    assert re.fullmatch(r"[0-9A-Za-z+/]+=*", found["base64"])
    assert found["digits"].isdigit()
    assert "\n" not in found["long-line"]
    assert not unicodedata.is_normalized("NFC", found["nfd"])
    assert len(unicodedata.normalize("NFC", found["nfc-growing"])) > len(found["nfc-growing"])
    assert all(unicodedata.category(c) == "Co" for c in found["private-use"])
    assert all(unicodedata.name(c).startswith("CJK") for c in found["rare-han"])
    assert "\N{ZERO WIDTH JOINER}" in found["emoji-joined"]
    assert any(unicodedata.category(c) == "Mn" for c in found["combining"])
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" in found["bidi"]
    assert found["mojibake"].split("\n")[1].encode("latin-1").decode("utf-8").startswith("Во")
    scripts = {unicodedata.name(c).split()[0] for c in found["mixed-scripts"] if c.isalpha()}
    assert len(scripts) >= 15
