"""The baseline file: what is written is read back, in a form that reviews well."""

import json
import string
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard.baseline import (
    WORST_FIRST,
    Accepted,
    Baseline,
    Metric,
    baseline_path,
    differing,
    edited,
    file,
    read,
    worst,
    write,
)
from pytest_ctxguard.baseline.file import shortest
from pytest_ctxguard.errors import UsageError

TEXTS = st.text(max_size=12) | st.sampled_from(["test_fit[a-b]", "TestX::test_y", "\ud83d", "é"])
FINGERPRINTS = st.dictionaries(TEXTS, TEXTS, max_size=3)
OUTCOMES = st.dictionaries(TEXTS, st.sampled_from(["hit", "other"]), max_size=3)
ACCEPTED = st.none() | st.builds(
    Accepted, TEXTS.filter(str.strip), was=st.none() | st.integers(0, 9)
)


def of_trials(trials, fingerprint, accepted):
    hits = list(trials.values()).count("hit")
    return Metric(hits, fingerprint, len(trials), trials, accepted)


METRICS = st.builds(of_trials, OUTCOMES, FINGERPRINTS, ACCEPTED) | st.builds(
    Metric,
    value=st.integers(0, 10**9),
    fingerprint=FINGERPRINTS,
    of=st.none() | st.just(10**9),
    accepted=ACCEPTED,
)
ENTRIES = st.dictionaries(
    st.tuples(TEXTS, TEXTS), st.dictionaries(TEXTS, METRICS, max_size=2), max_size=4
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("baseline") / "test_x.ctxguard.json"


@settings(deadline=None, max_examples=80)
@given(ENTRIES)
def test_what_is_written_is_read_back(path, entries):
    written = Baseline(path, entries)
    write(written)
    assert read(path) == written


@settings(deadline=None, max_examples=40)
@given(ENTRIES, st.randoms())
def test_the_bytes_do_not_depend_on_the_order_of_things(path, entries, random):
    write(Baseline(path, entries))
    first = path.read_bytes()
    shuffled = list(entries.items())
    random.shuffle(shuffled)
    write(Baseline(path, dict(shuffled)))
    assert path.read_bytes() == first
    assert set(first) <= set(string.printable.encode())


COST = Metric(168550, {"transcript": "ab12", "counter": "letters"})
HITS = Metric(1, {"model": "tiny"}, of=2, trials={"shard/2": "other", "shard/1": "hit"})


def test_the_file_is_sorted_json_with_a_version_in_which_an_instrument_stands_once(tmp_path):
    path = tmp_path / "test_x.ctxguard.json"
    dearer = Metric(170000, COST.fingerprint, accepted=Accepted("longer logs", was=168550))
    entries = {
        ("test_b", ""): {"cost": COST},
        ("test_a", "two"): {"hits": HITS, "cost": COST},
        ("test_a", "one"): {"cost": dearer},
    }
    write(Baseline(path, entries))
    assert (
        path.read_text()
        == """\
{
 "entries": {
  "test_a": {
   "one": {
    "cost": {
     "accepted": {
      "reason": "longer logs",
      "was": 168550
     },
     "instrument": "3d7d4d73",
     "value": 170000
    }
   },
   "two": {
    "cost": {
     "instrument": "3d7d4d73",
     "value": 168550
    },
    "hits": {
     "instrument": "39421ca3",
     "of": 2,
     "trials": {
      "shard/1": "hit",
      "shard/2": "other"
     },
     "value": 1
    }
   }
  },
  "test_b": {
   "": {
    "cost": {
     "instrument": "3d7d4d73",
     "value": 168550
    }
   }
  }
 },
 "instruments": {
  "39421ca3": {
   "model": "tiny"
  },
  "3d7d4d73": {
   "counter": "letters",
   "transcript": "ab12"
  }
 },
 "version": 1
}
"""
    )


def test_an_instrument_that_nothing_is_measured_with_any_more_is_dropped(tmp_path):
    path = tmp_path / "test_x.ctxguard.json"
    write(Baseline(path, {("test_a", ""): {"cost": COST, "hits": HITS}}))
    edited(path, lambda entries: {("test_a", ""): {"hits": HITS}})
    assert list(json.loads(path.read_text())["instruments"].values()) == [{"model": "tiny"}]


@given(st.sets(st.text("ab", min_size=12, max_size=12), min_size=1))
def test_ids_are_as_short_as_they_can_be_while_each_is_its_own(identities):
    size = shortest(identities)
    assert size >= 8
    assert len({each[:size] for each in identities}) == len(identities)
    shorter = {each[: size - 1] for each in identities}
    assert size == 8 or len(shorter) < len(identities)


def test_a_file_that_is_not_there_is_empty(tmp_path):
    path = tmp_path / "test_x.ctxguard.json"
    assert read(path) == Baseline(path)
    assert read(path).metrics(("test_a", "")) == {}
    assert not path.exists()


def test_a_disk_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "test_x.ctxguard.json"
    before = Baseline(path, {("test_a", ""): {"cost": COST}})
    write(before)

    def full_disk(path, write_to):
        def broken(temporary):
            write_to(temporary)
            raise OSError("no space left")

        real(path, broken)

    real = file.write_atomically
    monkeypatch.setattr(file, "write_atomically", full_disk)
    with pytest.raises(OSError, match="no space left"):
        edited(path, lambda entries: {**entries, ("test_b", ""): {"cost": COST}})
    assert read(path) == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_an_edit_returns_before_and_after_and_leaves_no_other_file(tmp_path):
    path = tmp_path / "test_x.ctxguard.json"
    first = {("test_a", ""): {"cost": COST}}
    assert edited(path, lambda entries: first) == ({}, first)
    second = {**first, ("test_b", ""): {"hits": HITS}}
    assert edited(path, lambda entries: {**entries, **second}) == (first, second)
    assert read(path).entries == second
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_an_edit_that_changes_nothing_writes_nothing(tmp_path):
    path = tmp_path / "test_x.ctxguard.json"
    edited(path, lambda entries: {("test_a", ""): {"cost": COST}})
    path.write_text(path.read_text() + "\n\n")  # as an editor may leave it
    edited(path, dict)
    assert path.read_text().endswith("}\n\n\n")


def test_a_file_without_entries_is_removed(tmp_path):
    path = tmp_path / "test_x.ctxguard.json"
    edited(path, lambda entries: {("test_a", ""): {"cost": COST}})
    edited(path, lambda entries: {})
    assert not path.exists()
    edited(path, lambda entries: {})


def test_an_edit_that_fails_leaves_the_file_and_lets_the_next_one_in(tmp_path):
    path = tmp_path / "test_x.ctxguard.json"
    edited(path, lambda entries: {("test_a", ""): {"cost": COST}})

    def fails(entries):
        raise UsageError("no")

    with pytest.raises(UsageError, match="no"):
        edited(path, fails)
    edited(path, lambda entries: {**entries, ("test_b", ""): {"hits": HITS}})
    assert len(read(path).entries) == 2


ADDING = """
import sys
from pathlib import Path
from pytest_ctxguard.baseline import Metric, edited

path, name = Path(sys.argv[1]), sys.argv[2]
for n in range(20):
    entry = {"cost": Metric(n, {"counter": name})}
    edited(path, lambda entries: {**entries, (f"test_{name}_{n}", ""): entry})
"""


def test_two_processes_that_write_at_once_lose_nothing(tmp_path):
    path = tmp_path / "test_x.ctxguard.json"
    running = [
        subprocess.Popen([sys.executable, "-c", ADDING, path, name]) for name in ("a", "b", "c")
    ]
    assert [each.wait() for each in running] == [0, 0, 0]
    assert len(read(path).entries) == 60


def test_a_process_that_never_ends_is_not_waited_for(tmp_path, monkeypatch):
    path = tmp_path / "test_x.ctxguard.json"
    monkeypatch.setattr(file, "SECONDS", 0.1)

    def again(entries):
        edited(path, lambda entries: {})
        return entries

    with pytest.raises(UsageError, match="another process has been writing this baseline"):
        edited(path, again)


def test_it_stands_beside_the_module(tmp_path):
    assert baseline_path(tmp_path / "test_x.py") == tmp_path / "test_x.ctxguard.json"


def test_fingerprints_differ_field_by_field():
    assert differing({"a": "1", "b": "2"}, {"b": "2", "a": "1"}) == ()
    assert differing({"a": "1", "b": "2"}, {"a": "0", "c": "3"}) == ("a", "b", "c")


@given(st.lists(st.sampled_from(WORST_FIRST)))
def test_the_worst_of_several_states(states):
    assert worst(states) == next((state for state in WORST_FIRST if state in states), "")


def test_what_was_said_of_a_value_is_no_part_of_the_measurement():
    said = replace(HITS, accepted=Accepted("so it is"))
    assert said.measures_as(HITS)
    assert said != HITS
    for other in (
        replace(HITS, value=0),
        replace(HITS, of=3),
        replace(HITS, fingerprint={}),
        replace(HITS, trials={}),
    ):
        assert not other.measures_as(HITS)
