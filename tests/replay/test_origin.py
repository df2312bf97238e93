"""Where each message of a request came from."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.replay.history import Originals
from pytest_ctxguard.replay.origin import Index, Origin, Values, trace
from pytest_ctxguard.transcript.model import Transcript
from tests.factories import (
    LetterCounter,
    assistant,
    call,
    calling,
    result,
    session,
    system,
    user,
)

HISTORY = session().messages


def traced(output, given=None, history=HISTORY, **options):
    given = copy.deepcopy(list(history)) if given is None else given
    options = {
        "changed": [i for i, message in enumerate(given) if message != history[i]],
        "bases": [Origin(i) for i in range(len(history))],
        "index": lambda: Index().of(history),
        "value": copy.deepcopy,
        **options,
    }
    return trace(output, given, history, **options)


def origins(output, given=None, history=HISTORY):
    return traced(output, given, history)[1]


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
    messages, _ = traced([given[0], dict(HISTORY[1]), inserted, edited], given)
    assert messages[0] is HISTORY[0]
    assert messages[1] is HISTORY[1]
    assert messages[2:] == (inserted, edited)
    inserted["content"] = edited["content"] = "changed later"
    assert [m["content"] for m in messages[2:]] == ["new", "[cleared]"]


def test_what_was_cut_for_good_is_known_by_value_or_by_its_call():
    cut = [HISTORY[7]]
    output = [dict(HISTORY[1]), {**HISTORY[5], "content": "[cleared]"}, result("x", "unknown")]
    _, found = traced(output, history=cut, bases=[Origin(7)], uncut=HISTORY)
    assert found == (Origin(1), Origin(5, edited=True), Origin(None))


def test_origins_go_through_what_was_left_of_the_history():
    left = [user("a note"), HISTORY[5]]
    bases = [Origin(None), Origin(5)]
    given = copy.deepcopy(left)
    given[0]["content"] = "edited"
    given[1]["content"] = "[cleared]"
    _, found = traced(given, given, left, bases=bases)
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


def plainly(output, given, history):
    """Find origins by the rules alone: each message compared with all, nothing remembered."""
    found, last = [], -1
    for message in output:
        same = [i for i, each in enumerate(given) if each is message]
        equal = [i for i, each in enumerate(history) if each == message]
        tool = message["role"] == "tool"
        results = [
            i
            for i, each in enumerate(history)
            if tool and each["role"] == "tool" and each["tool_call_id"] == message["tool_call_id"]
        ]
        places = same or [i for i in equal if i > last][:1] or equal[:1] or results[-1:]
        if not same and last + 1 in results:  # the next one is meant, where an id comes again
            places = [last + 1]
        if not places:
            found.append(Origin(None))
            continue
        last = places[0]
        found.append(Origin(last, edited=message != history[last]))
    return tuple(found)


TWINS = (user("go on"), assistant("done"), calling(call("c1")), result("ok", "c1"), user("stop"))


@given(data=st.data(), history=st.lists(st.sampled_from(TWINS), min_size=1, max_size=9))
def test_origins_are_those_that_comparing_everything_finds(data, history):
    transcript = Transcript(name="twins", messages=tuple(map(copy.deepcopy, history)))
    originals = Originals(transcript, LetterCounter())
    for _ in range(4):  # what is remembered of one call must change nothing at the next
        length = data.draw(st.integers(1, len(history)))
        view = originals.view(transcript.messages[:length], None)
        handed = originals.hand(view)
        made = [result("cut", "c1"), result("cut", "c9"), user("note"), *map(dict, handed)]
        begins = data.draw(st.integers(0, length))
        output = [
            *handed[:begins],
            *data.draw(st.lists(st.sampled_from([*handed, *made]), max_size=9)),
        ]
        if data.draw(st.booleans()):
            data.draw(st.sampled_from(handed))["content"] = "edited in place"
        expected = plainly(output, handed, view.messages)
        sent = copy.deepcopy(output)
        messages, found = trace(
            output,
            handed,
            view.messages,
            changed=originals.changed(view, handed),
            bases=view.origins,
            index=lambda view=view: originals.index(view),
            value=originals.value,
        )
        assert found == expected
        assert list(messages) == sent
