"""Answers outlive their process, and a file that is not whole gives none."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.recall.store import Store

FULL = Completion(
    "half a pair \ud83d",
    tool_calls=(ToolCall("open_ticket", '{"id": 7}'),),
    finish_reason="tool_calls",
    prompt_tokens=31,
    cached_tokens=12,
    completion_tokens=5,
    stopped_by="END",
)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "deep" / "answers"


@pytest.fixture
def open_store(folder):
    made = []

    def make(*, warn=pytest.fail, **options):
        made.append(Store(folder, **{"run": "one", **options}, warn=warn))
        return made[-1]

    yield make
    for store in made:
        store.close()


def file_of(folder, number=1):
    return folder / f"answers-{number}.sqlite3"


def test_an_answer_comes_back_whole(open_store):
    open_store().put({"q": FULL})
    assert open_store().get("q").completion == FULL
    assert open_store().get("other") is None


def test_it_is_told_whether_an_earlier_run_asked(open_store):
    open_store(run="one").put({"q": FULL})
    assert not open_store(run="one").get("q").earlier
    assert open_store(run="two").get("q").earlier


def test_nothing_is_made_before_it_is_used(open_store, folder):
    open_store()
    assert not folder.exists()


@pytest.mark.skipif(os.name == "nt", reason="there are no such modes")
def test_only_its_owner_may_read_it(open_store, folder):
    store = open_store()
    store.put({"q": FULL})
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert len(modes) == 4  # the file, SQLite's two beside it, and a lock
    assert set(modes.values()) == {0o600}


def test_the_oldest_go_first(open_store):
    store = open_store(rows=3)
    for number in range(5):
        store.put({f"q{number}": Completion(str(number))})
    kept = [number for number in range(5) if store.get(f"q{number}")]
    assert kept == [2, 3, 4]


def test_an_answer_put_again_is_a_young_one(open_store):
    store = open_store(rows=3)
    for number in (0, 1, 2, 0, 3, 4):
        store.put({f"q{number}": Completion(str(number))})
    assert [number for number in range(5) if store.get(f"q{number}")] == [0, 3, 4]


def rewrite(path, sql):
    database = sqlite3.connect(path)
    with database:
        database.execute(sql)
    database.close()


def _no_database(path):
    path.write_bytes(b"no database at all " * 500)


def _cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _scrambled(path):
    data = bytearray(path.read_bytes())
    data[100:] = bytes(byte ^ 0x5A for byte in data[100:])
    path.write_bytes(data)


DAMAGES = {
    "no database": _no_database,
    "cut": _cut,
    "scrambled": _scrambled,
    "another answer": lambda path: rewrite(
        path, "UPDATE answers SET answer = replace(answer, 'half', 'all!')"
    ),
    "another question": lambda path: rewrite(
        path, "UPDATE answers SET question = 'p' WHERE question = 'q'"
    ),
    "no text": lambda path: rewrite(path, "UPDATE answers SET answer = CAST(x'ff' AS TEXT)"),
    "another table": lambda path: rewrite(path, "ALTER TABLE answers RENAME COLUMN run TO ran"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_set_aside_and_gives_no_answer(open_store, folder, damage):
    first = open_store()
    first.put({"q": FULL, **{f"q{n}": FULL for n in range(200)}})
    first.close()
    damage(file_of(folder))
    was = file_of(folder).read_bytes()
    told = []

    store = open_store(warn=told.append)
    asked = "p" if damage is DAMAGES["another question"] else "q"
    assert store.get(asked) is None
    store.put({"q": Completion("new")})

    assert store.get("q").completion == Completion("new")
    assert len(told) == 1
    assert "answers-1.sqlite3: damaged (" in told[0]
    assert file_of(folder).read_bytes() == was
    assert open_store().get("q").completion == Completion("new")


def test_a_process_that_has_it_open_goes_on_in_the_new_file(open_store, folder):
    told = []
    early = open_store(warn=told.append)
    early.put({"q": FULL})
    late = open_store(warn=told.append)
    rewrite(file_of(folder), "UPDATE answers SET digest = 'x'")
    assert late.get("q") is None
    late.put({"r": FULL})
    assert early.get("q") is None
    assert early.get("r").completion == FULL
    assert len(told) == 2


def test_a_second_damage_ends_keeping_and_nothing_else(open_store, folder):
    told = []
    store = open_store(warn=told.append)
    for number in (1, 2):
        store.put({"q": FULL})
        rewrite(file_of(folder, number), "UPDATE answers SET digest = 'x'")
        assert store.get("q") is None
    store.put({"q": FULL})
    assert store.get("q") is None
    assert ["set aside" in told[0], "no longer kept" in told[1], len(told)] == [True, True, 2]


def test_a_folder_that_cannot_be_made_is_said_once(tmp_path):
    (tmp_path / "file").write_text("in the way")
    told = []
    store = Store(tmp_path / "file" / "answers", run="one", warn=told.append)
    store.put({"q": FULL})
    assert store.get("q") is None
    assert len(told) == 1
    assert "no longer kept in this run" in told[0]


def test_a_file_that_others_lock_is_no_damaged_one(open_store, folder, monkeypatch):
    monkeypatch.setattr("pytest_ctxguard.recall.store.BUSY_SECONDS", 0.05)
    told = []
    store = open_store(warn=told.append)
    store.put({"q": FULL})
    other = sqlite3.connect(file_of(folder), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.put({"r": FULL})
    other.execute("ROLLBACK")
    other.close()
    assert "locked" in told[0]
    assert not file_of(folder).with_suffix(".damaged").exists()
    assert open_store().get("q").completion == FULL


def test_many_write_at_once(open_store):
    stores = [open_store(run=str(number)) for number in range(6)]

    def write(number):
        for row in range(20):
            stores[number].put({f"q{number}/{row}": Completion(f"{number}/{row}")})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reader = open_store()
    for number in range(6):
        for row in range(20):
            assert reader.get(f"q{number}/{row}").completion.text == f"{number}/{row}"


WRITER = """
import sys
from pathlib import Path
from pytest_ctxguard.backend import Completion
from pytest_ctxguard.recall.store import Store

store = Store(Path(sys.argv[1]), run="killed", warn=sys.exit)
for number in range(10**6):
    store.put({f"q{number}": Completion(str(number))})
    print(number, flush=True)
"""


def test_a_killed_process_loses_nothing_it_had_put(open_store, folder):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True
    )
    with writer:
        for line in writer.stdout:
            if int(line) == 50:
                writer.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
                break
        said = [int(line) for line in writer.stdout if line.endswith("\n")]
    last = max([50, *said])
    store = open_store()
    for number in range(last + 1):
        assert store.get(f"q{number}").completion == Completion(str(number))


def test_it_is_in_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("CTXGUARD_CACHE", str(tmp_path))
    store = Store(run="one", warn=pytest.fail)
    store.put({"q": FULL})
    store.close()
    assert Path(tmp_path, "answers", "answers-1.sqlite3").exists()
