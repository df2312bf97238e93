"""Report A: eight sub-agents over long documents, against an endpoint with a real limit.

Driven, not replayed: "8 of 8 finish" is a loop that came to its end.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from pytest_ctxguard.driver.limited import LimitedBackend
from pytest_ctxguard.driver.run import drive
from pytest_ctxguard.driver.values import Drive
from pytest_ctxguard.endpoint import EndpointBackend
from pytest_ctxguard.policies.three_step_fit import (
    CLEARED_NOTE,
    CountedThreeStepFit,
    ThreeStepFit,
)
from pytest_ctxguard.policies.user_turn_trimmer import UserTurnTrimmer
from pytest_ctxguard.server.running import Server
from pytest_ctxguard.server.script import ScriptedAnswers
from pytest_ctxguard.tokens.request import RequestEncoder
from tests.regression.long_documents import ANSWER, EIGHT, Reader

LIMIT = 16_000  # tokens the endpoint takes; a reader gathers two to four times as many
BUDGET = LIMIT * 4 // 10  # report A kept 400,000 tokens of a million


@pytest.fixture(scope="module")
def encoder() -> RequestEncoder:
    return RequestEncoder()


def run(reader: Reader, policy, encoder: RequestEncoder, budget: int = BUDGET) -> Drive:
    model = LimitedBackend(ScriptedAnswers(reader.script_of_the_model), encoder, LIMIT)
    return drive(reader.job, policy, backend=model, counter=encoder, budget=budget)


def cleared(step) -> int:
    return sum(message.get("content") == CLEARED_NOTE for message in step.request)


def test_the_old_trimmer_has_8_of_8_refused(encoder):
    drives = [run(reader, UserTurnTrimmer(), encoder) for reader in EIGHT]
    assert [d.outcome for d in drives] == ["refused"] * 8
    for one in drives:
        last = one.steps[-1]
        assert last.tokens == last.history_tokens == one.refusal.tokens > LIMIT
        assert len(one.steps) < 24  # it never got to its last chapter


@pytest.mark.parametrize("policy", [ThreeStepFit, CountedThreeStepFit])
def test_the_three_step_fit_has_0_of_8_refused_and_all_8_finish(encoder, policy):
    drives = [run(reader, policy(), encoder) for reader in EIGHT]
    assert [d.outcome for d in drives] == ["finished"] * 8
    for one in drives:
        assert one.answer == ANSWER
        assert [call.arguments for call in one.tool_calls] == [
            f'{{"number": {n}}}' for n in range(1, 25)
        ]
        assert one.steps[-1].history_tokens > LIMIT  # it would have been refused uncut
        assert len(one.history) == 2 + 2 * 24 + 1  # the stored history keeps everything
        assert all(m["content"] != CLEARED_NOTE for m in one.history)


def test_with_the_whole_limit_as_budget_the_counted_fit_finishes_too(encoder):
    drives = [run(reader, CountedThreeStepFit(), encoder, budget=LIMIT) for reader in EIGHT]
    assert [d.outcome for d in drives] == ["finished"] * 8
    assert max(step.tokens for d in drives for step in d.steps) <= LIMIT


def test_the_cleared_prefix_stays_identical_over_several_calls(encoder):
    reader = Reader(1, "russian", chapters=60, words=100)  # a result is a twentieth of the budget
    one = run(reader, CountedThreeStepFit(), encoder)
    lengths = runs_of_equal_clearing(one)
    assert len(lengths) > 8
    assert set(lengths) == {3, 4}  # what four cleared results leave room for, their notes staying
    one_by_one = run(reader, CountedThreeStepFit(clear_batch=1), encoder)
    assert set(runs_of_equal_clearing(one_by_one)) == {1}


def runs_of_equal_clearing(one: Drive) -> list[int]:
    """Return for how many calls each clearing lasted, the unfinished last one left out.

    Within one the whole of a request is the beginning of the next.
    """
    lengths = [0]
    for before, after in pairwise(step for step in one.steps if cleared(step)):
        lengths[-1] += 1
        if cleared(after) == cleared(before):
            assert after.request[: len(before.request)] == before.request
        else:
            lengths.append(0)
    return lengths[:-1]


@pytest.mark.parametrize(
    ("policy", "outcome"), [(UserTurnTrimmer, "refused"), (CountedThreeStepFit, "finished")]
)
def test_over_http_the_same_happens(encoder, policy, outcome):
    reader = EIGHT[1]
    answers = ScriptedAnswers(reader.script_of_the_model)
    with Server(answers, encoder, limit=LIMIT) as server:
        backend = EndpointBackend(server.openai_base_url)
        try:
            one = drive(reader.job, policy(), backend=backend, counter=encoder, budget=BUDGET)
        finally:
            backend.close()
        assert one.outcome == outcome
        assert len(server.requests) == len(one.steps)
        assert [r.prompt_tokens for r in server.requests] == [step.tokens for step in one.steps]
        assert [r.status for r in server.requests][-1] == (400 if outcome == "refused" else 200)
