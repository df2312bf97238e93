"""Probes asked of a backend, with their controls."""

import pytest

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.errors import BackendError, PromptTooLong, UsageError
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from pytest_ctxguard.recall.answers import Answers, Interviewer, Trial, questions
from pytest_ctxguard.recall.asking import ANSWER_TOKENS, Asker
from pytest_ctxguard.recall.called import CALL_TOKENS
from pytest_ctxguard.recall.controls import ControlHits, Controls
from pytest_ctxguard.testing import ScriptedBackend
from pytest_ctxguard.transcript.model import ToolProbe
from tests.factories import employee, replayed, session, tool, user


def keep_all(messages):
    return messages


def newest(messages):
    return messages[-1:]


def reader(messages):
    """Answer as a perfect model would: the number, if it is there."""
    shown = " ".join(str(message.get("content")) for message in messages)
    return "It is 4417." if "4417" in shown else "I don't know."


def ask(policy, backend, fact="employee"):
    return Interviewer(Asker(backend)).answers(replayed(policy), fact)


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
    Interviewer(Asker(backend)).answers(replay, "employee")
    first, second = employee().wordings
    system, planted = session().messages[:2]
    expected = [
        list(replay.probes["employee"][0].messages),
        list(replay.probes["employee"][1].messages),
        [system, planted, user(first)],
        [system, planted, user(second)],
        [system, user(first)],
        [system, user(second)],
    ]
    asked = [request["messages"] for request in backend.requests]
    assert sorted(asked, key=str) == sorted(expected, key=str)
    for request in backend.requests:
        assert request["tools"] == list(session().tools)
        assert request["tool_choice"] == "auto"
        assert request["max_tokens"] == ANSWER_TOKENS == 48


def test_a_session_without_system_message_has_controls_without_one():
    messages = session().messages[1:]
    transcript = session(messages=messages, facts=(employee(planted_at=0, asked_at=6),))
    backend = ScriptedBackend(reader)
    replay = replayed(keep_all, transcript)
    assert Interviewer(Asker(backend)).answers(replay, "employee").hits == 2
    assert sorted(len(request["messages"]) for request in backend.requests) == [1, 1, 2, 2, 7, 7]


def test_a_request_is_asked_once():
    backend = ScriptedBackend(reader)
    interviewer = Interviewer(Asker(backend))
    first = interviewer.answers(replayed(keep_all), "employee")
    asked = len(backend.requests)
    assert interviewer.answers(replayed(list), "employee") == first
    assert len(backend.requests) == asked
    # another policy: its own two probes, but the controls are known
    interviewer.answers(replayed(lambda messages: messages[-2:]), "employee")
    assert len(backend.requests) == asked + 2


def test_an_unknown_fact_is_a_usage_error():
    with pytest.raises(UsageError, match="no fact 'ticket'"):
        Interviewer(Asker(ScriptedBackend(reader))).answers(replayed(keep_all), "ticket")


def test_each_probe_asked_is_told():
    told = []
    interviewer = Interviewer(
        Asker(ScriptedBackend(reader), progress=lambda *step: told.append(step))
    )
    interviewer.answers(replayed(keep_all), "employee")
    assert told[0] == ("asking for employee under keep_all", 0, 6)
    assert told[-1] == ("asking for employee under keep_all", 6, 6)


def test_a_value_in_the_arguments_of_a_call_is_an_answer():
    def calls_a_tool(messages):
        if reader(messages) == "I don't know.":
            return Completion("Who are you?")
        return Completion("", (ToolCall("open_ticket", '{"employee": "4417"}'),), "tool_calls")

    answers = ask(keep_all, ScriptedBackend(calls_a_tool))
    assert answers.hits == 2
    assert answers.trials[0].text == 'open_ticket {"employee": "4417"}'


def test_a_request_that_cannot_be_answered_is_an_error_and_asked_once():
    def too_long(messages):
        if len(messages) > 3:
            raise PromptTooLong(40_000, 32_768)
        return reader(messages)

    backend = ScriptedBackend(too_long)
    interviewer = Interviewer(Asker(backend))
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
    control = Controls(alone, without)
    assert control.usable is usable
    assert control.reason == reason


def test_a_wording_that_is_answered_without_the_fact_does_not_count():
    def guesses_one(messages):
        return "4417" if messages[-1]["content"] == employee().wordings[0] else reader(messages)

    answers = ask(newest, ScriptedBackend(guesses_one))
    assert [trial.controls.usable for trial in answers.trials] == [False, True]
    assert answers.trials[0].controls == Controls(alone="hit", without="hit")
    assert answers.hits == 0
    assert answers.outcomes == {"abstained": 1}


def test_a_wording_the_model_never_answers_does_not_count():
    def deaf_to_one(messages):
        return "Hm." if messages[-1]["content"] == employee().wordings[1] else reader(messages)

    answers = ask(keep_all, ScriptedBackend(deaf_to_one))
    assert [trial.controls.reason for trial in answers.trials] == [
        "",
        "other with the fact alone",
    ]
    assert (answers.hits, len(answers.usable), answers.outcomes) == (1, 1, {"hit": 1})


def test_outcomes_are_listed_from_best_to_worst_and_only_those_that_occur():
    good = Controls("hit", "other")
    outcomes = ("other", "invented", "hit", "neighbour", "invented")
    trials = tuple(Trial(f"f/{i}", "w", o, "", good) for i, o in enumerate(outcomes))
    answers = Answers("f", trials)
    assert list(answers.outcomes.items()) == [
        ("hit", 1),
        ("neighbour", 1),
        ("invented", 2),
        ("other", 1),
    ]


