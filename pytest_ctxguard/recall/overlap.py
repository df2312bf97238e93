"""Whether a wording shares words with the message that plants its fact.

A question in the message's own words is answered by finding those words again; one in other
words takes more, and measures more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from pytest_ctxguard.recall.phrases import Language, languages

RUNS = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
"""Kana, Han and Hangul: without spaces, or with particles written onto the words."""
HIRAGANA = r"[\u3040-\u309f]"
MARKS = r"\u0300-\u036f\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
"""Accents and vowel signs, which a word goes on after."""
WORD = re.compile(rf"{RUNS}|(?:(?!{RUNS})(?:[^\W_]|[{MARKS}]))+")
STEM, SHORT, ENDING = 5, 3, 2


def shared_words(wording: str, planted: str) -> tuple[str, ...]:
    """Return the content words of a wording that stand in another text, too.

    Words are compared without case. Two are the same if their first five letters are, or if one
    of three or four letters begins the other, which has at most two more: that joins most endings
    (``file``, ``filed``; ``номер``, ``номером``), and now and then two words that have nothing in
    common: rather too many than too few, so that no wording is called free of overlap that is
    not. In Chinese,
    Japanese and Korean, each pair of neighbouring characters stands for a word. Stop words and
    single letters do not count; they are those of the language of which the two texts have most,
    of every language whose words are written apart where they have none.

    Args:
        wording: the question.
        planted: the text of the message that plants the fact.
    """
    asked, said = list(_words(wording)), set(_words(planted))
    stop = _stop_words({*asked, *said})
    there = {word for word in said if _counts(word, stop)}
    found = [
        word
        for word in dict.fromkeys(asked)
        if _counts(word, stop) and any(_same(word, other) for other in there)
    ]
    return tuple(found)


def _words(text: str) -> Iterator[str]:
    for run in WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if re.fullmatch(RUNS, run) and len(run) > 1:
            yield from (run[i : i + 2] for i in range(len(run) - 1))
        else:
            yield run


def _stop_words(words: set[str]) -> frozenset[str]:
    """Return what does not count: one language's words, and the characters of those without."""
    apart = [language for language in languages() if language.spaces]
    most = max(apart, key=lambda language: len(words & language.stop_words))
    chosen: list[Language] = [most] if words & most.stop_words else apart
    chosen += [language for language in languages() if not language.spaces]
    return frozenset().union(*(language.stop_words for language in chosen))


def _counts(word: str, stop: frozenset[str]) -> bool:
    if re.fullmatch(RUNS, word):  # a pair
        return word not in stop and not any(c in stop or re.match(HIRAGANA, c) for c in word)
    return len(word) > 1 and word not in stop


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    stem = min(len(one), len(other), STEM)
    alike = stem >= SHORT and one[:stem] == other[:stem]
    return alike and (stem == STEM or abs(len(one) - len(other)) <= ENDING)
