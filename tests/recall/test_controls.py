"""The requests and counts that an answer is compared with."""

import pytest

from pytest_ctxguard.recall.controls import (
    WANTED,
    ControlHits,
    Controls,
    control_requests,
    linked,
    planting_sentence,
)
from tests.factories import (
    assistant,
    call,
    calling,
    employee,
    result,
    session,
    shard,
    system,
    user,
)


def requests(fact, transcript=None, wanted="all"):
    transcript = transcript or session(facts=(fact,))
    made = control_requests(transcript, fact, wanted=wanted)
    return {name: [list(request) for request in each] for name, each in made.items()}


def test_each_control_has_one_request_per_wording():
    made = requests(employee())
    assert list(made) == list(WANTED["all"]) == ["alone", "without", "full", "restated"]
    assert {len(each) for each in made.values()} == {2}
    assert list(requests(employee(), wanted="usable")) == ["alone", "without"]


def test_a_fact_of_the_user():
    made = requests(employee())
    asked = user("Which employee number?")
    messages = list(session().messages)
    assert made["alone"][0] == [messages[0], messages[1], asked]
    assert made["without"][0] == [messages[0], asked]
    assert made["full"][0] == [*messages[:7], asked]  # the probe replaces message 7
    said = user("My employee number is 4417.\n\nWhich employee number?")
    assert made["restated"][0] == [*messages[:7], said]


def test_a_fact_of_a_tool_result_is_shown_with_its_whole_round():
    made = requests(shard())
    messages = list(session().messages)
    asked = user("Which shard?")
    assert made["alone"] == [[messages[0], messages[4], messages[5], asked]]
    assert made["full"] == [[*messages, asked]]  # it is asked at the end
    [[*_, restated]] = made["restated"]
    assert restated == user("pay-shard-7 is slow; pay-shard-3 is idle\n\nWhich shard?")


def test_a_fact_of_the_instructions_is_not_in_the_control_without_it():
    messages = (system("You run payments."), system("Tickets go under 4417."), user("Hello."))
    fact = employee(planted_at=1, asked_at=2)
    made = requests(fact, session(messages=messages, facts=(fact,)))
    asked = user("Which employee number?")
    assert made["alone"][0] == [*messages[:2], asked]
    assert made["without"][0] == [messages[0], asked]


def test_instructions_that_repeat_a_fact_are_left_out_without_it():
    messages = (system("Known: 4417."), user("I am 4417."), assistant("Noted."), user("Go on."))
    fact = employee(planted_at=1, asked_at=3)
    made = requests(fact, session(messages=messages, facts=(fact,)))
    assert made["without"][0] == [user("Which employee number?")]


def test_facts_that_it_links_to_are_planted_too():
    pair = shard(kind="multi-hop", links=("employee",))
    transcript = session(facts=(employee(), pair))
    assert [fact.name for fact in linked(transcript, pair)] == ["employee", "shard"]
    made = requests(pair, transcript)
    messages = list(transcript.messages)
    asked = user("Which shard?")
    assert made["alone"] == [[messages[0], messages[1], messages[4], messages[5], asked]]
    assert made["restated"][0][-1]["content"] == (
        "My employee number is 4417.\npay-shard-7 is slow; pay-shard-3 is idle\n\nWhich shard?"
    )


def test_links_are_followed_and_may_form_a_ring():
    one = employee(kind="multi-hop", links=("two",))
    two = employee(name="two", kind="multi-hop", links=("shard",), planted_at=2)
    three = shard(kind="multi-hop", links=("employee",))
    transcript = session(facts=(one, two, three))
    assert [fact.name for fact in linked(transcript, one)] == ["employee", "two", "shard"]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (user("Hello. I am 4417! Thanks."), "I am 4417!"),
        (user("你好。我是4417。谢谢。"), "我是4417。"),
        (user("service: pay\nowner: 4417\nnode: 3"), "owner: 4417"),
        (user("I am 4417. Yes, 4417.\nBye"), "I am 4417. Yes, 4417."),
        (user("version 1.2 of 4417"), "version 1.2 of 4417"),
        (calling(call(employee="4417")), 'read_log {"employee": "4417"}'),
        (result("4417"), "4417"),
    ],
)
def test_the_planting_sentence(message, said):
    transcript = session(messages=(message,))
    assert planting_sentence(transcript, employee(planted_at=0)) == said


def test_a_value_that_runs_over_sentences_is_restated_whole():
    fact = employee(value="4417. Yes", planted_at=0)
    transcript = session(messages=(user("I am 4417. Yes sir. Thanks."),))
    assert planting_sentence(transcript, fact) == "I am 4417. Yes sir. Thanks."


@pytest.mark.parametrize(
    ("answered", "without", "restated", "normalised"),
    [
        (5, 0, 6, 5 / 6),
        (6, 0, 6, 1.0),
        (3, 2, 6, 0.25),
        (1, 2, 6, -0.25),
        (6, 0, 4, 1.5),
        (0, 0, 0, None),
        (2, 3, 3, None),
        (2, 3, 1, None),
        (2, 0, None, None),
    ],
)
def test_a_normalised_score(answered, without, restated, normalised):
    hits = ControlHits(of=6, answered=answered, alone=6, without=without, restated=restated)
    assert hits.normalised == normalised


def test_one_request_with_two_outcomes_is_unstable():
    assert not Controls("hit", "other").unstable
    assert not Controls("hit", "other", full="hit", restated="hit", again="hit").unstable
    assert Controls("hit", "other", full="hit", restated="hit", again="other").unstable