def test_words_shared_with_what_plants_the_fact_are_marked():
    answers = ask(keep_all, ScriptedBackend(reader))
    assert [trial.overlap for trial in answers.trials] == [("employee", "number"), ()]
    assert [trial.id for trial in answers.without_overlap] == ["employee/2"]


def test_an_unusable_wording_without_overlap_does_not_count():
    def deaf(messages):
        return "Hm." if messages[-1]["content"] == employee().wordings[1] else reader(messages)

    assert ask(keep_all, ScriptedBackend(deaf)).without_overlap == ()


def test_the_other_controls_are_run_when_asked():
    backend = ScriptedBackend(reader)
    interviewer = Interviewer(Asker(backend))
    answers = interviewer.answers(replayed(newest), "employee", controls="all")
    hit = Controls("hit", "abstained", full="hit", restated="hit", again="hit")
    assert [trial.controls for trial in answers.trials] == [hit, hit]
    assert answers.outcomes == {"abstained": 2}
    assert answers.controls == ControlHits(
        of=2, answered=0, alone=2, without=0, full=2, restated=2, unstable=0
    )
    assert answers.normalised == 0.0
    assert len(backend.requests) == 2 * 6


def test_they_are_not_run_when_not_asked():
    answers = ask(keep_all, ScriptedBackend(reader))
    assert answers.controls == ControlHits(of=2, answered=2, alone=2, without=0)
    assert answers.normalised is None
    assert not any(trial.controls.unstable for trial in answers.trials)


def test_ten_policies_pay_for_the_controls_once():
    backend = ScriptedBackend(reader)
    interviewer = Interviewer(Asker(backend))
    interviewer.answers(replayed(keep_all), "employee", controls="all")
    asked = len(backend.requests)
    for last in range(2, 6):
        policy = SlidingWindow(last=last)
        interviewer.answers(replayed(policy), "employee", controls="all")
    assert len(backend.requests) - asked <= 2 * 4  # each policy's own probes


def test_what_is_asked_of_many_replays_together_is_not_asked_again():
    backend = ScriptedBackend(reader)
    asker = Asker(backend)
    replays = [replayed(keep_all), replayed(newest)]
    together = [
        question
        for replay in replays
        for group in questions(replay, "employee", controls="all").values()
        for question in group
    ]
    asker.ask(together)
    backend.requests.clear()
    interviewer = Interviewer(asker)
    for replay in replays:
        interviewer.answers(replay, "employee", controls="all")
    assert len(backend.requests) == 2  # the two wordings, a second time


def test_a_backend_that_changes_its_mind_is_unstable():
    told = []

    def fickle(messages):
        told.append(messages)
        return reader(messages) if told.count(messages) == 1 else "Hm."

    interviewer = Interviewer(Asker(ScriptedBackend(fickle)))
    answers = interviewer.answers(replayed(keep_all), "employee", controls="all")
    assert [trial.controls.again for trial in answers.trials] == ["other", "other"]
    assert answers.controls.unstable == 2
    again = interviewer.answers(replayed(newest), "employee", controls="all")
    assert again.controls.unstable == 2  # asked once for every policy


def test_a_guess_counts_against_the_score():
    def guesses_one(messages):
        return "4417" if messages[-1]["content"] == employee().wordings[0] else reader(messages)

    interviewer = Interviewer(Asker(ScriptedBackend(guesses_one)))
    answers = interviewer.answers(replayed(keep_all), "employee", controls="all")
    assert (answers.controls.answered, answers.controls.without) == (2, 1)
    assert answers.normalised == 1.0
    assert interviewer.answers(
        replayed(newest), "employee", controls="all"
    ).normalised == 0.0  # fmt: skip


TICKET = ToolProbe(name="open_ticket", argument="employee")


def tool_replay(policy):
    wordings = ("Open the ticket.", "File it now.")
    fact = employee(tool=TICKET, wordings=wordings)
    opening = tool("open_ticket", "Open one.")
    opening["function"]["parameters"]["properties"]["employee"] = {"type": "string"}
    return replayed(policy, session(facts=(fact,), tools=(tool(), opening)))


def opens(messages):
    """Call the tool with the number if it is there, another tool if not."""
    if "4417" in str(messages):
        return Completion("", (ToolCall("open_ticket", '{"employee": "4417"}'),), "tool_calls")
    return Completion("", (ToolCall("read_log", '{"service": "4417"}'),), "tool_calls")


def test_a_tool_probe_is_asked_as_a_call_that_is_required():
    backend = ScriptedBackend(opens)
    answers = Interviewer(Asker(backend)).answers(tool_replay(keep_all), "employee")
    assert {request["tool_choice"] for request in backend.requests} == {"required"}
    assert {request["max_tokens"] for request in backend.requests} == {CALL_TOKENS} == {128}
    assert {len(request["tools"]) for request in backend.requests} == {2}
    assert (answers.hits, len(answers.usable)) == (2, 2)
    assert answers.called == {"right": 2}


def test_a_call_of_another_tool_is_counted_apart():
    answers = Interviewer(Asker(ScriptedBackend(opens))).answers(tool_replay(newest), "employee")
    assert answers.outcomes == {"other": 2}
    assert answers.called == {"wrong_tool": 2}
    assert answers.trials[0].text == 'read_log {"service": "4417"}'
    assert [trial.controls.usable for trial in answers.trials] == [True, True]


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
