"""Reported failures of test harnesses, by case id: shared files, counters that drift."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_ctxguard.baseline import Baseline, Metric, read, write
from tests.plugin.project import UPDATE, Project

MANY = """
    @pytest.mark.ctx_token_cost
    @pytest.mark.parametrize("last", range(2, 42), ids=lambda n: f"last-{n}")
    def test_many(ctx_replay, last):
        ctx_replay("mini", SlidingWindow(last=last))
    """


def test_harness_01_a_parallel_update_writes_what_a_serial_one_does(project: Project) -> None:
    suite = project.with_test(MANY)
    serial = suite.run(*UPDATE).baseline_path.read_bytes()
    (project.root / "test_mini.ctxguard.json").unlink()

    parallel = suite.run(*UPDATE, "-n4")

    assert len(parallel.baseline["entries"]) == 40
    assert parallel.baseline_path.read_bytes() == serial


HALFWAY = """
import sys, time
from pathlib import Path
from pytest_ctxguard.cache import write_atomically

def half(temporary):
    with temporary.open("w") as file:
        file.write('{"entries": {"half')
        file.flush()
        print("half", flush=True)
        time.sleep(60)

write_atomically(Path(sys.argv[1]), half)
"""


def test_harness_02_a_writer_killed_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "test_a.ctxguard.json"
    metric = Metric(value=7, fingerprint={"counter": "letters"})
    write(Baseline(path, {("test_a", ""): {"tokens": metric}}))
    before = path.read_bytes()

    writer = subprocess.Popen(
        [sys.executable, "-c", HALFWAY, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    with writer.stdout:
        assert writer.stdout.readline() == "half\n"
        writer.kill()
        writer.wait()

    assert path.read_bytes() == before
    assert read(path).metrics(("test_a", ""))["tokens"] == metric


SLOW = """
    import time
    from pathlib import Path

    @pytest.mark.ctx_token_cost
    @pytest.mark.parametrize("last", range(2, 8), ids=lambda n: f"last-{n}")
    def test_slow(ctx_replay, request, last):
        ctx_replay("mini", SlidingWindow(last=last))
        if last == 4 and Path("killed-here").exists():
            Path("reached").touch()
            time.sleep(60)
    """


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process group")
@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "two-workers"])
def test_harness_02_a_run_killed_half_way_leaves_the_baseline(
    project: Project, workers: tuple[str, ...]
) -> None:
    suite = project.with_test(SLOW)
    before = suite.run(*UPDATE).baseline_path.read_bytes()
    files = {path.name for path in project.root.iterdir()}
    (project.root / "killed-here").touch()
    command = [sys.executable, "-m", "pytest", "-pctxguard", *UPDATE, *workers]
    run = subprocess.Popen(
        [*command[:3], "-pxdist", *command[3:]] if workers else command,
        cwd=project.root,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not (project.root / "reached").exists():
        assert time.monotonic() < deadline, "the run never got there"
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    (project.root / "killed-here").unlink()
    (project.root / "reached").unlink()

    assert (project.root / "test_mini.ctxguard.json").read_bytes() == before
    left = {path.name for path in project.root.iterdir()} - files
    assert left <= {".pytest_cache", "__pycache__"}
    assert suite.run("--ctxguard").outcomes == {"passed": 6}


NO_NETWORK = """
import socket

def refuse(*arguments, **options):
    raise AssertionError("something asked the network")

socket.socket.connect = refuse
socket.create_connection = refuse
socket.getaddrinfo = refuse
"""


def test_harness_04_counts_need_no_network_and_name_their_counter(project: Project) -> None:
    test = """
        @pytest.mark.ctx_token_cost
        def test_it(ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4))
        """
    suite = project.with_test(test)
    online = suite.run(*UPDATE).baseline
    conftest = (Path(__file__).parent / "projects/mini/conftest.py").read_text()

    offline = suite.with_file("conftest.py", NO_NETWORK + conftest).run(*UPDATE, subprocess=True)

    assert offline.outcomes == {"passed": 1}
    assert offline.baseline == online
    assert "counter qwen2.5" in offline.text


def test_harness_04_a_change_of_counter_fails_the_baseline(project: Project) -> None:
    test = """
        class Estimate:
            name = "chars/4"

            def count(self, messages, *, tools=(), generation_prompt=True):
                return sum(len(str(message.get("content"))) for message in messages) // 4

        @pytest.mark.ctx_token_cost
        def test_it(ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4){counter})
        """
    project.with_test(test.format(counter="")).run(*UPDATE)

    result = project.with_test(test.format(counter=", counter=Estimate()")).run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    (finding,) = result.findings("test_it").values()
    assert "chars/4" in json.dumps(finding)
