"""One engine for all workers, or one for each: decided by memory, and said in the header."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.plugin.settings.options import worker_count
from pytest_ctxguard.plugin.xdist.dividing import SHARE, divide
from pytest_ctxguard.plugin.xdist.machine import available_memory
from tests.plugin.project import Project

GB = 1_000_000_000
MEMORY = st.none() | st.integers(0, 10**12)


def chosen(wanted="auto", *, workers=4, cores=8, available=100 * GB, engine=2 * GB):
    return divide(wanted, workers=workers, cores=cores, available=available, engine=engine)


def test_what_ini_says_is_done_whatever_the_memory():
    assert not chosen("shared").each
    assert chosen("each", available=None, engine=None).each


@pytest.mark.parametrize(
    ("workers", "cores", "threads"), [(1, 8, 8), (2, 8, 4), (3, 8, 2), (8, 8, 1), (16, 8, 1)]
)
def test_workers_with_an_engine_each_divide_the_processors(workers, cores, threads):
    assert chosen("each", workers=workers, cores=cores).threads == threads


@given(workers=st.integers(1, 64), cores=st.integers(1, 64), available=MEMORY, engine=MEMORY)
def test_engines_of_their_own_are_chosen_only_where_all_of_them_fit(
    workers, cores, available, engine
):
    found = chosen(workers=workers, cores=cores, available=available, engine=engine)
    assert found.workers == workers
    assert found.reason
    if found.each:
        assert workers * engine <= SHARE * available
        assert found.threads * workers <= max(cores, workers)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"workers": 1}, "there is no other"),
        ({"workers": 9}, "more workers than processors, 8"),
        ({"engine": None}, "the model is not converted yet, so its size is not known"),
        ({"available": None}, "how much memory is free is not known"),
        ({"available": 15 * GB}, "one each could take 8.0 GB, 15.0 GB are free"),
    ],
)
def test_why_one_engine_is_shared_is_said(given, reason):
    found = chosen(**given)
    assert not found.each
    assert found.reason == reason
    assert str(found).endswith(f"({reason})")
    assert found.threads == 8


def test_where_all_fit_each_worker_has_its_own():
    assert str(chosen(available=16 * GB)) == (
        "an engine of 2 threads for each of 4 workers (memory is free)"
    )


def memory(root: Path, **files: str) -> int | None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("memory_", "memory.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return available_memory(root)


MEMINFO = "MemTotal:       24105000 kB\nMemFree:         1 kB\nMemAvailable:   2000000 kB\n"
LIMITED = {"sys__fs__cgroup__memory_max": "1000000000\n"}


def test_free_memory_is_what_the_kernel_calls_available(tmp_path):
    assert memory(tmp_path, proc__meminfo=MEMINFO) == 2_000_000 * 1024


@pytest.mark.parametrize(
    ("used", "stat", "left"),
    [("900000000", "", 100_000_000), ("900000000", "file 9\ninactive_file 300000000\n", 4 * 10**8)],
)
def test_a_container_s_limit_counts_where_it_leaves_less(tmp_path, used, stat, left):
    found = memory(
        tmp_path,
        proc__meminfo=MEMINFO,
        sys__fs__cgroup__memory_current=used,
        sys__fs__cgroup__memory_stat=stat,
        **LIMITED,
    )
    assert found == left


def test_no_limit_and_nothing_known_are_no_number(tmp_path):
    assert memory(tmp_path / "none") is None
    unlimited = {"sys__fs__cgroup__memory_max": "max\n", "sys__fs__cgroup__memory_current": "5\n"}
    assert memory(tmp_path / "max", **unlimited) is None
    assert memory(tmp_path / "broken", proc__meminfo="MemAvailable: lots\n") is None


@pytest.mark.parametrize(
    ("arguments", "workers"),
    [
        ("", 0),
        ("-n0", 0),
        ("-n3", 3),
        ("-n0 --dist=load", 0),
        ("-nauto", 5),
        ("-nauto --maxprocesses=3", 3),
        ("-nlogical --maxprocesses=9", 5),
        ("-n4 --maxprocesses=2", 2),
        ("-n2 --dist=each", 2),
        ("--dist=load --tx=2*popen --tx=popen", 3),
        ("-d --tx=2*popen//python=python3", 2),
        ("--dist=worksteal --tx=popen//id=2*one", 1),
        ("--tx=2*popen", 0),
        ("--dist=load", 0),
        ("-n2 --collect-only", 0),
        ("-nauto --pdb", 0),
    ],
)
def test_workers_are_counted_as_xdist_starts_them(
    project: Project, monkeypatch: pytest.MonkeyPatch, arguments: str, workers: int
):
    from xdist.plugin import pytest_cmdline_main

    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "5")
    config = project.pytester.parseconfig("-pxdist", *arguments.split())
    pytest_cmdline_main(config)
    assert worker_count(config) == workers


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("-octxguard_engine=shared", "one engine for 2 workers"),
        ("-octxguard_engine=each", " for each of 2 workers"),
        ("-octxguard_engine=auto", " 2 workers ("),
    ],
)
def test_the_header_says_which(project: Project, arguments: str, said: str):
    result = project.with_test("def test_it(): pass").run("--ctxguard", "-n2", arguments)

    [header] = [line for line in result.text.splitlines() if line.startswith("ctxguard: counter")]
    assert said in header


@pytest.mark.parametrize(
    "arguments",
    ["", "--ctxguard-tier=structure -n1", "--ctxguard-endpoint=http://127.0.0.1:9/v1 -n1"],
)
def test_no_engine_is_spoken_of_where_no_worker_runs_one(project: Project, arguments: str):
    result = project.with_test("def test_it(): pass").run("--ctxguard", *arguments.split())

    [header] = [line for line in result.text.splitlines() if line.startswith("ctxguard: counter")]
    assert "engine" not in header
