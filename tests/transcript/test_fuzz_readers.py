"""Real files with something wrong: read whole, or refused with a sentence; nothing else.

The laws, for every reader and whatever the bytes:

- a file is read, or ``TranscriptError`` says what is wrong with it and names it; no other
  exception leaves ``loading.read``;
- what is read has messages;
- a file that was cut in the middle of a row (JSON Lines), or anywhere (JSON, and cassettes, which
  end with their version), is refused;
- a row that is not JSON is refused, with its line as soon as the rows before it show the format;
- where one plain value became another, a reading with fewer different messages says so: in a
  note, in what was passed over, or as an opaque part. (Not where it became null or empty text,
  which say that there is nothing; nor the name of an attribute, in OpenTelemetry's ``key``.)

Whole rows that are gone are noticed only where a format counts its rows; ours does (test_jsonl).
"""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.loading import read, recognised
from pytest_ctxguard.transcript.parts import opaque_parts
from pytest_ctxguard.transcript.readers.catalogue import READERS
from pytest_ctxguard.transcript.reading import Reading
from tests.transcript.mutating import SCALARS, Seed, edited, mutants, put
from tests.transcript.small_files import SMALL
from tests.transcript.small_sessions import SESSIONS

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "fixtures" / name for name in ("transcripts", "cassettes", "exports")]
SHARED = ROOT.parent / "shared" / "data" / "transcripts"
SUFFIXES = {".jsonl", ".json", ".yaml", ".yml", ".traj", ".md"}
BYTES = 400_000  # read per file and law, about; small files get more examples


def format_of(data, path):
    """Return the name of the reader that recognises some bytes; none: None."""
    try:
        return recognised(Document(path, data)).name
    except TranscriptError:
        return None


def seeds():
    """Yield every good file: ours, and the shared ones where they are beside this project."""
    for folder in (*FOLDERS, SHARED):
        for path in sorted(folder.rglob("*")) if folder.exists() else ():
            if path.suffix in SUFFIXES and path.name not in ("README.md", "SOURCES.md"):
                yield path.name, path.read_bytes()
    yield from {**SMALL, **SESSIONS}.items()


SEEDS = [Seed(name, data, format_of(data, name)) for name, data in seeds()]
LINES = [seed for seed in SEEDS if seed.is_lines]
JSON = [seed for seed in SEEDS if not seed.name.endswith(".md")]  # a text may end anywhere
each_json = pytest.mark.parametrize("seed", JSON, ids=[f"{s.reader}-{s.name}" for s in JSON])
each_seed = pytest.mark.parametrize("seed", SEEDS, ids=[f"{s.reader}-{s.name}" for s in SEEDS])


def hold(law, seed, strategy, *, most=60):
    """Hold a law for many examples, the same ones each time; fewer where the file is long."""
    examples = max(4, min(most, BYTES // (len(seed.data) * (4 if seed.is_cassette else 1))))
    given(strategy)(
        settings(
            deadline=None,
            derandomize=True,
            database=None,
            max_examples=examples,
            suppress_health_check=list(HealthCheck),
        )(law)
    )()


def outcome(path, data):
    """Return the reading of some bytes, or None where they are refused as they should be."""
    path.write_bytes(data)
    try:
        reading = read(path)
    except TranscriptError as error:
        caught = error
    else:
        assert isinstance(reading, Reading)
        assert reading.runs
        assert all(run.messages for run in reading.runs)
        return reading
    assert len(caught.what) > 10
    assert str(path) in str(caught)
    return None


def said(reading):
    """Return all that a reading says beside its messages, each thing with how often."""
    things = Counter(reading.passed_over)
    things.update(note.what for note in reading.notes)
    things.update(part["of"] for run in reading.runs for part in opaque_parts(run.messages))
    return things


def messages(reading):
    """Return how many different messages there are; histories that fork have some in common."""
    return len({json.dumps(m, sort_keys=True) for run in reading.runs for m in run.messages})


def test_every_file_has_its_reader_and_every_reader_a_file():
    assert [seed.name for seed in SEEDS if seed.reader is None] == []
    assert {seed.reader for seed in SEEDS} >= {reader.name for reader in READERS}


@each_seed
def test_whatever_the_bytes_they_are_read_or_refused(seed, tmp_path):
    path = tmp_path / seed.name

    def law(data):
        outcome(path, data)

    hold(law, seed, mutants(seed))


@each_json
def test_what_is_cut_is_refused(seed, tmp_path):
    path = tmp_path / seed.name
    whole = seed.data.rstrip()

    def law(end):
        assume(not seed.is_lines or not ends_a_row(whole[:end]))
        assert outcome(path, whole[:end]) is None

    hold(law, seed, st.integers(0, len(whole) - 1), most=40)


def ends_a_row(data):
    last = data.rstrip().split(b"\n")[-1]
    try:
        json.loads(last or b"{}")
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("seed", LINES, ids=[seed.name for seed in LINES])
def test_a_row_that_is_not_json_is_refused_with_its_line(seed, tmp_path):
    path = tmp_path / seed.name
    lines = seed.data.split(b"\n")
    rows = [number for number, line in enumerate(lines) if line.strip()][1:]

    def law(number, share):
        broken = lines[number][: 1 + int(share * (len(lines[number].rstrip()) - 1))]
        assume(not ends_a_row(broken))
        path.write_bytes(b"\n".join((*lines[:number], broken, *lines[number + 1 :])))
        with pytest.raises(TranscriptError) as caught:
            read(path)
        if seed.reader == format_of(b"\n".join(lines[:number]), path):
            assert caught.value.line == number + 1

    strategy = st.tuples(st.sampled_from(rows), st.floats(0, 1, exclude_max=True))
    hold(lambda drawn: law(*drawn), seed, strategy, most=15)


@each_json
def test_no_message_is_lost_without_a_word(seed, tmp_path):
    path = tmp_path / seed.name
    before = outcome(path, seed.dump(seed.value))
    plain = (p for p in seed.paths if not isinstance(at(seed.value, p), list | dict))
    leaves = [p for p in plain if p[-1] != "key"]  # the name of another value

    def law(drawn):
        leaf, new = drawn
        after = outcome(path, edited(seed, leaf, put(new)))
        assert after is None or messages(after) >= messages(before) or said(after) - said(before)

    values = st.sampled_from([value for value in SCALARS if value not in (None, "")])
    hold(law, seed, st.tuples(st.sampled_from(leaves), values))


def at(value, path):
    for step in path:
        value = value[step]
    return value
