"""What a counter says of itself."""

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.exactness import approximate_note, approximation, exactness
from tests.factories import ApproximateLetters, LetterCounter, encoder


def test_a_counter_that_says_nothing_is_taken_for_exact():
    assert exactness(LetterCounter()) == (True, "said by its owner")
    assert approximation(LetterCounter()) == approximate_note(LetterCounter()) == ""


def test_the_default_counter_is_exact():
    assert exactness(encoder()).exact


def test_one_that_approximates_says_why():
    counter = ApproximateLetters()
    assert exactness(counter) == (False, "letters are no tokens")
    assert approximation(counter) == "approximate counts by letters: letters are no tokens"
    assert approximate_note(counter) == "; approximate, by letters"


@pytest.mark.parametrize(("exact", "why"), [("no", "x"), (False, ""), (True, 3), (0, "x")])
def test_a_counter_must_say_it_plainly(exact, why):
    counter = LetterCounter()
    counter.exact, counter.why = exact, why
    with pytest.raises(UsageError, match="exact is a bool"):
        exactness(counter)
