"""Where each message of a request came from."""

import copy

import pytest

from pytest_ctxguard.replay.origin import Origin, Values, trace, unchanged
from tests.factories import assistant, call, calling, result, session, system, user

HISTORY = session().messages


def origins(output, given=None, history=HISTORY):
    return trace(output, given if given is not None else copy.deepcopy(list(history)), history)[1]


def test_the_dicts_that_were_given_are_known_by_identity():
    twins = (user("same"), assistant("x"), user("same"))
    given = copy.deepcopy(list(twins))
    assert origins([given[2], given[0]], given, twins) == (Origin(2), Origin(0))


def test_equal_copies_are_known_and_repeats_keep_their_order():
    twins = (user("same"), assistant("x"), user("same"))
    assert origins([user("same"), user("same")], history=twins) == (Origin(0), Origin(2))
    assert origins([assistant("x"), user("same")], history=twins) == (Origin(1), Origin(2))
    assert origins([user("same")] * 3, history=twins) == (Origin(0), Origin(2), Origin(0))


def test_a_message_edited_in_place_is_edited():
    given = copy.deepcopy(list(HISTORY))
    given[1]["content"] = "cut"
    assert origins([given[1]], given) == (Origin(1, edited=True),)


def test_an_edited_tool_result_is_known_by_the_call_it_answers():
    output = [{**HISTORY[5], "content": "[cleared]"}, result("x", "another call")]
    assert origins(output) == (Origin(5, edited=True), Origin(None))


def test_an_edited_copy_of_anything_else_was_inserted():
    assert origins([user("My employee…"), system("Be brief.")]) == (Origin(None), Origin(None))


def test_key_order_makes_no_other_message():
    backwards = dict(reversed(HISTORY[4].items()))
    assert origins([backwards]) == (Origin(4),)


def test_values_that_json_does_not_know_are_no_obstacle():
    odd = {**user("x"), "extra": {1, 2}}
    assert origins([odd, copy.deepcopy(odd)], history=(odd,)) == (Origin(0), Origin(0))


def test_unchanged_messages_are_the_recorded_ones_and_others_are_copied():
    given = copy.deepcopy(list(HISTORY))
    inserted, edited = user("new"), {**HISTORY[5], "content": "[cleared]"}
    messages, _ = trace([given[0], dict(HISTORY[1]), inserted, edited], given, HISTORY)
    assert messages[0] is HISTORY[0]
    assert messages[1] is HISTORY[1]
    assert messages[2:] == (inserted, edited)
    inserted["content"] = edited["content"] = "changed later"
    assert [m["content"] for m in messages[2:]] == ["new", "[cleared]"]


def test_unchanged_means_the_same_messages_in_the_same_order():
    copies = copy.deepcopy(HISTORY)
    assert unchanged(copies, HISTORY)
    assert not unchanged(copies[:-1], HISTORY)
    assert not unchanged([*copies, user("more")], HISTORY)
    assert not unchanged([*copies[:6], copies[7], copies[6]], HISTORY)
    assert not unchanged([*copies[:-1], calling(call())], HISTORY)


def test_what_was_cut_for_good_is_known_by_value_or_by_its_call():
    cut = [HISTORY[7]]
    output = [dict(HISTORY[1]), {**HISTORY[5], "content": "[cleared]"}, result("x", "unknown")]
    _, found = trace(output, list(cut), cut, bases=[Origin(7)], uncut=HISTORY)
    assert found == (Origin(1), Origin(5, edited=True), Origin(None))


def test_origins_go_through_what_was_left_of_the_history():
    left = [user("a note"), HISTORY[5]]
    bases = [Origin(None), Origin(5)]
    given = copy.deepcopy(left)
    given[0]["content"] = "edited"
    given[1]["content"] = "[cleared]"
    _, found = trace(given, given, left, bases=bases)
    assert found == (Origin(None), Origin(5, edited=True))


def test_what_a_policy_makes_again_is_the_same_value():
    values = Values()
    first = {"role": "tool", "tool_call_id": "c1", "content": "[cleared]"}
    kept = values(first)
    assert kept == first
    assert kept is not first
    assert values(dict(first)) is kept
    first["content"] = "changed later"
    assert kept["content"] == "[cleared]"
    assert values(first)["content"] == "changed later"


@pytest.mark.parametrize(
    "other",
    [
        {"content": [1], "role": "user"},
        {"role": "user", "content": (1,)},
        {"role": "user", "content": [True]},
        {"role": "user", "content": [1.0]},
    ],
    ids=["order", "tuple", "true", "float"],
)
def test_values_differ_where_their_text_or_their_types_do(other):
    values = Values()
    kept = values({"role": "user", "content": [1]})
    made = values(other)
    assert made is not kept
    assert list(made) == list(other)
    assert repr(made) == repr(other)


def test_what_is_no_json_is_copied():
    values = Values()
    odd = {"role": "user", "content": {1, 2}}
    assert values(odd) == odd
    assert values(odd)["content"] is not odd["content"]


def test_an_edited_result_is_the_one_after_its_call_where_an_id_comes_again():
    history = (
        user("a"),
        calling(call("c1", page=1)),
        result("one", "c1"),
        calling(call("c1", page=2)),
        result("two", "c1"),
    )
    cleared = {**history[2], "content": "[cleared]"}
    sent = [history[0], history[1], cleared, history[3], history[4]]
    assert origins(sent, history=history) == (
        Origin(0), Origin(1), Origin(2, edited=True), Origin(3), Origin(4),
    )  # fmt: skip
