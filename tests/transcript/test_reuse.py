"""Predicted prefix breaks against recorded cache reads."""

from collections import Counter
from pathlib import Path

import pytest

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.document import open_document
from pytest_ctxguard.transcript.model import Compaction, Transcript
from pytest_ctxguard.transcript.readers import cassette, claude_code, pi
from pytest_ctxguard.transcript.reuse import (
    KEPT_SECONDS,
    SLACK,
    reuse,
    reuse_agreement,
    shared_prefix,
)
from tests.factories import assistant, system, tool, user

CLAUDE = "claude-sonnet-4-5"


def claude(cached, written, *, fresh=3, minute=0, **more):
    """What is recorded of a call of Anthropic's."""
    usage = {"cached_tokens": cached, "cache_written_tokens": written}
    prompt = cached + written + fresh
    time = f"2026-11-30T10:{minute:02d}:00Z"
    return {"model": CLAUDE, "prompt_tokens": prompt, **usage, "time": time, **more}


def talk(*calls, **fields):
    """A session of one question and one answer a call."""
    messages = [system()]
    for number in range(len(calls)):
        messages += [user(f"question {number}"), assistant(f"answer {number}")]
    recorded = {2 * number + 2: call for number, call in enumerate(calls)}
    given = {"name": "talk", "messages": tuple(messages), "tools": (tool(),), "recorded": recorded}
    return Transcript(**{**given, **fields})


def only(*runs):
    [row] = reuse(runs)
    return row


def test_a_prefix_that_is_extended_and_read_to_the_token():
    rows = reuse([talk(claude(0, 2000), claude(2000, 500), claude(2500, 400))])
    assert [(row.kept, row.cached, row.predicted, row.dropped) for row in rows] == [
        (2000, 2000, None, False),
        (2500, 2500, None, False),
    ]
    found = reuse_agreement(rows)
    assert (found.compared, found.to_the_token, found.drops, found.breaks) == (2, 2, 0, 0)
    assert found.agreed == 2


@pytest.mark.parametrize(("missing", "dropped"), [(SLACK, False), (SLACK + 1, True)])
def test_a_drop_is_more_than_the_slack(missing, dropped):
    assert only(talk(claude(0, 2000), claude(2000 - missing, 900))).dropped is dropped


def test_a_compaction_is_a_predicted_break():
    summary = Compaction(at=3, kept_from=3, inserted=(user("Summary: …"),))
    row = only(talk(claude(0, 2000), claude(0, 900), compactions=(summary,)))
    assert (row.predicted, row.dropped, row.why) == ("compaction, message 1", True, "predicted")
    found = reuse_agreement([row])
    assert (found.drops, found.breaks, found.both, found.unexplained) == (1, 1, 1, 0)
    assert found.agreed == 1


def test_another_model_or_other_tools_are_predicted_breaks():
    [model] = reuse([talk(claude(0, 2000), claude(0, 2100) | {"model": "claude-opus-4-6"})])
    assert model.predicted == "model"
    [tools] = reuse([talk(claude(0, 2000), claude(0, 2100, tools=["other"]))])
    assert tools.predicted == "tools"
    [same] = reuse([talk(claude(0, 2000), claude(0, 2100, tools=["read_log"]))])
    assert same.predicted is None


def test_a_break_that_cost_nothing_is_counted_as_break_only():
    found = reuse_agreement(reuse([talk(claude(0, 2000), claude(2000, 100, tools=[]))]))
    assert (found.drops, found.breaks, found.both, found.agreed) == (0, 1, 0, 0)


