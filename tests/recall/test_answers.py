"""Probes asked of a backend, with their controls."""

import pytest

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.errors import BackendError, PromptTooLong, UsageError
from pytest_ctxguard.recall.answers import ANSWER_TOKENS, Answers, Control, Interviewer, Trial
from pytest_ctxguard.testing import ScriptedBackend
from tests.factories import employee, replayed, session, user


def keep_all(messages):
    return messages


def newest(messages):
    return messages[-1:]


def reader(messages):
    """Answer as a perfect model would: the number, if it is there."""
    shown = " ".join(str(message.get("content")) for message in messages)
    return "It is 4417." if "4417" in shown else "I don't know."


def ask(policy, backend, fact="employee"):
    return Interviewer(backend).answers(replayed(policy), fact)


def test_what_is_sent_is_answered():
    answers = ask(keep_all, ScriptedBackend(reader))
    assert answers.fact == "employee"
    assert [trial.id for trial in answers.trials] == ["employee/1", "employee/2"]
    assert [trial.wording for trial in answers.trials] == list(employee().wordings)
    assert [trial.text for trial in answers.trials] == ["It is 4417."] * 2
    assert (answers.hits, len(answers.usable)) == (2, 2)
    assert answers.outcomes == {"hit": 2}


def test_what_is_not_sent_is_not():
    answers = ask(newest, ScriptedBackend(reader))
    assert (answers.hits, len(answers.usable)) == (0, 2)
    assert answers.outcomes == {"abstained": 2}


def test_the_requests_are_the_probes_with_tools_and_the_two_controls():
    backend = ScriptedBackend(reader)
    replay = replayed(keep_all)
    Interviewer(backend).answers(replay, "employee")
    first, second = employee().wordings
    system, planted = session().messages[:2]
    assert [request["messages"] for request in backend.requests] == [
        list(replay.probes["employee"][0].messages),
        list(replay.probes["employee"][1].messages),
        [system, planted, user(first)],
        [system, planted, user(second)],
        [system, user(first)],
        [system, user(second)],
    ]
    for request in backend.requests:
        assert request["tools"] == list(session().tools)
        assert request["tool_choice"] == "auto"
        assert request["max_tokens"] == ANSWER_TOKENS == 48


def test_a_session_without_system_message_has_controls_without_one():
    messages = session().messages[1:]
    transcript = session(messages=messages, facts=(employee(planted_at=0, asked_at=6),))
    backend = ScriptedBackend(reader)
    replay = replayed(keep_all, transcript)
    assert Interviewer(backend).answers(replay, "employee").hits == 2
    assert [len(request["messages"]) for request in backend.requests] == [7, 7, 2, 2, 1, 1]


def test_a_request_is_asked_once():
    backend = ScriptedBackend(reader)
    interviewer = Interviewer(backend)
    first = interviewer.answers(replayed(keep_all), "employee")
    asked = len(backend.requests)
    assert interviewer.answers(replayed(list), "employee") == first
    assert len(backend.requests) == asked
    # another policy: its own two probes, but the controls are known
    interviewer.answers(replayed(lambda messages: messages[-2:]), "employee")
    assert len(backend.requests) == asked + 2


def test_an_unknown_fact_is_a_usage_error():
    with pytest.raises(UsageError, match="no fact 'ticket'"):
        Interviewer(ScriptedBackend(reader)).answers(replayed(keep_all), "ticket")


def test_each_probe_asked_is_told():
    told = []
    interviewer = Interviewer(ScriptedBackend(reader), progress=lambda *step: told.append(step))
    interviewer.answers(replayed(keep_all), "employee")
    assert len(told) == 2


def test_a_value_in_the_arguments_of_a_call_is_an_answer():
    def calls_a_tool(messages):
        if reader(messages) == "I don't know.":
            return Completion("Who are you?")
        return Completion("", (ToolCall("open_ticket", '{"employee": "4417"}'),), "tool_calls")

    answers = ask(keep_all, ScriptedBackend(calls_a_tool))
    assert answers.hits == 2
    assert answers.trials[0].text == '\nopen_ticket {"employee": "4417"}'


