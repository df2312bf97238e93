"""Needles by position, by length and by number of look-alikes (report B1, B2, B9).

The figures that these tests hold are our model's; what they have in common with the report is said
in docs/field-notes.md.
"""

from __future__ import annotations

import pytest

from pytest_ctxguard import full_history


@pytest.mark.ctx_needle_recall(at_least=4, depth=0.0)
@pytest.mark.ctx_needle_recall(max_lost=0)
def test_three_positions(ctx_recall):
    ctx_recall(full_history, records=25, depths=(0.0, 0.5, 1.0), trials=8)


@pytest.mark.ctx_needle_recall(max_lost=0)
def test_three_lengths(ctx_recall):
    recall = ctx_recall(full_history, lengths=(1, 8, 50), trials=8)
    shortest, *_, longest = recall.cells
    assert shortest.hits > longest.hits


@pytest.mark.everything
@pytest.mark.ctx_needle_recall(at_least=28, depth=0.0)
@pytest.mark.ctx_needle_recall(at_least=16)
def test_b1_nine_positions(ctx_recall):
    recall = ctx_recall(full_history, records=25, depths=9, trials=32)
    misses = [trial for trial in recall.trials if not trial.answered]
    neighbours = [trial for trial in misses if trial.outcome == "neighbour"]
    assert 2 * len(neighbours) > len(misses), "most misses are another record's number"
    assert all(trial.carried for trial in recall.trials)


@pytest.mark.everything
@pytest.mark.ctx_needle_recall(at_least=18, records=1)
@pytest.mark.ctx_needle_recall(at_least=14, records=8)
@pytest.mark.ctx_needle_recall(at_least=3)
def test_b2_seven_lengths(ctx_recall):
    recall = ctx_recall(full_history, lengths=(1, 3, 8, 25, 50, 90, 140), trials=20)
    assert recall.effective_length(0.85).length < 140, "it falls long before the window is full"


@pytest.mark.everything
@pytest.mark.ctx_needle_recall(at_least=16)
def test_b9_look_alikes_not_length(ctx_recall):
    alone = ctx_recall(full_history, records=25, look_alikes=0, trials=32, name="none")
    among = ctx_recall(full_history, records=25, trials=32, name="all")
    assert alone.cells[0].hits > among.cells[0].hits
