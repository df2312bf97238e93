"""Recorded traffic, as text and as JSON."""

import io

from rich.console import Console

from pytest_ctxguard.prefix.rules import load_rules
from pytest_ctxguard.report.tables.session import measure_session, render_session
from pytest_ctxguard.transcript.model import Compaction
from tests.factories import LetterCounter, session, user

RULES = load_rules()


def measured(*runs, provider="sglang"):
    return measure_session(
        runs or (session(),), rule=RULES[provider], counter=LetterCounter()
    )  # fmt: skip


def page(found, title="small.jsonl"):
    console = Console(file=io.StringIO(), width=100)
    for part in render_session(found, title=title):
        console.print(part)
    return console.file.getvalue()


def compacted(text="So far: a number."):
    return session(compactions=(Compaction(at=6, kept_from=6, inserted=(user(text),)),))


def test_without_breaks_or_usage():
    found = measured()
    json = found.as_json()
    assert (json["calls"], json["breaks"], json["level"]) == (4, [], "messages")
    assert json["billed_input_tokens"] == found.cost.sent
    assert json["recorded"]["cached_tokens"] is None
    assert json["recorded"]["simulated_read"] is None
    assert "no call here tells what was read from a cache" in page(found)


def test_a_break_is_shown_with_its_place_texts_and_cause():
    found = measured(compacted())
    [broken] = found.as_json()["breaks"]
    assert broken["call"] == 2
    assert broken["section"] == "messages"
    assert broken["where"].startswith("messages, message 1")
    assert broken["cause"]
    assert "So far" in broken["after"]
    text = page(found)
    assert "messages, message 1" in text
    assert "whole messages compared" in text


def test_a_request_that_only_lost_its_end_has_a_place_too():
    compaction = Compaction(at=6, kept_from=8, inserted=())
    [broken] = measured(session(compactions=(compaction,))).breaks[:1]
    assert broken.kind == "truncated"
    shown = measured(session(compactions=(compaction,))).as_json()["breaks"][0]
    assert (shown["section"], shown["where"]) == (None, "truncated")


def test_recorded_reads_stand_beside_the_simulated_ones():
    told = {
        2: {"prompt_tokens": 50, "cached_tokens": 0},
        4: {"prompt_tokens": 60, "cached_tokens": 40, "completion_tokens": 9},
        6: {"prompt_tokens": 70, "cached_tokens": 0},
    }
    found = measured(session(recorded=told))
    json = found.as_json()["recorded"]
    assert (json["calls"], json["prompt_tokens"], json["cached_tokens"]) == (3, 180, 40)
    assert (json["completion_tokens"], json["cache_written_tokens"]) == (9, None)
    reads = [call.read for call in found.cost.simulation.calls]
    assert reads[0] == 0 < min(reads[1:])
    assert json["simulated_read"] == sum(reads[:3])
    assert json["alike"] == 2  # at the third call it read nothing, and the text goes on
    assert "2 of 3" in page(found)


def test_foreign_text_is_spelled_out():
    text = page(measured(compacted("\x1b[2J[red]so far[/red]")), title="a\x1b[31m.jsonl")
    assert "\x1b" not in text
    assert r"a\x1b[31m.jsonl" in text
    assert "[red]" in text
