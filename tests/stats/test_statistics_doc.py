"""The tables of docs/statistics.md are what the functions compute."""

from bisect import bisect_left
from pathlib import Path

import pytest

from pytest_ctxguard.stats import RateClaim, least_trials, needed_trials, unchanged_needs
from pytest_ctxguard.stats.binomial import significant
from pytest_ctxguard.stats.noninferiority import p_above, p_below

DOCS = Path(__file__).parents[2] / "docs" / "statistics.md"
RATES = (0.5, 2 / 3, 0.75, 0.8, 5 / 6, 0.9, 0.95)
MARGINS = (0.05, 0.1, 0.15, 0.2, 0.3)
SIZES = (32, 100)


def rate_rows():
    for rate in RATES:
        cells = [f"{rate:.3g}", str(least_trials(rate))]
        for n in SIZES:
            claim = RateClaim(rate, n)
            passes = "never" if claim.passes_at is None else f"{claim.passes_at}"
            cells.append(f"{passes} / {claim.fails_at}")
        half = 1 - (1 - rate) / 2
        cells += [f"{half:.3g}", str(needed_trials(rate, true_rate=half))]
        yield "| " + " | ".join(cells) + " |"


def most_lost(n, margin):
    def passes(lost):
        return significant(p_below(lost, 0, of=n, margin=margin), 0.05)

    def fails(lost):
        return significant(p_above(lost, 0, of=n, margin=margin), 0.05)

    beyond = bisect_left(range(n), True, key=lambda lost: not passes(lost))
    return f"{beyond - 1 if beyond else 'never'} / {bisect_left(range(n), True, key=fails)}"


def margin_rows():
    for margin in MARGINS:
        lost = (most_lost(n, margin) for n in SIZES)
        yield f"| {margin} | {unchanged_needs(margin)} | " + " | ".join(lost) + " |"


@pytest.mark.parametrize("rows", [rate_rows, margin_rows])
def test_the_tables_are_computed(rows):
    text = DOCS.read_text(encoding="utf-8")
    expected = "\n".join(rows())
    assert expected in text, f"the table should read:\n{expected}"