def test_a_pause_explains_a_drop():
    at = int(KEPT_SECONDS // 60)
    assert only(talk(claude(0, 2000), claude(0, 2100, minute=at + 1))).why == "pause"
    just = only(talk(claude(0, 2000), claude(0, 2100, minute=at)))
    assert (just.pause, just.why) == (KEPT_SECONDS, "unexplained")


def test_a_smaller_request_explains_a_drop():
    row = only(talk(claude(0, 2000), claude(1000, 500)))
    assert (row.shrunk, row.why) == (True, "shrunk")


def test_a_drop_to_nothing_where_the_system_prompt_or_the_tools_were_not_recorded():
    assert only(talk(claude(0, 2000), claude(0, 2100), tools=())).why == "unrecorded"
    assert only(talk(claude(0, 2000), claude(0, 2100))).why == "unexplained"
    assert only(talk(claude(0, 2000), claude(700, 2100), tools=())).why == "unexplained"


def test_calls_that_cached_nothing_are_not_compared():
    assert reuse([talk(claude(0, 0, fresh=2000), claude(0, 0, fresh=2200))]) == ()
    unknown = {"model": CLAUDE, "prompt_tokens": 2000}
    assert reuse([talk(claude(0, 2000), unknown)]) == ()


def test_openai_caches_whole_steps_of_long_prompts_unasked():
    def openai(prompt, cached):
        return {"model": "gpt-4o", "prompt_tokens": prompt, "cached_tokens": cached}

    assert reuse([talk(openai(1000, 0), openai(1100, 0))]) == ()
    row = only(talk(openai(1500, 0), openai(1600, 1408)))
    assert (row.kept, row.cached, row.dropped) == (1408, 1408, False)
    assert only(talk(openai(700, 640), openai(800, 0))).dropped


def test_a_session_that_begins_like_the_exchange_before_it_is_an_edited_history():
    first = talk(claude(0, 2000, exchange=1), claude(2000, 300, exchange=2))
    edited = talk(claude(400, 1500, exchange=3))
    changed = (edited.messages[0], user("another question"), *edited.messages[2:])
    edited = Transcript(
        name="edited", messages=changed, tools=edited.tools, recorded=edited.recorded
    )
    rows = reuse([first, edited])
    assert [(row.run, row.predicted, row.dropped) for row in rows] == [
        (0, None, False),
        (1, "history, message 1", True),
    ]
    unrelated = Transcript(
        name="new",
        messages=(system("Another agent."), *edited.messages[1:]),
        tools=edited.tools,
        recorded=edited.recorded,
    )
    assert len(reuse([first, unrelated])) == 1


def test_times_that_cannot_be_compared_are_no_pause():
    later = claude(0, 2100) | {"time": "2026-11-30T11:00:00"}
    assert only(talk(claude(0, 2000), later)).pause is None
    assert only(talk(claude(0, 2000), claude(0, 2100) | {"time": "noon"})).pause is None


def test_cache_marks_do_not_change_a_message():
    def marked(**marks):
        return {"role": "user", "content": [parts.text("a"), parts.text("b", **marks)]}

    mark = marked(cache_control={"type": "ephemeral"})
    assert shared_prefix([system(), mark], [system(), marked(), user("c")]) == 2
    assert shared_prefix([system(), user("a")], [system(), user("b")]) == 1


SHARED = Path(__file__).resolve().parents[3] / "shared/data/transcripts"


def shared(reader, name):
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path.name}: the shared recordings are not here")
    rows = reuse(reader.read(open_document(path)).runs)
    return rows, reuse_agreement(rows)


def test_a_long_recorded_session_reads_what_was_kept_or_nothing():
    rows, found = shared(pi.READER, "pi_badlogic/large-session.jsonl")
    assert (found.compared, found.to_the_token, found.agreed) == (438, 398, 401)
    assert (found.drops, found.breaks, found.unexplained) == (37, 0, 0)
    assert (found.pause, found.shrunk, found.unrecorded) == (4, 3, 30)
    drops = [row for row in rows if row.dropped]
    assert {row.cached for row in drops} == {0}  # the break is before the first message
    assert all(row.kept - row.cached <= 12 for row in rows if not row.dropped)


def test_a_recorded_change_of_tools_cost_the_cache():
    rows, found = shared(
        cassette.READER, "vcr_pydantic-ai/test_deepseek_deferred_capability_with_thinking.yaml"
    )
    assert (found.compared, found.drops, found.breaks, found.both) == (1, 1, 1, 1)
    assert rows[0].predicted == "tools"


def test_a_session_behind_a_gateway_loses_its_cache_for_no_reason_on_record():
    rows, found = shared(claude_code.READER, "claude-code_codemie/session-9eda1058.jsonl")
    assert (found.compared, found.drops, found.breaks) == (4, 4, 0)
    assert Counter(row.why for row in rows) == {"unrecorded": 3, "unexplained": 1}
