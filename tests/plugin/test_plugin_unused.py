"""What an unused plugin does in somebody's run: seen by Python's own audit events."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import pytest_ctxguard
from benchmarks.unused import without_others

Events = Counter[tuple[str, ...]]
PACKAGE = Path(pytest_ctxguard.__file__).parent
AUDIT = """
import json, os, sys
from pathlib import Path

WATCHED = ("open", "os.", "socket.", "subprocess.", "pty.", "sqlite3.", "shutil.", "tempfile.",
           "_thread.", "urllib.", "http.", "ctypes.", "mmap.", "fcntl.")
SEEN = []
TEMPORARY = os.environ["TMPDIR"]  # names in it are drawn

def watch(event, args):
    if event.startswith(WATCHED):
        what = [str(arg) if isinstance(arg, (str, bytes, int, os.PathLike)) else "" for arg in args]
        if event == "open":
            what = [what[0], "w" if args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) else "r"]
        SEEN.append((event, *("(temporary)" if TEMPORARY in w else w for w in what[:2])))

sys.addaudithook(watch)

def pytest_unconfigure(config):
    Path(os.environ["AUDITED"]).write_text(json.dumps(SEEN))
"""
SUITE = """
import pytest

@pytest.fixture
def number(): return 5

@pytest.mark.parametrize("n", range(20))
def test_it(n, number): assert n != -number
"""


@pytest.fixture
def audited(tmp_path: Path) -> Callable[..., Events]:
    """Return what runs the suite with or without the plugin, and counts the events it made."""
    (tmp_path / "temporary").mkdir()
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "audit.py").write_text(AUDIT)
    (suite / "test_suite.py").write_text(SUITE)

    def run(*plugins: str) -> Events:
        named = [argument for plugin in plugins for argument in ("-p", plugin)]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "audit", *without_others(), *named],
            cwd=suite,
            env={
                **os.environ,
                "AUDITED": str(tmp_path / "events.json"),
                "TMPDIR": str(tmp_path / "temporary"),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": os.pathsep.join([str(suite), str(PACKAGE.parent)]),
                "PYTHONHASHSEED": "0",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return Counter(map(tuple, json.loads((tmp_path / "events.json").read_text())))

    run()  # what is only there once: the cache folder, compiled files
    return run


def ours(events: Events) -> Events:
    """Return those events that are more than reading or looking for a module of the package."""
    return Counter(
        {
            event: count
            for event, count in events.items()
            if event[0] not in ("open", "os.listdir", "os.scandir")
            or not Path(event[1]).is_relative_to(PACKAGE)
            or (event[0] == "open" and event[2] != "r")
        }
    )


def test_it_starts_no_process_and_touches_no_file_and_no_socket(
    audited: Callable[..., Events],
) -> None:
    without, with_it = audited("no:ctxguard"), audited()

    assert ours(with_it - without) == Counter()
    assert any(event[0] == "open" and str(PACKAGE) in event[1] for event in with_it)


def test_what_it_does_would_be_seen(audited: Callable[..., Events], tmp_path: Path) -> None:
    (tmp_path / "suite" / "busy.py").write_text(
        "import socket, subprocess, sys\n"
        "def pytest_configure(config):\n"
        "    socket.socket().close()\n"
        "    subprocess.run([sys.executable, '-c', ''], check=True)\n"
        f"    open({str(tmp_path / 'made')!r}, 'w').close()\n"
    )
    without, busy = audited("no:ctxguard"), audited("no:ctxguard", "busy")

    seen = {event[0] for event in ours(busy - without)}
    assert {"socket.__new__", "subprocess.Popen"} <= seen
    assert ("open", str(tmp_path / "made"), "w") in busy
