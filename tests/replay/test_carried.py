"""Whether a fact stands in a request, and which message it comes from."""

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.replay.carried import Carried, Sighting
from tests.factories import (
    assistant,
    call,
    calling,
    employee,
    replayed,
    result,
    session,
    shard,
    user,
)


def keep(*indices, add=()):
    """A policy that sends these messages of the history, what is added, and the last one."""

    def policy(messages):
        return [*(messages[i] for i in indices if i < len(messages) - 1), *add, messages[-1]]

    return policy


def sources(policy, fact, transcript=None):
    return replayed(policy, transcript).carried(fact).sources


def test_the_message_that_plants_it_is_the_original():
    assert sources(keep(0, 1), "employee") == ("original",)
    assert sources(keep(0, 4, 5), "shard") == ("original",)  # planted by a tool result


def test_an_original_that_was_shortened_is_the_original_still():
    def shorten(messages):
        return [{**m, "content": m["content"][:12]} if m["role"] == "tool" else m for m in messages]

    assert sources(shorten, "shard") == ("original", "echoed")


def test_the_assistant_echoes_it():
    assert sources(keep(0, 6), "shard") == ("echoed",)


def test_arguments_of_a_tool_call_echo_it():
    messages = (*session().messages[:7], calling(call(employee="4417")), user("And?"))
    transcript = session(messages=messages, facts=(employee(asked_at=None),))
    assert sources(keep(7), "employee", transcript) == ("echoed",)


def test_another_user_message_restates_it():
    messages = (*session().messages[:7], user("I am 4417, remember?"), user("Open it."))
    transcript = session(messages=messages, facts=(employee(asked_at=8),))
    assert sources(keep(7), "employee", transcript) == ("restated",)


def test_a_tool_result_repeats_what_a_user_planted():
    fact = shard(planted_at=1, asked_at=7)
    messages = (*session().messages[:1], user("pay-shard-7?"), *session().messages[2:])
    transcript = session(messages=messages, facts=(fact,))
    assert sources(keep(4, 5), "shard", transcript) == ("tool result",)


def test_what_the_policy_puts_into_a_system_message_is_pinned():
    notes = {"role": "system", "content": "Notes: employee 4417"}
    assert sources(keep(0, add=[notes]), "employee") == ("pinned",)
    developer = {"role": "developer", "content": "employee 4417"}
    assert sources(keep(add=[developer]), "employee") == ("pinned",)


def test_a_system_message_of_the_session_with_a_note_is_pinned():
    def pin(messages):
        head = {**messages[0], "content": messages[0]["content"] + "\nemployee: 4417"}
        return [head, messages[-1]]

    assert sources(pin, "employee") == ("pinned",)


def test_a_note_written_into_a_message_of_the_history_is_pinned_too():
    def scribble(messages):
        messages[0]["content"] += " Employee: 4417."
        return [messages[0], messages[-1]]

    assert sources(scribble, "employee") == ("pinned",)


def test_a_shortened_tool_result_is_a_tool_result_still():
    messages = (*session().messages[:5], result("4417: slow, slow"), *session().messages[6:])
    transcript = session(messages=messages, facts=(employee(),))

    def shorten(messages):
        return [{**m, "content": "4417"} for m in messages if m["role"] == "tool"] + messages[-1:]

    assert sources(shorten, "employee", transcript) == ("tool result",)


def test_the_planting_text_word_for_word_is_pinned_in_any_message():
    note = user("Earlier I said: My employee number is 4417. Go on.")
    assert sources(keep(add=[note]), "employee") == ("pinned",)


def test_other_text_of_the_policy_is_a_summary():
    assert sources(keep(add=[user("Summary: employee 4417 asks.")]), "employee") == ("summary",)
    assert sources(keep(add=[assistant("4417 it is.")]), "employee") == ("summary",)


def test_sources_are_named_from_the_most_direct():
    note = user("Summary: the shard is pay-shard-7.")
    assert sources(keep(4, 5, 6, add=[note]), "shard") == ("original", "echoed", "summary")


def test_an_accepted_form_carries_it_too():
    fact = employee(accepts=("4417", "number four"))
    transcript = session(facts=(fact,))
    assert sources(keep(add=[user("He is number four.")]), "employee", transcript) == ("summary",)
    assert sources(keep(add=[user("He is 44170.")]), "employee", transcript) == ()


def test_every_probe_and_every_call_since_planting_are_looked_at():
    carried = replayed(keep(0, 1)).carried("employee")
    assert carried == Carried(
        "employee",
        probes=((Sighting(1, "original"),),) * 2,
        calls=((Sighting(1, "original"),),) * 4,
        own_turn=1,
    )
    assert bool(carried) is carried.at("probe") is carried.at("every") is True


def test_calls_before_planting_are_not_asked_for():
    carried = replayed(lambda messages: messages).carried("shard")
    # planted in message 5: the calls with six and with eight messages of history
    assert [[sighting.message for sighting in call] for call in carried.calls] == [[5], [5, 6]]


