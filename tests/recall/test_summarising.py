"""The model as summariser."""

import copy

import pytest

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.engine.open import open_backend
from pytest_ctxguard.errors import PromptTooLong, UsageError
from pytest_ctxguard.policies.summary_compaction import SummaryCompaction
from pytest_ctxguard.recall.asking import Asker
from pytest_ctxguard.recall.summarising import EngineSummariser
from pytest_ctxguard.replay.calls import SummaryUse
from pytest_ctxguard.testing import ScriptedBackend
from tests.factories import encoder, replayed, session, tool, user
from tests.summarising import long_session


def summariser(answer="A summary.", **options):
    backend = ScriptedBackend(lambda messages: answer)
    return EngineSummariser(Asker(backend), **options), backend


def once(messages, *, summarise):
    """Summarise all but the newest message."""
    return [user(summarise(messages[:-1]) or "nothing"), messages[-1]]


def test_its_name_says_model_and_length():
    backend = ScriptedBackend([], identity={"model": "qwen@1d96 recipe 2", "numerics": "exact"})
    assert EngineSummariser(Asker(backend)).name == "qwen, 256 tokens"
    assert EngineSummariser(Asker(backend), max_tokens=64).name == "qwen, 64 tokens"


@pytest.mark.parametrize("length", [0, -1, 1.5, True, None])
def test_a_length_that_is_none(length):
    with pytest.raises(UsageError, match="give a positive number of tokens"):
        summariser(max_tokens=length)


def test_the_policy_gets_the_text_and_the_replay_the_tokens():
    given = Completion("A summary.", prompt_tokens=50, completion_tokens=7, finish_reason="length")
    made, _ = summariser(given)
    replay = replayed(once, session(facts=()), summariser=made)
    assert replay.final.request.messages[0] == user("A summary.")
    [summary] = replay.summaries[0]
    assert (summary.text, summary.written, summary.finish_reason) == ("A summary.", 7, "length")
    shown = sum(s.tokens for step in replay.summaries for s in step)
    assert replay.summary_use == SummaryUse(calls=4, input=shown, output=28, at_length=4)
    assert replay.probe_summary_use == SummaryUse()


def test_a_summary_is_asked_for_once_however_often_it_is_needed():
    made, backend = summariser()
    for _ in range(2):
        replay = replayed(once, summariser=made)
    assert len(backend.requests) == 5  # four calls; one probe has another history than any call
    assert replay.probe_summary_use.calls == 3


def test_what_the_policy_asks_for_reaches_the_model():
    made, backend = summariser(max_tokens=99)

    def policy(messages, summarise):
        summarise("all of it")
        summarise(messages, max_tokens=8, tools=[tool()])
        return list(messages)

    replayed(policy, session(facts=(), messages=session().messages[:2]), summariser=made)
    first, second = backend.requests
    assert (first["messages"], first["max_tokens"], first["tools"]) == ([user("all of it")], 99, [])
    assert (second["max_tokens"], second["tools"]) == (8, [tool()])


def test_a_prompt_beyond_the_window_is_raised_to_the_policy_and_counted_apart():
    def refuse(messages):
        raise PromptTooLong(900, 500)

    made = EngineSummariser(Asker(ScriptedBackend(refuse)))
    replay = replayed(SummaryCompaction, long_session(), budget=300, summariser=made)
    use = replay.summary_use
    assert use.failed == {"PromptTooLong": use.calls}
    assert use.calls >= 1
    assert (use.input, use.output) == (0, 0)
    assert replay.final.request.messages == long_session().messages[: replay.final.call.history]
    with pytest.raises(PromptTooLong):
        replayed(once, session(facts=()), summariser=made)


def test_an_answer_that_is_a_tool_call_is_no_summary():
    made, _ = summariser(
        Completion("", tool_calls=(ToolCall("read_log", "{}"),), finish_reason="tool_calls")
    )
    replay = replayed(SummaryCompaction, long_session(), budget=300, summariser=made)
    assert replay.summary_use.failed == {"no text": replay.summary_use.calls}


def test_copies_of_a_policy_share_it():
    made, _ = summariser()
    assert copy.deepcopy({"kept": made})["kept"] is made


def test_a_summariser_that_says_nothing_of_its_output_leaves_it_unknown():
    replay = replayed(once, session(facts=()), summariser=lambda shown: "short")
    assert replay.summary_use.output is None
    assert replay.summary_use.calls == 4


@pytest.mark.model
def test_the_model_summarises(default_model):
    made = EngineSummariser(Asker(open_backend(encoder=encoder(), fetch=False)), max_tokens=24)
    replay = replayed(once, session(facts=()), summariser=made)
    use = replay.summary_use
    assert made.name.endswith("b-instruct, 24 tokens")
    assert use.calls == 4
    assert 0 < use.output <= 4 * 24
    assert not use.failed
    again = replayed(once, session(facts=()), summariser=made)
    assert again.summaries == replay.summaries
