"""A forest of entries, each with the one it follows."""

from pytest_ctxguard.transcript.readers.branches import departures, histories


def test_a_list_is_one_history():
    assert histories([None, 0, 1], [True] * 3) == ((0, 1, 2),)


def test_a_fork_is_two_histories_that_begin_alike():
    ways = histories([None, 0, 1, 0, 3], [True] * 5)
    assert ways == ((0, 1, 2), (0, 3, 4))
    assert departures(ways) == (3,)


def test_two_roots():
    ways = histories([None, None, 0], [True] * 3)
    assert ways == ((0, 2), (1,))
    assert departures(ways) == (1,)


def test_what_says_nothing_makes_no_history_and_stays_out_of_the_end():
    assert histories([None, 0, 1, 1], [True, True, False, False]) == ((0, 1),)


def test_what_says_nothing_stays_on_the_way():
    assert histories([None, 0, 1], [True, False, True]) == ((0, 1, 2),)


def test_nothing_said():
    assert histories([None, 0], [False, False]) == ()