def test_a_probe_without_it_is_enough_to_have_lost_it():
    calls = []

    def forget_at_the_second_probe(messages):
        calls.append(len(messages))
        return messages[2:] if messages[-1]["content"] == "Who opens the ticket?" else messages

    carried = replayed(forget_at_the_second_probe).carried("employee")
    assert [bool(probe) for probe in carried.probes] == [True, False]
    assert not carried
    assert not carried.at("probe")
    assert carried.at("every")


def test_a_call_without_it_is_not_carried_at_every_call():
    def forget_in_the_tool_loop(messages):
        return messages[-2:] if messages[-1]["role"] == "tool" else messages

    carried = replayed(forget_in_the_tool_loop).carried("employee")
    assert [bool(call) for call in carried.calls] == [True, True, False, True]
    assert carried
    assert not carried.at("every")


def test_a_place_that_is_not_to_be_had():
    with pytest.raises(UsageError) as caught:
        replayed(lambda messages: messages).carried("employee").at("always")
    assert str(caught.value) == ("at='always': a fact is looked for at 'probe' or at 'every' call")


def test_an_unknown_fact_is_a_usage_error():
    with pytest.raises(UsageError, match="no fact 'ticket'"):
        replayed(lambda messages: messages).carried("ticket")


def update(**changes):
    """The user moves to another shard in message 7, which the probe does not replace."""
    fields = {"name": "new", "value": "pay-shard-9", "kind": "update", "planted_at": 7}
    return shard(**{**fields, "supersedes": ("pay-shard-7",), **changes})


def moved(last="Now it is pay-shard-9.", facts=None):
    messages = (*session().messages[:7], user(last), assistant("pay-shard-9, then."))
    return session(messages=messages, facts=(update(),) if facts is None else facts)


def hop(**changes):
    """Who owns the shard: said in message 2, and of use only beside the shard."""
    fields = {"name": "owner", "value": "Ines", "planted_at": 2, "wordings": ("Whom to page?",)}
    fields = {**fields, "kind": "multi-hop", "links": ("shard",), "shape": r"[A-Z]\w+"}
    return shard(**{**fields, **changes})


def owned(*facts):
    said = assistant("Noted. Ines owns the slow one.")
    messages = (*session().messages[:2], said, *session().messages[3:])
    return session(messages=messages, facts=(hop(), shard(), employee(), *facts))


def test_an_older_value_is_looked_for_apart():
    carried = replayed(keep(0, 5, 7), moved()).carried("new")
    assert carried
    assert carried.older.probes == ((Sighting(1, "tool result"),),)
    forgot = replayed(keep(0, 6), moved()).carried("new")
    assert not forgot
    assert forgot.older.sources == ("echoed",)


def test_a_message_with_both_values_states_the_newer():
    transcript = moved("It moved from pay-shard-7 to pay-shard-9.")
    carried = replayed(keep(0, 7), transcript).carried("new")
    assert carried.older.probes == ((),)
    assert replayed(keep(0, 7), moved()).carried("new").older.probes == ((),)


def test_a_fact_that_supersedes_nothing_has_no_older_value():
    assert replayed(keep(0, 1)).carried("employee").older is None


def test_two_hops_are_carried_only_together():
    assert replayed(keep(2, 5), owned()).carried("owner")
    alone = replayed(keep(0, 2), owned()).carried("owner")
    assert not alone
    assert [bool(seen) for seen in alone.probes] == [True]
    assert [link.fact for link in alone.links] == ["shard"]
    assert alone.sources == ()
    assert not replayed(keep(0, 5), owned()).carried("owner")


def test_two_hops_are_looked_for_since_both_are_planted():
    carried = replayed(keep(0, 2), owned()).carried("owner")
    assert [bool(seen) for seen in carried.calls] == [True, True]
    assert [bool(seen) for seen in carried.requests("every")] == [True, False]


def test_a_hop_needs_what_its_hops_need_however_they_turn():
    badge = hop(name="badge", value="4417", shape=r"\d+", planted_at=1, links=("owner",))
    facts = (badge, hop(links=("badge", "shard")), shard())
    transcript = session(messages=owned().messages, facts=facts)
    assert {link.fact for link in replayed(keep(0), transcript).carried("badge").links} == {
        "owner",
        "shard",
    }
    assert replayed(keep(1, 2, 5), transcript).carried("badge")
    assert not replayed(keep(1, 2), transcript).carried("badge")


def test_later_are_the_calls_after_its_turn_and_the_probes():
    carried = replayed(keep(0, 1)).carried("employee")
    assert (len(carried.calls), carried.own_turn) == (4, 1)
    assert len(carried.requests("later")) == 3 + 2
    tool = replayed(keep(0, 1)).carried("shard")
    assert (len(tool.calls), tool.own_turn) == (2, 1)


def test_a_fact_is_found_by_its_own_match():
    fact = employee(value="4417", match="number")
    messages = (session().messages[0], user("Number 4,417."), *session().messages[2:])
    carried = replayed(keep(0, 1), session(messages=messages, facts=(fact,))).carried("employee")
    assert carried.sources == ("original",)
