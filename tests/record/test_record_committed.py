import json

import pytest

from fixtures.record.__main__ import SESSIONS
from pytest_ctxguard.transcript.library import find
from pytest_ctxguard.transcript.messages import is_user, tool_calls


@pytest.fixture(params=sorted(SESSIONS))
def recorded(request):
    return SESSIONS[request.param](), find(request.param)


def test_the_committed_recording_is_of_this_script(recorded):
    session, transcript = recorded
    said = [message["content"] for message in transcript.messages if is_user(message)]
    assert said == [turn.text for turn in session.turns]
    assert transcript.messages[0] == {"role": "system", "content": session.system}
    assert transcript.tools == session.tools


def test_its_tool_results_are_what_the_environment_answers(recorded):
    session, transcript = recorded
    environment = session.environment(transcript.provenance["seed"])
    functions = [c["function"] for m in transcript.messages for c in tool_calls(m)]
    again = [environment.call(f["name"], json.loads(f["arguments"])) for f in functions]
    results = [m["content"] for m in transcript.messages if m["role"] == "tool"]
    assert results == again


def test_its_facts_are_planted_from_this_script(recorded):
    session, transcript = recorded
    planted = {plant.name: plant for plant in session.plants}
    assert [fact.name for fact in transcript.facts] == list(planted)
    for fact in transcript.facts:
        plant = planted[fact.name]
        assert (fact.value, fact.kind, fact.shape) == (plant.value, plant.kind, plant.shape)
        assert len(fact.wordings) == 6
        assert set(fact.wordings) <= set(plant.candidates)
