"""What an answer to a tool probe amounts to."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.recall.called import CALLED, judge_answer
from pytest_ctxguard.recall.outcomes import OUTCOMES
from pytest_ctxguard.transcript.model import ToolProbe
from tests.factories import employee, tool, user

SHOWN = [user("I am 4417; 9911 reported it, 5522 closed it.")]
TOOLS = (tool("create_ticket"), tool("read_log"))
PROBE = ToolProbe(name="create_ticket", argument="employee")
STRICT = ToolProbe(name="create_ticket", argument="employee", arguments={"severity": "SEV1"})


def judged(*calls, text="", finish_reason="tool_calls", probe=PROBE):
    made = tuple(
        ToolCall(name, arguments if isinstance(arguments, str) else json.dumps(arguments))
        for name, arguments in calls
    )
    completion = Completion(text, made, finish_reason)
    return judge_answer(completion, employee(tool=probe), request=SHOWN, tools=TOOLS)


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ("4417", "hit"),
        (4417, "hit"),
        (["4417"], "hit"),
        ("Employee 4417", "hit"),
        ("9911", "neighbour"),
        ("5522", "neighbour"),
        ("1234", "invented"),
        (44170, "invented"),
        ("unknown", "abstained"),
        ("N/A", "abstained"),
        ("", "other"),
        (None, "abstained"),
        ("me", "other"),
    ],
)
def test_the_argument_of_the_right_tool_is_judged_as_text_is(value, outcome):
    answer = judged(("create_ticket", {"employee": value, "title": "Pay"}))
    assert (answer.outcome, answer.called) == (outcome, "right")


@pytest.mark.parametrize(
    ("calls", "called"),
    [
        ([("read_log", {"employee": "4417"})], "wrong_tool"),
        ([("open_ticket", {"employee": "4417"})], "unknown_tool"),
        ([("open_ticket", {}), ("read_log", {})], "wrong_tool"),
        ([("create_ticket", '{"employee": "4417"')], "broken"),
        ([("create_ticket", '["4417"]')], "broken"),
        ([("create_ticket", {"title": "for 4417"})], "no_argument"),
    ],
)
def test_another_act_is_no_hit_though_it_says_the_value(calls, called):
    answer = judged(*calls)
    assert (answer.outcome, answer.called) == ("other", called)


@pytest.mark.parametrize(
    ("text", "finish_reason", "outcome", "called"),
    [
        ("I will open it for 4417.", "stop", "other", "no_call"),
        ("I don't know your employee number.", "stop", "abstained", "no_call"),
        ('<tool_call>\n{"name": "create_ticket", "arg', "length", "other", "broken"),
    ],
)
def test_no_call(text, finish_reason, outcome, called):
    answer = judged(text=text, finish_reason=finish_reason)
    assert (answer.outcome, answer.called) == (outcome, called)
    assert answer.text == text


def test_the_right_call_counts_wherever_it_stands():
    calls = [("read_log", {"service": "pay"}), ("create_ticket", {"employee": "4417"})]
    assert judged(*calls).outcome == "hit"


@pytest.mark.parametrize(
    ("arguments", "outcome", "called"),
    [
        ({"employee": "4417", "severity": "SEV1"}, "hit", "right"),
        ({"employee": "4417", "severity": " sev1 "}, "hit", "right"),
        ({"employee": "4417", "severity": "SEV2"}, "other", "wrong_argument"),
        ({"employee": "4417"}, "other", "wrong_argument"),
        ({"employee": "9911", "severity": "SEV2"}, "neighbour", "right"),
    ],
)
def test_other_arguments_must_be_as_asked_for(arguments, outcome, called):
    answer = judged(("create_ticket", arguments), probe=STRICT)
    assert (answer.outcome, answer.called) == (outcome, called)


def test_all_that_is_said_is_kept():
    answer = judged(("create_ticket", {"employee": "4417"}), text="On it.")
    assert answer.text == 'On it.\ncreate_ticket {"employee": "4417"}'


def test_a_text_probe_has_no_call():
    answer = judge_answer(Completion("4417"), employee(), request=SHOWN, tools=TOOLS)
    assert (answer.outcome, answer.text, answer.called) == ("hit", "4417", "")


def test_a_candidate_may_stand_in_a_tool_definition():
    tools = (tool("read_log", "Logs of 7788."),)
    answer = judge_answer(Completion("7788"), employee(), request=SHOWN, tools=tools)
    assert answer.outcome == "neighbour"
    assert judge_answer(Completion("7788"), employee(), request=SHOWN).outcome == "invented"


NAMES = st.sampled_from(["create_ticket", "read_log", "open_ticket"])
VALUES = st.sampled_from(["4417", "9911", "1234", "unknown", "", 4417, None, ["4417"], {"a": 1}])
ARGUMENTS = st.dictionaries(st.sampled_from(["employee", "severity", "title"]), VALUES)


@given(st.lists(st.tuples(NAMES, st.one_of(ARGUMENTS, st.text()))), st.text())
def test_a_hit_is_a_right_call_and_nothing_else_is(calls, text):
    answer = judged(*calls, text=text)
    assert answer.outcome in OUTCOMES
    assert answer.called in CALLED
    right = [arguments for name, arguments in calls if name == "create_ticket"]
    if answer.outcome == "hit":
        assert "4417" in str(right[0]["employee"])
    if answer.called == "right":
        assert "employee" in right[0]
