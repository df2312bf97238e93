"""A sample asked under a policy: what is sent, and what it comes to."""

import pytest

from pytest_ctxguard import SlidingWindow, full_history
from pytest_ctxguard.engine.open import open_backend
from pytest_ctxguard.errors import BackendError, UsageError
from pytest_ctxguard.recall.asking import Asker
from pytest_ctxguard.recall.needles.recipe import parse_recipe
from pytest_ctxguard.recall.needles.running import Setting, ask, show
from pytest_ctxguard.recall.needles.sample import drawn, prompt_digest, uncut
from pytest_ctxguard.stats import CountClaim
from pytest_ctxguard.testing import ScriptedBackend
from tests.factories import encoder


def answer_with(text):
    return ScriptedBackend(lambda messages: text)


def asked(backend, policy=full_history, budget=None, claims=None, haystack="register", **options):
    options = {"records": (8,), "depths": (0.5,), "trials": 4, "seed": 0, **options}
    sample = drawn(haystack, **options)
    setting = Setting(policy=policy, counter=encoder(), budget=budget)
    return ask(sample, show(sample, setting), setting=setting, asker=Asker(backend), claims=claims)


def test_the_prompt_that_is_asked_is_the_one_its_recipe_rebuilds():
    backend = answer_with("?")
    recall = asked(backend, depths=(0, 1), records=(4, 8))
    sent = [request["messages"] for request in backend.requests]
    for trial in recall.trials:
        transcript = parse_recipe(trial.recipe).transcript
        assert list(uncut(transcript)) in sent
        assert trial.digest == prompt_digest(uncut(transcript), transcript)
        assert trial.tokens == encoder().count(uncut(transcript))
    assert len(sent) == len(recall.trials) == 16
    assert recall.prompt_tokens == sum(encoder().count(messages) for messages in sent)


def test_the_depth_cells_of_a_trial_share_all_but_the_question():
    backend = answer_with("?")
    asked(backend, depths=(0, 0.5, 1), trials=1)
    before = {tuple(m["content"] for m in r["messages"][:-1]) for r in backend.requests}
    assert len(before) == 1
    assert len({r["messages"][-1]["content"] for r in backend.requests}) == 3


def test_every_outcome_is_told_apart():
    def answer(messages):
        owner = messages[-1]["content"][25:-1]
        lines = messages[1]["content"].splitlines()[1:]
        own = next(line for line in lines if f"to {owner}," in line)[-5:-1]
        other = next(line for line in lines if f"to {owner}," not in line)[-5:-1]
        texts = [own, f"It is {other}.", "It is 1099.", "I do not know.", "Hello!", None]
        text = texts[len(backend.requests) - 1]
        if text is None:
            raise BackendError("out of memory")
        return text

    backend = ScriptedBackend(answer)
    [cell] = asked(backend, trials=6).cells
    outcomes = ["hit", "neighbour", "invented", "abstained", "other", "error"]
    assert sorted(trial.outcome for trial in cell.trials) == sorted(outcomes)
    assert cell.outcomes == dict.fromkeys(outcomes, 1)
    assert (cell.hits, cell.of, cell.neighbours, cell.carried) == (1, 6, 1, 6)
    assert cell.interval.low < 1 / 6 < cell.interval.high


def test_a_ticket_number_is_no_extension():
    def answer(messages):
        return messages[1]["content"].splitlines()[1].split()[1]  # OPS-…

    [cell] = asked(ScriptedBackend(answer)).cells
    assert cell.outcomes == {"other": 4}


def test_what_a_policy_cuts_is_not_carried():
    recall = asked(
        answer_with("I do not know."), SlidingWindow(last=4), depths=(0, 1), layout="turns"
    )
    assert [cell.carried for cell in recall.cells] == [0, 4]
    assert recall.cell(depth=1).trials[0].sources == ("original",)
    assert recall.changed == 8


def test_the_tokens_over_the_budget_are_noticed():
    recall = asked(answer_with("?"), budget=100)
    assert (recall.changed, recall.over) == (0, 4)
    assert recall.longest > 100
    assert asked(answer_with("?"), budget=10_000).over == 0


def test_a_claim_ends_asking_when_it_is_decided():
    backend = answer_with("?")
    recall = asked(backend, trials=8, claims=lambda planned: [CountClaim(6, 8)])
    [cell] = recall.cells
    assert (cell.of, cell.planned) == (3, 8)
    assert [trial.id[-1] for trial in cell.trials] == ["0", "1", "2"]
    assert len(backend.requests) == 3


def test_cells_by_depth_and_length():
    recall = asked(answer_with("?"), depths=(0, 1), records=(4, 8))
    assert recall.cell(depth=1, records=4).name == "records=4:depth=1.0"
    assert len(recall.select(depth=1)) == 2
    with pytest.raises(UsageError, match="2 cells are depth 1; there are: 4 records, depth 0"):
        recall.cell(depth=1)
    with pytest.raises(UsageError, match="0 cells are 9 records"):
        recall.cell(records=9)
    with pytest.raises(UsageError, match="cells that differ in length alone"):
        recall.effective_length()


def test_the_effective_length():
    def answer(messages):
        lines = messages[1]["content"].splitlines()[1:]
        owner = messages[-1]["content"][25:-1]
        return next(line for line in lines if f"to {owner}," in line)[-5:-1] * (len(lines) < 5)

    recall = asked(ScriptedBackend(answer), records=(1, 4, 8))
    assert recall.effective_length().length == 4


def test_cells_are_compared_draw_by_draw():
    def answer(messages):
        lines = messages[1]["content"].splitlines()[1:]
        owner = messages[-1]["content"][25:-1]
        found = next(i for i, line in enumerate(lines) if f"to {owner}," in line)
        return lines[found if found == 0 or len(backend.requests) % 2 else found - 1][-5:-1]

    backend = ScriptedBackend(answer)
    first, last = asked(backend, depths=(0, 1), trials=4).cells
    changes = first.changes_to(last)
    assert len(changes.lost) + len(changes.kept) == 4
    assert {*changes.lost} == {
        f"trial={trial.id[-1]}" for trial in last.trials if trial.outcome == "neighbour"
    }
    assert last.changes_to(first).gained == changes.lost


def test_an_answer_has_room_for_what_is_asked():
    backend = answer_with("?")
    asked(backend, trials=1)
    asked(backend, trials=1, haystack="pairs")
    assert [request["max_tokens"] for request in backend.requests] == [48, 96]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_sample_is_the_same_every_time_and_another_seed_is_another(seed):
    def recipes(number):
        return [trial.digest for trial in asked(answer_with("?"), seed=number).trials]

    assert recipes(seed) == recipes(seed)
    assert not {*recipes(seed)} & {*recipes(seed + 1)}


@pytest.mark.model
def test_the_model_finds_some_needles(default_model):
    recall = asked(open_backend(encoder=encoder(), fetch=False), depths=(0, 1))
    assert all(cell.carried == 4 for cell in recall.cells)
    assert all(trial.outcome != "error" for trial in recall.trials)
    assert recall.cell(depth=0).hits >= 3
    assert recall.spent.computed_tokens < recall.spent.prompt_tokens
