"""Every call of a transcript under a policy, and what a replay then says."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.replay.origin import Origin
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.replay.values import Replay, TokenUse, digest
from pytest_ctxguard.tokens.buckets import Buckets
from pytest_ctxguard.transcript.model import Transcript
from tests.factories import LetterCounter, assistant, employee, replayed, session, system, user


def keep_all(messages):
    return list(messages)


def test_each_call_is_given_its_uncut_history():
    given_ = []

    def policy(messages):
        given_.append(copy.deepcopy(messages))
        return messages

    replay = replayed(policy, session(facts=()))
    assert [tuple(history) for history in given_] == [
        session().messages[:length] for length in (2, 4, 6, 8)
    ]
    assert [step.call.index for step in replay.steps] == [0, 1, 2, 3]
    assert replay.final is replay.steps[-1]


def test_a_policy_that_sends_everything_changes_nothing():
    replay = replayed(keep_all)
    assert not replay.acted
    for step in replay.steps:
        assert step.request.messages == session().messages[: step.call.history]
        assert step.request.origins == tuple(Origin(i) for i in range(step.call.history))
        assert step.request.tokens == step.history_tokens
        assert step.request.mutated == ()


def test_a_cut_is_counted_beside_the_history_it_was_cut_from():
    replay = replayed(lambda messages: messages[-1:])
    counter = LetterCounter()
    assert replay.acted
    assert replay.tokens.by_call == tuple(
        counter.count([session().messages[length - 1]], tools=session().tools)
        for length in (2, 4, 6, 8)
    )
    assert [step.history_tokens for step in replay.steps] == [
        counter.count(session().messages[:length], tools=session().tools) for length in (2, 4, 6, 8)
    ]
    assert replay.final.request.origins == (Origin(7),)


def test_acting_once_is_acting():
    replay = replayed(lambda messages: messages[-5:])
    assert [step.request.acted for step in replay.steps] == [False, False, True, True]
    assert replay.acted


def test_token_use():
    use = TokenUse((10, 30, 20))
    assert (use.billed, use.final) == (60, 20)


def test_buckets_of_the_last_step_or_another():
    replay = replayed(keep_all)
    last, first = replay.buckets(), replay.buckets(replay.steps[0])
    assert last.total == replay.tokens.final
    assert first == Buckets(
        system=len("You run payments."),
        tools=10,
        tool_results=0,
        conversation=len("My employee number is 4417.") + 1,
    )


def test_a_replay_names_itself_in_a_line():
    assert repr(replayed(keep_all)) == "<Replay of small under keep_all>"
    assert repr(replayed(keep_all, label="b")) == "<Replay 'b' of small under keep_all>"


def test_a_transcript_without_calls_cannot_be_replayed():
    with pytest.raises(UsageError) as caught:
        replayed(keep_all, Transcript(name="quiet", messages=(system(),)))
    assert str(caught.value) == "transcript 'quiet' has no calls; there is nothing to replay"


@pytest.mark.parametrize("budget", [0, -5, 1.5, "4000", True])
def test_a_budget_is_a_positive_count(budget):
    with pytest.raises(UsageError) as caught:
        replayed(keep_all, budget=budget)
    assert str(caught.value) == f"budget={budget!r}: a budget is a positive number of tokens"


def test_a_budget_of_one_token_is_a_budget():
    assert replayed(keep_all, budget=1).budget == 1


UNASKABLE = {
    "planted nowhere": ({"planted_at": 80}, "planted_at 80 is not a message; there are 8"),
    "planted elsewhere": (
        {"planted_at": 2},
        "its value '4417' is not in message 2, where it is planted",
    ),
    "no wordings": ({"wordings": ()}, "has no wordings, so nothing could be asked"),
    "one text for wordings": (
        {"wordings": "Which number?"},
        "its wordings are one text; give a sequence of texts",
    ),
    "an answer for a question": (
        {"asked_at": 6},
        "asked_at 6 is not a user message after the one that plants it",
    ),
}


@pytest.mark.parametrize(("changes", "problem"), UNASKABLE.values(), ids=UNASKABLE)
def test_a_fact_declared_in_python_is_checked_like_a_recorded_one(changes, problem):
    with pytest.raises(UsageError) as caught:
        replayed(keep_all, session(facts=()).with_facts(employee(**changes)))
    assert str(caught.value) == f"fact 'employee': {problem}"


def test_two_facts_of_one_name():
    with pytest.raises(UsageError, match="two facts are named 'employee'; rename one"):
        replayed(keep_all, session().with_facts(employee(value="4417")))


def test_digests_forget_nothing():
    assert digest({"a": 1, "b": [2]}) == digest({"a": 1, "b": [2]})
    assert digest({"a": 1, "b": [2]}) != digest({"b": [2], "a": 1})
    assert digest({"a": 1, "b": [2]}) != digest({"a": 1, "b": ["2"]})
    assert len(digest("\ud83d")) == 16


@settings(deadline=None, max_examples=60)
@given(ctx.histories(max_turns=3, max_rounds=3), st.integers(1, 6))
def test_any_window_over_any_history_is_traced_to_where_it_came_from(history, last):
    transcript = Transcript(name="t", messages=tuple(history))
    before = copy.deepcopy(transcript)
    replay = run(
        Plan(
            transcript=transcript,
            policy=lambda messages: copy.deepcopy(messages[-last:]),
            counter=LetterCounter(),
        )
    )
    assert transcript == before
    assert isinstance(replay, Replay)
    assert [step.call for step in replay.steps] == list(transcript.calls)
    for step in replay.steps:
        length = step.call.history
        assert step.request.messages == transcript.messages[max(0, length - last) : length]
        for message, origin in zip(step.request.messages, step.request.origins, strict=True):
            assert not origin.edited
            assert transcript.messages[origin.index] == message
        assert step.request.acted == (length > last)


class Mutators:
    """Policies that change what they were given, and what is then said of each."""

    @staticmethod
    def drops_from_the_list(messages):
        del messages[:-1]
        return messages

    @staticmethod
    def appends_to_the_list(messages):
        messages.append(user("More?"))
        return messages

    @staticmethod
    def reorders_the_list(messages):
        messages.reverse()
        return messages[::-1]

    @staticmethod
    def replaces_in_the_list(messages):
        messages[0] = dict(messages[0])
        return messages

    @staticmethod
    def edits_a_message(messages):
        messages[1]["content"] = "cut"
        return list(messages)

    @staticmethod
    def edits_deep_inside(messages):
        for message in messages:
            for called in message.get("tool_calls", ()):
                called["function"]["arguments"] = "{}"
        return list(messages)

    @staticmethod
    def adds_a_key(messages):
        messages[-1]["seen"] = True
        return list(messages)


LIST, SECOND = "the list of messages", "message 1"
SAID = {
    "drops_from_the_list": [(LIST,)] * 4,
    "appends_to_the_list": [(LIST,)] * 4,
    "reorders_the_list": [(LIST,)] * 4,
    "replaces_in_the_list": [(LIST,)] * 4,
    "edits_a_message": [(SECOND,)] * 4,
    "edits_deep_inside": [(), (), ("message 4",), ("message 4",)],
    "adds_a_key": [("message 1",), ("message 3",), ("message 5",), ("message 7",)],
}


@pytest.mark.parametrize(("name", "said"), SAID.items(), ids=SAID)
def test_a_changed_history_is_noticed_and_the_transcript_is_safe(name, said):
    transcript = session(facts=())
    replay = replayed(getattr(Mutators, name), transcript)
    assert [step.request.mutated for step in replay.steps] == said
    assert transcript == session(facts=())


def test_a_probe_with_a_changed_history_is_noticed():
    def edits_at_probes(messages):
        if messages[-1]["content"] == "Which shard?":
            messages[-1]["content"] += " Be brief."
        return messages

    replay = replayed(edits_at_probes)
    assert [r.mutated for r in replay.probes["shard"]] == [("message 8",)]
    assert not any(step.request.mutated for step in replay.steps)


def test_what_a_stateful_policy_does_later_leaves_earlier_requests_alone():
    class Notes:
        """Sends one and the same message each time, and writes into it."""

        def __init__(self):
            self.note = system("")

        def __call__(self, messages):
            self.note["content"] += f" saw {len(messages)}"
            return [self.note, messages[-1]]

    replay = replayed(Notes(), session(facts=()))
    assert [step.request.messages[0]["content"] for step in replay.steps] == [
        " saw 2",
        " saw 2 saw 4",
        " saw 2 saw 4 saw 6",
        " saw 2 saw 4 saw 6 saw 8",
    ]


def test_a_message_a_policy_remembers_from_an_earlier_call_is_still_known():
    class Remembers:
        def __init__(self):
            self.first = None

        def __call__(self, messages):
            self.first = self.first or messages[1]
            return [self.first, messages[-1]]

    replay = replayed(Remembers(), session(facts=()))
    assert replay.final.request.origins == (Origin(1), Origin(7))


def test_the_last_turn_may_be_an_answer():
    transcript = session(messages=(*session().messages, assistant("Opened.")), facts=())
    assert [step.call.history for step in replayed(keep_all, transcript).steps] == [2, 4, 6, 8]
