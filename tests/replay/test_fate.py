"""What became of a fact when summaries took the place of its message."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.noted_compaction import NotedCompaction
from pytest_ctxguard.policies.summary_compaction import SummaryCompaction
from pytest_ctxguard.replay.fate import Told
from tests.factories import assistant, employee, replayed, session, system, user
from tests.summarising import long_session

BUDGET = 300


def compacted(answer, *, policy=SummaryCompaction, transcript=None, budget=BUDGET):
    def summarise(shown):
        return answer(shown) if callable(answer) else answer

    transcript = transcript or long_session()
    return replayed(policy, transcript, budget=budget, summariser=summarise)


def states(fate):
    return [told.state for told in fate.summaries]


def test_a_fact_that_every_summary_keeps():
    fate = compacted("The number is 4417.").fate("employee")
    assert fate.fact == "employee"
    assert fate.state == "kept"
    assert set(states(fate)) == {"kept"}
    assert len(fate.summaries) > 2


def test_a_fact_that_the_first_summary_drops_is_never_shown_to_the_next():
    fate = compacted("They talked.").fate("employee")
    assert fate.state == "shown and dropped"
    assert states(fate)[:3] == ["shown and dropped", "never shown", "never shown"]


def test_a_fact_that_a_later_summary_drops():
    asked = []

    def forgets(shown):
        asked.append(shown)
        return "The number is 4417." if len(asked) == 1 else f"Talk number {len(asked)}."

    fate = compacted(forgets).fate("employee")
    assert fate.state == "shown and dropped"
    assert states(fate)[:3] == ["kept", "shown and dropped", "never shown"]


def test_a_message_that_was_cut_away_before_anything_was_summarised():
    def cuts_first(messages, *, summarise):
        if len(messages) < 4:
            return list(messages)
        return [user(summarise(messages[3:-1]) or ""), messages[-1]]

    fate = compacted("They talked.", policy=cuts_first).fate("employee")
    assert (fate.state, fate.summaries) == ("never shown", ())


def test_a_message_that_is_still_sent_has_no_fate():
    def adds(messages, *, summarise):
        return [*messages[:-1], user(summarise(messages)), messages[-1]]

    assert compacted("They talked.", policy=adds).fate("employee").state is None
    assert compacted("They talked.", budget=100_000).fate("employee").state is None


def test_without_a_summariser_nothing_has_a_fate():
    assert replayed(lambda messages: messages[-1:]).fate("shard").state is None


def test_a_summary_that_failed_took_nobodys_place():
    fate = compacted(None).fate("employee")
    assert (fate.state, fate.summaries) == (None, ())


def test_a_note_keeps_what_the_summary_drops():
    def notes(shown):
        if len(shown) == 2 and "4417" in shown[0]["content"]:
            return "4417 is the number\nand more"
        return "NONE" if len(shown) == 2 else "They talked."

    fate = compacted(notes, policy=NotedCompaction, budget=600).fate("employee")
    assert fate.state == "kept"
    assert states(fate)[:2] == ["shown and dropped", "kept"]


def test_notes_on_other_messages_are_not_told():
    def notes(shown):
        return "NONE" if len(shown) == 2 else "They talked."

    fate = compacted(notes, policy=NotedCompaction, budget=600).fate("employee")
    assert fate.state == "shown and dropped"
    first = [told for told in fate.summaries if told.place == fate.summaries[0].place]
    assert [told.state for told in first] == ["shown and dropped"] * 2  # the summary and the note


def test_a_summary_made_for_the_probe_counts():
    messages = [system(), user("My number is 4417."), assistant("x" * 200), user("?")]

    def at_the_end(messages, *, summarise):
        if "number?" not in messages[-1]["content"]:
            return list(messages)
        return [user(summarise(messages[:-1])), messages[-1]]

    fact = employee(asked_at=3, wordings=("Which number?", "What number?"))
    transcript = session(messages=tuple(messages), facts=(fact,))
    fate = compacted("Gone.", policy=at_the_end, transcript=transcript).fate("employee")
    assert fate.state == "shown and dropped"
    assert fate.summaries == (
        Told("probe 1", "shown and dropped"),
        Told("probe 2", "shown and dropped"),
    )


def test_a_value_in_a_summary_that_is_no_longer_sent_is_dropped():
    def loses(messages, *, summarise):
        if len(messages) == 4:
            return [user(summarise(messages[:-1])), messages[-1]]
        return list(messages[-1:]) if len(messages) > 4 else list(messages)

    fate = compacted("It is 4417.", policy=loses).fate("employee")
    assert fate.state == "shown and dropped"
    assert states(fate) == ["kept"]


def test_an_unknown_fact():
    with pytest.raises(UsageError, match="has no fact 'colour'"):
        compacted("x").fate("colour")


@settings(max_examples=25)
@given(
    keeps=st.lists(st.sampled_from(["keep", "drop", "fail"]), min_size=1, max_size=6),
    budget=st.integers(220, 700),
)
def test_kept_means_carried_whatever_the_summariser_does(keeps, budget):
    """In a session that says the number once, only a summary can carry it later."""
    asked = []

    def summarise(shown):
        asked.append(shown)
        does = keeps[(len(asked) - 1) % len(keeps)]
        if does == "fail":
            raise TimeoutError
        has_it = any("4417" in message["content"] for message in shown)
        return f"Part {len(asked)}: 4417" if has_it and does == "keep" else f"Part {len(asked)}"

    replay = compacted(summarise, budget=budget)
    fate, carried = replay.fate("employee"), replay.carried("employee")
    if "original" in carried.sources:
        assert fate.state is None
    else:
        assert (fate.state == "kept") == bool(carried)
        assert fate.state != "never shown"