def test_a_request_that_cannot_be_answered_is_an_error_and_asked_once():
    def too_long(messages):
        if len(messages) > 3:
            raise PromptTooLong(40_000, 32_768)
        return reader(messages)

    backend = ScriptedBackend(too_long)
    interviewer = Interviewer(backend)
    for _ in range(2):
        answers = interviewer.answers(replayed(keep_all), "employee")
        assert [(trial.outcome, trial.text) for trial in answers.trials] == [
            ("error", "the prompt has 40000 tokens; the context window holds 32768")
        ] * 2
        assert answers.outcomes == {"error": 2}
        assert answers.hits == 0
    assert len(backend.requests) == 6


def test_other_errors_of_a_backend_are_not_hidden():
    def broken(messages):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask(keep_all, ScriptedBackend(broken))


CONTROLS = [
    ("hit", "abstained", True, ""),
    ("hit", "other", True, ""),
    ("hit", "invented", True, ""),
    ("hit", "neighbour", True, ""),
    ("hit", "hit", False, "guessed without the fact"),
    ("hit", "error", False, "error without the fact"),
    ("abstained", "abstained", False, "abstained with the fact alone"),
    ("invented", "other", False, "invented with the fact alone"),
    ("error", "error", False, "error with the fact alone"),
    ("other", "hit", False, "guessed without the fact"),
]


@pytest.mark.parametrize(("alone", "without", "usable", "reason"), CONTROLS)
def test_a_wording_is_usable_if_both_controls_say_so(alone, without, usable, reason):
    control = Control(alone, without)
    assert control.usable is usable
    assert control.reason == reason


def test_a_wording_that_is_answered_without_the_fact_does_not_count():
    def guesses_one(messages):
        return "4417" if messages[-1]["content"] == employee().wordings[0] else reader(messages)

    answers = ask(newest, ScriptedBackend(guesses_one))
    assert [trial.control.usable for trial in answers.trials] == [False, True]
    assert answers.trials[0].control == Control(alone="hit", without="hit")
    assert answers.hits == 0
    assert answers.outcomes == {"abstained": 1}


def test_a_wording_the_model_never_answers_does_not_count():
    def deaf_to_one(messages):
        return "Hm." if messages[-1]["content"] == employee().wordings[1] else reader(messages)

    answers = ask(keep_all, ScriptedBackend(deaf_to_one))
    assert [trial.control.reason for trial in answers.trials] == [
        "",
        "other with the fact alone",
    ]
    assert (answers.hits, len(answers.usable), answers.outcomes) == (1, 1, {"hit": 1})


def test_outcomes_are_listed_from_best_to_worst_and_only_those_that_occur():
    good = Control("hit", "other")
    outcomes = ("other", "invented", "hit", "neighbour", "invented")
    trials = tuple(Trial(f"f/{i}", "w", o, "", good) for i, o in enumerate(outcomes))
    answers = Answers("f", trials)
    assert list(answers.outcomes.items()) == [
        ("hit", 1),
        ("neighbour", 1),
        ("invented", 2),
        ("other", 1),
    ]


def test_the_scripted_backend_runs_out_loudly():
    backend = ScriptedBackend(["one", Completion("two")])
    assert backend.complete([user("a")]).text == "one"
    assert backend.complete([user("b")], tool_choice="none", max_tokens=5).text == "two"
    with pytest.raises(BackendError, match="the script has 2 answers; this is request 3"):
        backend.complete([user("c")])
    assert backend.requests[1] == {
        "messages": [user("b")],
        "tools": [],
        "tool_choice": "none",
        "max_tokens": 5,
    }
    assert backend.identity == {"model": "scripted", "numerics": "exact"}
