"""A file is read by the reader that recognises it."""

import json

import pytest

from pytest_ctxguard.errors import TranscriptError, UsageError
from pytest_ctxguard.transcript import document
from pytest_ctxguard.transcript.jsonl import dump
from pytest_ctxguard.transcript.loading import choose, read, read_transcript
from pytest_ctxguard.transcript.reading import Reader, Reading
from tests.factories import session, user


@pytest.fixture
def put(tmp_path):
    def write(text, name="file.json"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def plain(document):
    return Reading(format="plain", runs=(session(messages=(user(document.text),), facts=()),))


PLAIN = Reader(name="plain", recognises=lambda d: d.path.suffix == ".txt", read=plain)


def test_our_own_format(tmp_path):
    dump(session(), tmp_path / "a.jsonl")
    reading = read(tmp_path / "a.jsonl")
    assert reading.format == "ctxguard"
    assert reading.runs == (session(),)


def test_a_reader_of_the_users(put):
    path = put("hello", "a.txt")
    assert read_transcript(path, readers=[PLAIN]).messages == (user("hello"),)
    with pytest.raises(TranscriptError, match="not a transcript in a known format"):
        read(path)


def test_a_reader_of_the_users_comes_first(tmp_path):
    dump(session(), tmp_path / "a.jsonl")
    mine = Reader(name="mine", recognises=lambda document: True, read=plain)
    assert read(tmp_path / "a.jsonl", readers=[mine]).format == "plain"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty; a transcript has at least one message"),
        (" \n", "empty; a transcript has at least one message"),
        ('{"a":\n [1, 2', r"file.json:2: not JSON \(.*\)\. The file may be truncated\."),
        ('{"a": 1}', r"file.json: not a transcript in a known format \(.*ctxguard.*\)\. Convert"),
        ("prose", "file.json: not a transcript in a known format"),
        (b"\xff\xfe\x00", "file.json: not a transcript in a known format"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_what_is_no_transcript(put, text, message):
    with pytest.raises(TranscriptError, match=message):
        read(put(text))


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(TranscriptError, match="cannot be read: No such file"):
        read(tmp_path / "gone.json")
    with pytest.raises(TranscriptError, match="cannot be read"):
        read(tmp_path)


def test_a_file_that_is_too_large(put, monkeypatch):
    monkeypatch.setattr(document, "SIZE_LIMIT", 3)
    with pytest.raises(TranscriptError, match="files of up to"):
        read(put("long"))


def test_a_reader_that_meets_too_deep_a_value(put):
    def deep(document):
        raise RecursionError

    with pytest.raises(TranscriptError, match="nested too deep"):
        read(put("x"), readers=[Reader(name="deep", recognises=lambda d: True, read=deep)])


def test_one_of_several_runs(put):
    path = put(json.dumps([]))
    runs = tuple(session(name=f"r{n}") for n in range(3))
    reading = Reading(format="many", runs=runs)
    assert choose(reading, 1, path=path).name == "r1"
    with pytest.raises(UsageError, match=r"holds 3 runs, 0 to 2; name one, as in 'file.json#0'"):
        choose(reading, None, path=path)
    with pytest.raises(UsageError, match="there is no run 3"):
        choose(reading, 3, path=path)
    assert choose(Reading(format="one", runs=runs[:1]), None, path=path).name == "r0"
