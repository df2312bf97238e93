"""The baseline file: what is written is read back, in a form that reviews well."""

import json
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard import baseline
from pytest_ctxguard.baseline import Baseline, Metric, baseline_path, differing, read, write

TEXTS = st.text(max_size=12) | st.sampled_from(["test_fit[a-b]", "TestX::test_y", "\ud83d", "é"])
FINGERPRINTS = st.dictionaries(TEXTS, TEXTS, max_size=3)
METRICS = st.builds(
    Metric,
    value=st.integers(0, 10**9),
    fingerprint=FINGERPRINTS,
    of=st.none() | st.integers(0, 6),
    trials=st.none() | st.dictionaries(TEXTS, st.sampled_from(["hit", "other"]), max_size=3),
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
HITS = Metric(2, {"model": "tiny"}, of=3, trials={"shard/2": "other", "shard/1": "hit"})


def test_the_file_is_sorted_json_with_a_version(tmp_path):
    path = tmp_path / "test_x.ctxguard.json"
    entries = {
        ("test_b", ""): {"cost": COST},
        ("test_a", "two"): {"hits": HITS, "cost": COST},
        ("test_a", "one"): {"cost": COST},
    }
    write(Baseline(path, entries))
    text = path.read_text()
    assert text.startswith('{\n "entries": {\n  "test_a": {\n   "one": {')
    assert text.endswith('},\n "version": 1\n}\n')
    cost = {"fingerprint": {"counter": "letters", "transcript": "ab12"}, "value": 168550}
    hits = {
        "fingerprint": {"model": "tiny"},
        "of": 3,
        "trials": {"shard/1": "hit", "shard/2": "other"},
        "value": 2,
    }
    assert json.loads(text) == {
        "version": 1,
        "entries": {
            "test_a": {"one": {"cost": cost}, "two": {"cost": cost, "hits": hits}},
            "test_b": {"": {"cost": cost}},
        },
    }
    assert text.index('"one"') < text.index('"two"') < text.index('"test_b"')


def test_a_file_that_is_not_there_is_empty(tmp_path):
    path = tmp_path / "test_x.ctxguard.json"
    assert read(path) == Baseline(path)
    assert read(path).metrics(("test_a", "")) == {}
    assert not path.exists()


def test_a_writer_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "test_x.ctxguard.json"
    before = Baseline(path, {("test_a", ""): {"cost": COST}})
    write(before)
    odd = Metric(1, {"when": object()})
    with pytest.raises(TypeError):
        write(before.updated({("test_b", ""): {"cost": odd}}))
    assert read(path) == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_disk_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "test_x.ctxguard.json"
    before = Baseline(path, {("test_a", ""): {"cost": COST}})
    write(before)

    def full_disk(path, write_to):
        def broken(temporary):
            write_to(temporary)
            raise OSError("no space left")

        real(path, broken)

    real = baseline.write_atomically
    monkeypatch.setattr(baseline, "write_atomically", full_disk)
    with pytest.raises(OSError, match="no space left"):
        write(before.updated({("test_b", ""): {"cost": COST}}))
    assert read(path) == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_an_update_keeps_the_others_and_replaces_whole_entries(tmp_path):
    old = Baseline(
        tmp_path / "x",
        {("test_a", ""): {"cost": COST, "hits": HITS}, ("test_b", ""): {"cost": COST}},
    )
    dearer = Metric(200000, COST.fingerprint)
    new = old.updated({("test_a", ""): {"cost": dearer}, ("test_c", "x"): {"cost": COST}})
    assert new.entries == {
        ("test_a", ""): {"cost": dearer},
        ("test_b", ""): {"cost": COST},
        ("test_c", "x"): {"cost": COST},
    }
    assert new.metrics(("test_a", "")) == {"cost": dearer}
    assert old.metrics(("test_a", "")) == {"cost": COST, "hits": HITS}


def test_it_stands_beside_the_module(tmp_path):
    assert baseline_path(tmp_path / "test_x.py") == tmp_path / "test_x.ctxguard.json"


def test_fingerprints_differ_field_by_field():
    assert differing({"a": "1", "b": "2"}, {"b": "2", "a": "1"}) == ()
    assert differing({"a": "1", "b": "2"}, {"a": "0", "c": "3"}) == ("a", "b", "c")
