"""How fast, and how long still: from a clock that is handed in."""

from __future__ import annotations

import pytest

from pytest_ctxguard.progress import Pace, rate


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_it_is_told_from_what_was_done_under_the_label(clock):
    pace = Pace(clock)
    assert pace("asking", 100, 288) == ""
    clock.now = 4.0
    assert pace("asking", 108, 288) == "2.0/s, 1:30 left"
    clock.now = 200.0
    assert pace("other", 0, 10) == ""
    clock.now = 210.0
    assert pace("other", 5, 10) == "30.0/min, 0:10 left"


def test_the_same_work_once_more_starts_anew(clock):
    pace = Pace(clock)
    pace("asking", 0, 10)
    clock.now = 100.0
    pace("asking", 10, 10)
    assert pace("asking", 0, 10) == ""
    clock.now = 101.0
    assert pace("asking", 2, 10) == "2.0/s, 0:04 left"


def test_nothing_is_left_at_the_end_and_nothing_known_without_time(clock):
    pace = Pace(clock)
    pace("asking", 0, 2)
    assert pace("asking", 1, 2) == ""
    clock.now = 1.0
    assert pace("asking", 2, 2) == ""


@pytest.mark.parametrize(
    ("per_second", "text"),
    [(12.34, "12.3/s"), (1.0, "1.0/s"), (0.5, "30.0/min"), (0.01, "0.6/min")],
)
def test_a_slow_rate_is_by_the_minute(per_second, text):
    assert rate(per_second) == text
