"""The buckets of a whole session."""

from pytest_ctxguard.tokens.bucket_use import BucketUse, CallBuckets, Overtaking
from pytest_ctxguard.tokens.buckets import Buckets


def use(*tokens, turns=None, resent=None):
    turns, resent = turns or [1] * len(tokens), resent or [0] * len(tokens)
    rows = zip(range(len(tokens)), turns, tokens, resent, strict=True)
    return BucketUse(tuple(CallBuckets(*row) for row in rows))


def overtakings(*tokens, turns=None):
    return [
        (each.bucket, each.other, each.turn, each.call)
        for each in use(*tokens, turns=turns).overtakings
    ]


def test_what_is_billed_and_how_much_of_it_was_resent():
    found = use(Buckets(1, 9, 0, 10), Buckets(1, 9, 5, 15), resent=[0, 20])
    assert found.billed == Buckets(2, 18, 5, 25)
    assert found.resent == 20
    assert found.growth == 20 / 50


def test_turns_hold_their_own_calls():
    found = use(Buckets(1, 0, 0, 1), Buckets(1, 0, 0, 2), Buckets(1, 0, 0, 3), turns=[1, 1, 2])
    assert [[call.call for call in turn.calls] for turn in found.turns] == [[0, 1], [2]]
    assert found.turns[0].billed == Buckets(2, 0, 0, 3)


def test_a_bucket_overtakes_another_at_the_first_call_at_which_it_is_larger():
    found = use(
        Buckets(0, 9, 0, 1), Buckets(0, 9, 9, 2), Buckets(0, 9, 10, 9), turns=[1, 4, 5]
    ).overtakings
    assert found == (
        Overtaking("tool_results", "conversation", turn=4, call=1),
        Overtaking("tool_results", "tools", turn=5, call=2),
    )


def test_what_was_larger_from_the_start_overtakes_nothing():
    assert overtakings(Buckets(0, 9, 0, 20), Buckets(0, 9, 1, 30)) == []


def test_a_bucket_without_tokens_is_not_overtaken():
    assert overtakings(Buckets(0, 0, 0, 1), Buckets(0, 0, 5, 6), Buckets(0, 0, 6, 6)) == []
    assert overtakings(Buckets(0, 0, 0, 1), Buckets(0, 0, 5, 1)) == [
        ("tool_results", "conversation", 1, 1)
    ]


def test_one_that_was_overtaken_may_overtake_in_turn():
    led, behind = Buckets(0, 9, 1, 0), Buckets(0, 9, 12, 0)
    assert overtakings(led, behind, led, behind) == [
        ("tool_results", "tools", 1, 1),
        ("tools", "tool_results", 1, 2),
    ]
