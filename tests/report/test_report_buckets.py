"""What fills the requests of a replay, as text and as JSON."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from pytest_ctxguard.report.tables.buckets import SHOWN, buckets_json, render_buckets
from pytest_ctxguard.tokens.buckets import BUCKETS
from tests.factories import assistant, replayed, session, user


def pinned(messages):
    return [messages[0], user("Kept: My employee number is 4417."), messages[-1]]


def page(replay, by=None, width=80):
    console = Console(file=io.StringIO(), width=width)
    for part in render_buckets(replay, by=by):
        console.print(part)
    return console.file.getvalue()


def rows(text, first):
    """Return the cells of the table whose first column has this head."""
    lines = iter(text.splitlines())
    next(line for line in lines if line.startswith(f"{first} "))
    next(lines)
    found = []
    for line in lines:
        if not line.strip():
            break
        found.append(line.split())
    return found


def test_as_json():
    replay = replayed(list, budget=500, label="full-history")
    printed = buckets_json(replay)
    assert json.loads(json.dumps(printed)) == printed
    use = replay.bucket_use
    assert (printed["transcript"], printed["policy"]) == ("small", "full-history")
    assert (printed["budget"], printed["counter"]) == (500, "letters")
    assert printed["billed_input_tokens"] == replay.tokens.billed == sum(printed["billed"].values())
    assert printed["resent"] == {"tokens": use.resent, "share": round(use.growth, 4)}
    assert [call["total"] for call in printed["calls"]] == list(replay.tokens.by_call)
    assert printed["calls"][0]["tokens"].keys() == set(BUCKETS)
    assert printed["overtakings"][0].keys() == {"bucket", "other", "turn", "call"}


def test_a_row_for_each_turn_shows_its_last_request_and_what_all_of_it_bills():
    replay = replayed(list, label="full-history")
    sent = replay.tokens.by_call
    shown = rows(page(replay), "turn")
    assert [row[0] for row in shown] == ["1", "2", "3"]
    assert [row[-4] for row in shown] == [f"{sent[0]}", f"{sent[2]}", f"{sent[3]}"]
    assert [row[-3] for row in shown] == ["1", "2", "1"]
    assert [row[-2] for row in shown] == [f"{sent[0]}", f"{sent[1] + sent[2]}", f"{sent[3]}"]
    assert shown[0][-1] == "0%"


def test_a_row_for_each_call():
    replay = replayed(list)
    shown = rows(page(replay, by="call"), "call")
    assert [row[0] for row in shown] == ["0", "1", "2", "3"]
    assert [row[-2] for row in shown] == [f"{tokens}" for tokens in replay.tokens.by_call]


def test_of_one_turn_the_calls_are_shown_unless_turns_are_asked_for():
    replay = replayed(list, session(messages=session().messages[:3], facts=()))
    assert rows(page(replay), "call")
    assert rows(page(replay, by="turn"), "turn")


def test_buckets_that_stay_empty_are_left_out():
    assert "pinned" not in page(replayed(list))
    text = page(replayed(pinned))
    assert "pinned" in text
    assert "summary" not in text


def test_totals_have_shares():
    replay = replayed(list)
    billed = replay.bucket_use.billed
    shown = {row[0]: row for row in rows(page(replay), "bucket")}
    assert shown["tools"][-2:] == [f"{billed.tools}", f"{billed.tools / billed.total:.0%}"]
    assert shown["all"][-1] == f"{billed.total}"


def test_what_was_resent_and_overtaken_is_said():
    replay = replayed(list)
    text = " ".join(page(replay).split())
    use = replay.bucket_use
    assert f"{use.resent:,} of {use.billed.total:,} billed tokens ({use.growth:.0%}) were" in text
    assert "tool results overtook tools at turn 2 (call 2)" in text
    assert "overtook system" not in text


def test_a_long_session_ends_with_how_many_more_there_are():
    turns = [m for n in range(SHOWN + 3) for m in (user(f"q{n}"), assistant("a"))]
    text = page(replayed(list, session(messages=tuple(turns), facts=())))
    assert [row[0] for row in rows(text, "turn")] == [*map(str, range(1, SHOWN + 1)), "…"]
    assert "… and 3 more; all with --json" in text


@pytest.mark.parametrize("by", ["turn", "call"])
def test_large_numbers_fit_80_columns(by):
    long = (user("x" * 1_234_567), assistant("y"), user("z"))
    text = page(replayed(list, session(messages=long, facts=())), by=by)
    assert "1,234,568" in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_control_characters_of_a_name_are_spelled_out():
    replay = replayed(list, replace(session(), name="a\x1b[31mb"))
    assert "\x1b" not in page(replay)
    assert "a\\x1b[31mb" in page(replay)
