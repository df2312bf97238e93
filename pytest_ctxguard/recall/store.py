"""Answers kept from run to run, so that a run that was interrupted goes on where it was.

One SQLite file in a folder. Several processes read and write it at once; each batch is one
transaction, so that a killed process loses nothing that was put. Each row has a digest of its own
bytes: one that does not fit makes the file a damaged one. A damaged file stays where it is, a
marker beside it says so to every process, and the next number takes its place: renaming a
database that others have open is what SQLite's "How to corrupt" warns of.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from pytest_ctxguard.backend import Completion, completion_data, read_completion
from pytest_ctxguard.cache import cache_folder

ROWS = 200_000  # about 100 MB
BUSY_SECONDS = 30.0
T = TypeVar("T")
SURROUNDINGS = {  # errors of the machine, not of the file
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}
TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY,
    question TEXT NOT NULL UNIQUE,
    run TEXT NOT NULL,
    answer TEXT NOT NULL,
    digest TEXT NOT NULL
)
"""


class _Damaged(Exception):
    """What is in the file is not what was put there."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer from the store.

    Attributes:
        completion: the answer.
        earlier: whether another run than this one asked for it.
    """

    completion: Completion
    earlier: bool


class Store:
    """Keeps answers by the digest of their question and of what answered.

    Neither the question nor its prompt is kept. The folder and the file, made if need be, are
    readable by their owner only.

    Args:
        folder: where the file is; None is the folder ``answers`` of the cache.
        run: names this run, so that answers of earlier ones are told from its own; the processes
            of one run give one name.
        fresh: use no answer of an earlier run.
        rows: answers kept; the oldest go first.
        warn: told that a damaged file was set aside, or that no more answers are kept.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        run: str,
        fresh: bool = False,
        rows: int = ROWS,
        warn: Callable[[str], object],
    ) -> None:
        self._folder = self._path = cache_folder() / "answers" if folder is None else folder
        self._run, self._fresh, self._rows, self._warn = run, fresh, rows, warn
        self._database: sqlite3.Connection | None = None
        self._set_one_aside = self._given_up = False

    def get(self, question: str) -> Kept | None:
        """Return the answer to a question, or None."""
        return self._trying(lambda database: self._get(database, question))

    def put(self, answers: Mapping[str, Completion]) -> None:
        """Keep answers by their questions; they are safe when this returns."""
        if answers:
            self._trying(lambda database: self._put(database, answers))

    def close(self) -> None:
        """Close the file; the store is of no more use."""
        self._given_up = True
        self._drop()

    def _get(self, database: sqlite3.Connection, question: str) -> Kept | None:
        found = database.execute(
            "SELECT run, answer, digest FROM answers WHERE question = ?", (question,)
        ).fetchone()
        if found is None:
            return None
        run, answer, digest = found
        if digest != _digest(question, run, answer):
            raise _Damaged("a kept answer is not as it was written")
        if self._fresh and run != self._run:
            return None
        return Kept(read_completion(json.loads(answer)), earlier=run != self._run)

    def _put(self, database: sqlite3.Connection, answers: Mapping[str, Completion]) -> None:
        rows = []
        for question, completion in answers.items():
            answer = json.dumps(completion_data(completion))
            rows.append((question, self._run, answer, _digest(question, self._run, answer)))
        with database:  # one transaction
            database.executemany(
                "INSERT OR REPLACE INTO answers (question, run, answer, digest) "
                "VALUES (?, ?, ?, ?)",
                rows,
            )
            database.execute(
                "DELETE FROM answers WHERE number <= (SELECT max(number) FROM answers) - ?",
                (self._rows,),
            )

    def _trying(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do something with the database; no error gets out."""
        try:
            while not self._given_up:
                try:
                    return work(self._opened())
                except (sqlite3.DatabaseError, _Damaged) as error:
                    if _of_surroundings(error) or self._set_one_aside:
                        raise
                    self._set_aside(error)
        except (sqlite3.DatabaseError, _Damaged, OSError) as error:
            self._given_up = True
            self._warn(f"{self._folder}: answers are no longer kept in this run ({error})")
        return None

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self._folder / "opening.lock", timeout=BUSY_SECONDS, mode=0o600):
                self._path = next(p for p in map(self._numbered, count(1)) if not _mark(p).exists())
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
                self._database = sqlite3.connect(
                    self._path, timeout=BUSY_SECONDS, check_same_thread=False
                )
                self._database.execute("PRAGMA journal_mode = WAL")
                self._database.execute("PRAGMA synchronous = NORMAL")  # a crash of the process
                self._database.execute(TABLE)
        return self._database

    def _numbered(self, number: int) -> Path:
        return self._folder / f"answers-{number}.sqlite3"

    def _set_aside(self, error: Exception) -> None:
        """Leave a damaged file to whoever wants to look at it; no process uses it again."""
        self._set_one_aside = True
        self._drop()
        _mark(self._path).touch()
        self._warn(f"{self._path}: damaged ({error}); it is set aside, its answers asked again")

    def _drop(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None


def _mark(path: Path) -> Path:
    return path.with_suffix(".damaged")


def _of_surroundings(error: Exception) -> bool:
    """Tell whether an error is the machine's: locked, full, not writable."""
    code = getattr(error, "sqlite_errorcode", None)  # none where Python could not read a text
    if code is None or code == sqlite3.SQLITE_IOERR_SHORT_READ:
        return False
    return code & 0xFF in SURROUNDINGS


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
