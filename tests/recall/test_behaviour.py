"""What a model does next: long tasks, and tools that do not exist."""

import json

import pytest

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.checks.behaviour import judge_early_stop, judge_tool_choice
from pytest_ctxguard.engine.open import open_backend
from pytest_ctxguard.errors import PromptTooLong, UsageError
from pytest_ctxguard.recall.asking import Asker
from pytest_ctxguard.recall.behaviour import STEP_TOKENS, early_stop, tool_choice
from pytest_ctxguard.recall.reading_task import NOTICE, READ_CHAPTER, reading_task
from pytest_ctxguard.testing import ScriptedBackend
from pytest_ctxguard.transcript.wellformed import PROVIDERS
from tests.factories import LetterCounter, encoder, replayed, session, tool

NEXT = Completion("", tool_calls=(ToolCall("read_chapter", '{"number": 9}'),))
WRONG = Completion("", tool_calls=(ToolCall("open_book", "{}"), ToolCall("read_chapter", "{}")))


def asker(answer):
    return Asker(ScriptedBackend(answer))


def stops_untold(messages):
    """A model that goes on only when it is told that it may."""
    return NEXT if NOTICE in messages[0]["content"] else "I stop here to save space."


def stopped(answer=stops_untold, **changes):
    fields = {"counter": LetterCounter(), "draws": 6, "budget": 8000}
    return early_stop(asker(answer), **{**fields, **changes})


def task(number=1, **changes):
    fields = {"seed": 0, "budget": 8000, "chapters": 40, "counter": LetterCounter()}
    return reading_task(number, **{**fields, **changes})


def test_a_quarter_of_the_budget_is_used_when_it_is_broken_off():
    for number in range(1, 9):
        each = task(number)
        assert 0.8 * 2000 <= each.tokens <= 1.05 * 2000
        assert each.tokens == LetterCounter().count(each.messages, tools=[READ_CHAPTER])


def test_the_size_is_the_real_counters_too():
    assert 0.8 * 1000 <= task(budget=4000, counter=encoder()).tokens <= 1.05 * 1000


def test_a_task_is_a_session_that_a_provider_takes():
    each = task(3)
    assert not PROVIDERS["openai"](each.messages)
    numbers = [json.loads(m["tool_calls"][0]["function"]["arguments"])["number"]
               for m in each.messages if m.get("tool_calls")]  # fmt: skip
    assert numbers == list(range(1, each.read + 1))
    assert each.messages[-1]["role"] == "tool"
    assert "8000 tokens" in each.messages[0]["content"]
    assert "all 40 chapters" in each.messages[1]["content"]


def test_the_notice_is_all_that_tells_two_conditions_apart():
    each = task(2)
    told = each.noticed()
    assert told.messages[0]["content"] == f"{each.messages[0]['content']} {NOTICE}"
    assert told.messages[1:] == each.messages[1:]
    assert told.id == each.id


def test_draws_differ_and_a_seed_is_a_sample():
    texts = {str(task(number).messages) for number in range(1, 13)}
    assert len(texts) == 12
    assert task(4) == task(4)
    assert task(4).messages != task(4, seed=1).messages
    assert {task(number).read for number in range(1, 30)} == {2, 3, 4, 5}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"budget": 300}, "a quarter of it has no room for"),
        ({"chapters": 5}, "chapters=5: a long task has more than 5 chapters"),
    ],
)
def test_impossible_tasks(changes, said):
    with pytest.raises(UsageError, match=said):
        task(**changes)


@pytest.mark.parametrize("draws", [0, -1, True, 1.5])
def test_a_number_of_draws_that_is_none(draws):
    with pytest.raises(UsageError, match="give a positive number of tasks"):
        stopped(draws=draws)


def test_with_and_without_the_notice():
    result = stopped()
    assert result.without.outcomes == {"text": 6}
    assert result.noticed.outcomes == {"calls": 6}
    assert (result.without.stops, result.noticed.goes_on, result.noticed.of) == (6, 6, 6)
    assert len(result.changes.gained) == 6
    assert result.p == pytest.approx(2 * 0.5**6)
    assert result.noticed.interval.high == 1
    assert result.noticed.steps[0].id == "draw/1"


