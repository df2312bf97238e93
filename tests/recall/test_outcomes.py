"""What an answer amounts to."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.recall.outcomes import OUTCOMES, judge, judged_text
from pytest_ctxguard.recall.phrases import declines
from tests.factories import call, calling, employee, result, shard, user

SHOWN = [user("I am 4417."), result("9911 reported it; 5522 closed it; pay-shard-3 was idle")]

OUTCOMES_OF_ANSWERS = [
    # the value, in any case and dress
    ("4417", "hit"),
    ("The employee number is 4417.", "hit"),
    ("工号是4417。", "hit"),
    ("Номер сотрудника — 4417.", "hit"),
    ("**4417**", "hit"),
    ('open_ticket {"employee": "4417"}', "hit"),
    # several candidates: a declared look-alike spoils a hit, any other does not
    ("4417 or 9911", "neighbour"),
    ("4417, not 5522", "hit"),
    # another candidate, that stands in the request
    ("9911", "neighbour"),
    ("It was 5522.", "neighbour"),
    ("I don't know, perhaps 9911", "neighbour"),
    # a candidate that stands nowhere
    ("It is 1234.", "invented"),
    ("12345", "invented"),
    ("44170", "invented"),
    ("14417", "invented"),
    ("pay-4417-x", "invented"),
    ("I'm not sure, maybe 1234.", "invented"),
    # no candidate
    ("I don't know the number.", "abstained"),
    ("", "other"),
    ("Of course! What else?", "other"),
    ("The number you gave me.", "other"),
]


@pytest.mark.parametrize(("text", "outcome"), OUTCOMES_OF_ANSWERS)
def test_an_answer_about_a_number(text, outcome):
    assert judge(text, employee(), SHOWN) == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("It is PAY-SHARD-7.", "hit"),
        ("pay-shard-72", "invented"),
        ("pay-shard-3", "neighbour"),
        ("The Pay-Shard-3 one", "neighbour"),
        ("user-shard-9", "invented"),
        ("shard 7", "other"),
    ],
)
def test_an_answer_about_a_name(text, outcome):
    assert judge(text, shard(), SHOWN) == outcome


def test_part_of_an_invented_number_is_no_neighbour():
    assert judge("55221", employee(), SHOWN) == "invented"


def test_only_accepted_forms_hit_where_they_are_listed():
    fact = employee(accepts=("#4417", "four-four-one-seven"))
    assert judge("four-four-one-seven", fact, SHOWN) == "hit"
    assert judge("ticket #4417", fact, SHOWN) == "hit"
    assert judge("4417", fact, SHOWN) == "neighbour"  # it stands in the request


def test_a_look_alike_needs_no_shape():
    fact = employee(look_alikes=("the night shift",))
    assert judge("It was the night shift.", fact, SHOWN) == "invented"
    assert judge("The night shift.", fact, [user("ask the night shift")]) == "neighbour"


def test_a_neighbour_may_stand_in_tool_call_arguments():
    assert judge("7766", employee(), [calling(call(employee="7766"))]) == "neighbour"


def test_a_shape_that_matches_nothing_finds_no_candidate_in_it():
    assert judge("I do not know.", employee(shape=r"\d*"), SHOWN) == "abstained"
    assert judge("Yes.", employee(shape=r"\d*"), SHOWN) == "other"
    assert judge("77", employee(shape=r"\d*"), SHOWN) == "invented"


DECLINED = [
    "I don't know.",
    "I don’t have that information.",
    "I do not have access to it.",
    "I can't find it in the logs.",
    "I can’t tell which one.",
    "I can’t see it here.",
    "I cannot find it.",
    "I am unable to determine the shard.",
    "The log doesn't mention it.",
    "The number was not specified.",
    "It isn't given in the text.",
    "No employee number was provided.",
    "There is no information about it.",
    "None of these were mentioned.",
    "Nothing is known about it.",
    "The shard is unknown.",
    "I'm not sure.",
    "I’m not sure which one.",
    "You haven't said.",
    "Я не знаю.",
    "Я не помню номер.",
    "Номер не указан.",
    "Шард не упоминался.",
    "Нет данных.",
    "Нет информации о шарде.",
    "Это неизвестно.",
    "НЕ НАЙДЕНО",
    "我不知道。",
    "不清楚是哪个分片。",
    "没有提到员工编号。",
    "无法确定。",
    "对话中未提及。",
]

ANSWERED = [
    "I know the shard is the slow one.",
    "I know it.",
    "I remember: the slow one.",
    "As you mentioned, the slow one.",
    "The information is in the log.",
    "Now the service is available.",
    "Notes are available in the wiki.",
    "Nodes were found.",
    "The north shard is known to be slow.",
    "None. Found it!",
    "Sure, one moment.",
    "No problem!",
    "No problem, I found it.",
    "It was given by you.",
    "It does matter.",
    "I did find it.",
    "Я знаю, какой шард.",
    "Я помню.",
    "Номер указан выше.",
    "我知道是哪个。",
    "很清楚。",
    "已经提到了。",
    "",
]


@pytest.mark.parametrize("text", DECLINED)
def test_phrases_that_decline(text):
    assert declines(text)
    assert judge(text, employee(), SHOWN) == "abstained"


@pytest.mark.parametrize("text", ANSWERED)
def test_phrases_that_do_not_decline(text):
    assert not declines(text)
    assert judge(text, employee(), SHOWN) == "other"


@settings(deadline=None, max_examples=200)
@given(st.text(), st.text(), st.sampled_from(["4417", "9911", "5522", "1234", "I don't know", ""]))
def test_every_answer_has_an_outcome_and_a_wrong_candidate_is_never_a_hit(before, after, said):
    outcome = judge(f"{before} {said} {after}", employee(), SHOWN)
    assert outcome in OUTCOMES
    assert outcome != "error"  # that is for requests that were not answered
    if said == "4417" and "9911" not in before + after:
        assert outcome == "hit"
    if said == "9911":
        assert outcome == "neighbour"


def test_what_is_judged_has_the_calls_after_the_text():
    calls = (ToolCall("open_ticket", '{"employee": "4417"}'), ToolCall("now", "{}"))
    assert judged_text(Completion("On it.", calls)) == (
        'On it.\nopen_ticket {"employee": "4417"}\nnow {}'
    )
    assert judged_text(Completion("On it.")) == "On it."
