"""Transcripts written and read back; what is cut is noticed."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.fact_json import ALWAYS, dump_fact
from pytest_ctxguard.transcript.jsonl import dump, load
from pytest_ctxguard.transcript.library import builtin_folder
from pytest_ctxguard.transcript.model import ToolProbe, Transcript
from tests.factories import assistant, employee, result, session, user
from tests.transcript.transcript_strategies import transcripts


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("transcripts") / "some.jsonl"


@settings(deadline=None, max_examples=60)
@given(transcripts())
def test_what_is_written_is_read_back(path, transcript):
    dump(transcript, path)
    assert load(path) == transcript


@settings(deadline=None, max_examples=60)
@given(transcripts(), st.floats(0, 1, exclude_max=True))
def test_a_file_cut_anywhere_is_an_error(path, transcript, share):
    dump(transcript, path)
    whole = path.read_bytes()
    end = len(whole) - 1  # without the last line's end, nothing is missing
    path.write_bytes(whole[: int(share * end)])
    with pytest.raises(TranscriptError):
        load(path)
    path.write_bytes(whole[:end])
    assert load(path) == transcript


def test_a_small_file_cut_at_every_byte_is_an_error(path):
    tiny = Transcript(
        name="t", messages=(user("4417"),), facts=(employee(planted_at=0, asked_at=None),)
    )
    dump(tiny, path)
    whole = path.read_bytes()
    for end in range(len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(TranscriptError):
            load(path)


def test_a_file_that_lost_any_line_is_an_error(path):
    dump(session(), path)
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 1 + 1 + 8 + 2
    for number in range(len(lines)):
        path.write_text("".join(lines[:number] + lines[number + 1 :]))
        with pytest.raises(TranscriptError):
            load(path)


def test_the_file_is_ascii_lines_that_begin_with_their_type(path):
    odd = Transcript(name="odd", messages=(user("a\u2028b\u0085c \ud83d \U0001f600"),))
    dump(odd, path)
    rows = [json.loads(line) for line in path.read_bytes().decode("ascii").split("\n")[:-1]]
    assert [row["type"] for row in rows] == ["transcript", "message"]
    assert rows[0] == {
        "type": "transcript",
        "version": 1,
        "name": "odd",
        "tools": 0,
        "messages": 1,
        "facts": 0,
        "provenance": {},
    }
    assert load(path) == odd


def test_writing_twice_gives_the_same_bytes(path):
    dump(session(), path)
    first = path.read_bytes()
    dump(load(path), path)
    assert path.read_bytes() == first


def test_what_the_recorder_knew_stands_on_its_message(path):
    transcript = Transcript(
        name="t", messages=(user("a"), assistant("b")), recorded={1: {"prompt_tokens": 31}}
    )
    dump(transcript, path)
    last = json.loads(path.read_text().splitlines()[-1])
    assert last == {"type": "message", "message": assistant("b"), "call": {"prompt_tokens": 31}}
    assert load(path).calls[0].recorded == {"prompt_tokens": 31}


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


HEADER = {"type": "transcript", "version": 1, "name": "by hand"}
MESSAGE = {"type": "message", "message": {"role": "user", "content": "a"}}


def test_a_file_written_by_hand_may_leave_the_counts_out(path):
    write(path, HEADER, MESSAGE)
    assert load(path) == Transcript(name="by hand", messages=(user("a"),))


def test_blank_lines_and_windows_line_ends_are_no_matter(path):
    path.write_bytes(b"\r\n".join(json.dumps(row).encode() for row in (HEADER, MESSAGE)) + b"\n\n")
    assert load(path).messages == (user("a"),)


def test_text_outside_ascii_may_stand_as_it_is(path):
    row = {"type": "message", "message": {"role": "user", "content": "分片 é\u2028"}}
    path.write_text(json.dumps(HEADER) + "\n" + json.dumps(row, ensure_ascii=False), "utf-8")
    assert load(path).messages[0]["content"] == "分片 é\u2028"


def test_list_content_and_calls_without_id_are_taken_as_recorded(path):
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "x"}}, "b"]
    calling = {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}
    answer = {"role": "tool", "content": "x"}
    messages = [{"role": "user", "content": parts}, calling, answer]
    write(path, HEADER, *({"type": "message", "message": message} for message in messages))
    assert load(path).messages == tuple(messages)


def test_a_write_that_fails_leaves_the_old_file(path):
    dump(session(), path)
    broken = Transcript(name="broken", messages=(user("a"),), provenance={"when": object()})
    with pytest.raises(TypeError):
        dump(broken, path)
    assert load(path) == session()


def test_results_without_calls_are_declared_and_read_back(path):
    orphan = session(messages=(user("a"), result("x", "gone"), assistant("b")), facts=())
    dump(orphan, path)
    assert json.loads(path.read_text().splitlines()[0])["orphan_results"] == 1
    assert load(path) == orphan


def test_a_fact_is_written_with_what_is_not_the_default():
    plain = dump_fact(employee())
    assert sorted(plain) == sorted([*ALWAYS])
    probe = ToolProbe(name="read_log", argument="service", arguments={"level": "warn"})
    fact = employee(lifetime="durable", match="number", tool=probe)
    assert {key: value for key, value in dump_fact(fact).items() if key not in plain} == {
        "lifetime": "durable",
        "match": "number",
        "tool": {"name": "read_log", "argument": "service", "arguments": {"level": "warn"}},
    }


@pytest.mark.parametrize("name", ["incident-40", "agentic-docs", "short-chat"])
def test_the_facts_of_the_built_in_transcripts_keep_their_fingerprint(name):
    path = builtin_folder() / f"{name}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    written = [json.dumps(row["fact"]) for row in rows if row["type"] == "fact"]
    assert [json.dumps(dump_fact(fact)) for fact in load(path).facts] == written  # in order, too