def test_what_is_asked():
    backend = ScriptedBackend(lambda messages: "x")
    early_stop(Asker(backend), counter=LetterCounter(), draws=2, budget=8000)
    assert len(backend.requests) == 4
    for request in backend.requests:
        assert request["tools"] == [READ_CHAPTER]
        assert request["tool_choice"] == "auto"
        assert request["max_tokens"] == STEP_TOKENS


def test_a_call_of_a_tool_that_does_not_exist_is_neither():
    steps = stopped(lambda messages: WRONG).noticed
    assert steps.outcomes == {"unknown tool": 6}
    assert (steps.goes_on, steps.stops) == (0, 0)
    assert steps.unknown_tools == {"open_book": 6}


def test_what_could_not_be_asked_is_an_error():
    def refuse(messages):
        raise PromptTooLong(900, 500)

    result = stopped(refuse)
    assert result.noticed.outcomes == {"error": 6}
    judgement = judge_early_stop(result, at_least=None)
    assert judgement.verdict == "fail"
    assert judgement.findings[0].rule == "ctx_behaviour.early_stop_error"


def test_enough_go_on():
    assert judge_early_stop(stopped(), at_least=6).verdict == "pass"
    summary = judge_early_stop(stopped(), at_least=None).summary
    assert summary == "6 of 6 go on with the notice (61% to 100%), 0 without it"


def test_too_few_go_on():
    [finding] = judge_early_stop(stopped(lambda m: "Done."), at_least=1).findings
    assert finding.rule == "ctx_behaviour.early_stop"
    assert finding.measured == "6 text; without the notice: 6 text"
    assert finding.allowed == "at least 1 of 6 go on"
    assert finding.where.startswith("draw/1 ('Done.'), ")
    assert finding.where.endswith(" and 3 more")


def test_a_step_is_asked_for_at_each_user_turn():
    backend = ScriptedBackend(lambda messages: "x")
    replay = replayed(lambda messages: messages[-2:])
    steps = tool_choice(Asker(backend), replay)
    assert [step.id for step in steps.steps] == ["turn 1", "turn 2", "turn 3"]
    sent = [list(replay.steps[call].request.messages) for call in (0, 1, 3)]
    assert sorted(map(str, (r["messages"] for r in backend.requests))) == sorted(map(str, sent))
    assert all(request["tools"] == [tool()] for request in backend.requests)


def test_tools_that_do_not_exist_are_counted_by_name():
    def answer(messages):
        return Completion("", tool_calls=(ToolCall("search_logs", "{}"),))

    steps = tool_choice(asker(answer), replayed(list))
    assert steps.unknown_tools == {"search_logs": 3}
    where = "transcript small, policy list"
    assert judge_tool_choice(steps, max_unknown=3, where=where).verdict == "pass"
    judgement = judge_tool_choice(steps, max_unknown=2, where=where)
    [finding] = judgement.findings
    assert judgement.summary == "3 unknown tool, of 3 user turns"
    assert finding.measured == "3 of 3 steps: search_logs 3x"
    assert finding.where.startswith("transcript small, policy list, turn 1 (")


def test_a_session_without_tools_has_nothing_to_choose():
    replay = replayed(list, session(tools=()))
    with pytest.raises(UsageError, match="'small' has no tools"):
        tool_choice(asker(lambda m: "x"), replay)


def test_a_session_without_user_turns():
    replay = replayed(list, session(messages=session().messages[4:7], facts=()))
    with pytest.raises(UsageError, match="no call of transcript 'small' follows a user message"):
        tool_choice(asker(lambda m: "x"), replay)


@pytest.mark.model
def test_the_model_takes_a_step(default_model):
    backend = open_backend(encoder=encoder(), fetch=False)
    result = early_stop(Asker(backend), counter=encoder(), draws=1, budget=2400)
    assert result.without.outcomes.keys() | result.noticed.outcomes.keys() <= {
        "calls",
        "unknown tool",
        "text",
    }
