from __future__ import annotations

import os
from itertools import count

import numpy as np
import pytest

from pytest_ctxguard.engine.own import load_own
from pytest_ctxguard.engine.prefix_files import WORTH, PrefixFiles
from pytest_ctxguard.engine.runner import Runner
from tests.engine.tiny import TINY

LONG = WORTH + 300


def prompt(length: int, *, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, TINY.vocab, length).tolist()


def rows(length: int, *, seed: int = 0) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [draw.standard_normal((1, length, 4)).astype(np.float32) for _ in range(2)]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "prefixes"


def runner(tiny_files, folder) -> Runner:
    return Runner(load_own(tiny_files, threads=1), files=PrefixFiles(folder, budget=1 << 30))


def test_the_next_run_starts_from_what_this_one_computed(tiny_files, folder):
    first = runner(tiny_files, folder).generate(prompt(LONG), max_tokens=6)
    asked = [*prompt(LONG)[:-20], 5, 6, 7]
    later = runner(tiny_files, folder).generate(asked, max_tokens=6)
    cold = Runner(load_own(tiny_files, threads=1)).generate(asked, max_tokens=6)
    assert (first.cached_tokens, later.cached_tokens) == (0, LONG - 20)
    assert later.tokens == cold.tokens
    again = runner(tiny_files, folder).generate(prompt(LONG), max_tokens=6)
    assert again.cached_tokens == LONG - 2
    assert again.tokens == first.tokens


def test_a_short_prompt_is_not_kept_and_a_live_one_not_read(tiny_files, folder):
    run = runner(tiny_files, folder)
    run.generate(prompt(WORTH - 1, seed=9), max_tokens=1)
    assert not folder.exists()
    run.generate(prompt(LONG), max_tokens=1)
    (file,) = folder.iterdir()
    file.unlink()
    assert run.generate(prompt(LONG), max_tokens=1).cached_tokens == LONG - 2


@pytest.mark.parametrize("damage", ["flip", "cut", "other"])
def test_a_damaged_file_is_deleted_and_the_prompt_computed(tiny_files, folder, damage):
    first = runner(tiny_files, folder).generate(prompt(LONG), max_tokens=6)
    (file,) = folder.iterdir()
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    broken = {"flip": data, "cut": data[: len(data) // 2], "other": b"not an archive"}
    file.write_bytes(broken[damage])
    again = runner(tiny_files, folder)
    found = again.generate(prompt(LONG), max_tokens=6)
    assert found.cached_tokens == 0
    assert found.tokens == first.tokens
    # it was deleted, and written anew
    assert runner(tiny_files, folder).generate(prompt(LONG), max_tokens=1).cached_tokens > 0


def test_the_files_unused_for_longest_go_first(folder):
    size = sum(each.nbytes for each in rows(LONG)) + 8 * LONG
    files = PrefixFiles(folder, budget=2 * size)
    clock = count(1)

    def set_times():
        for path in folder.iterdir():
            if path.stat().st_mtime > 10**6:
                os.utime(path, (tick := next(clock), tick))

    for seed in (1, 2):
        files.keep(prompt(LONG, seed=seed), rows(LONG, seed=seed))
        set_times()
    used = files.longest(prompt(LONG, seed=1), beyond=0)
    assert used is not None
    into = [np.empty((1, used.tokens, 4), np.float32) for _ in range(2)]
    assert files.load(used, into=into)
    for ours, theirs in zip(into, rows(LONG, seed=1), strict=True):
        np.testing.assert_array_equal(ours, theirs[:, : used.tokens])
    set_times()
    files.keep(prompt(LONG, seed=3), rows(LONG, seed=3))
    kept = [files.longest(prompt(LONG, seed=seed), beyond=0) is not None for seed in (1, 2, 3)]
    assert kept == [True, False, True]


def test_what_is_larger_than_the_budget_or_has_no_disk_is_not_kept(folder):
    PrefixFiles(folder, budget=100).keep(prompt(LONG), rows(LONG))
    assert not folder.exists()
    folder.write_text("a file where the folder should be")
    PrefixFiles(folder, budget=1 << 30).keep(prompt(LONG), rows(LONG))
    assert folder.is_file()
