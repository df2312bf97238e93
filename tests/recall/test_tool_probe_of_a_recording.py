"""A tool probe on the recorded incident, asked of the real model."""

import pytest

from pytest_ctxguard.engine.open import open_backend
from pytest_ctxguard.recall.answers import Interviewer
from pytest_ctxguard.recall.asking import Asker
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.transcript.library import find
from pytest_ctxguard.transcript.model import Fact, ToolProbe
from tests.factories import encoder

WORDINGS = (
    "Open the incident ticket now, under the employee number we agreed on.",
    "File the ticket for this incident, under the number I gave you.",
)


def last_message(messages):
    return [messages[0], messages[-1]]


@pytest.mark.model
@pytest.mark.usefixtures("default_model")
def test_a_ticket_is_opened_under_the_number_only_if_it_is_sent():
    transcript = find("incident-40")
    known = transcript.fact("employee")
    fact = Fact(
        name="filed",
        value=known.value,
        kind="rule",
        planted_at=known.planted_at,
        wordings=WORDINGS,
        shape=known.shape,
        asked_at=known.asked_at,
        look_alikes=known.look_alikes,
        tool=ToolProbe(name="create_ticket", argument="employee"),
    )

    replay = run(
        Plan(transcript=transcript.with_facts(fact), policy=last_message, counter=encoder())
    )
    backend = open_backend(None, encoder=encoder(), fetch=True)

    answers = Interviewer(Asker(backend)).answers(replay, "filed")

    assert answers.usable  # called with the number when told it, with another when not
    assert answers.hits == 0
    assert sum(answers.outcomes.values()) == len(answers.usable)
    assert sum(answers.called.values()) == len(answers.usable)
