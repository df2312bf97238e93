from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from pytest_ctxguard.engine import store
from pytest_ctxguard.engine.kv import STEP
from pytest_ctxguard.engine.runner import Runner
from pytest_ctxguard.errors import BackendError, ModelCorrupt, ModelError, PromptTooLong
from tests.engine.tiny import TINY, export_tiny


def prompt(length: int, *, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, TINY.vocab, length).tolist()


@pytest.fixture
def runner(tiny_files):
    return Runner.load(tiny_files, threads=1)


def test_a_cached_prefix_changes_no_answer(runner, tiny_files):
    first = runner.generate(prompt(700), max_tokens=8)
    second = runner.generate([*prompt(650), 5, 6, 7], max_tokens=8)
    again = runner.generate(prompt(700), max_tokens=8)
    cold = Runner.load(tiny_files, threads=1).generate([*prompt(650), 5, 6, 7], max_tokens=8)
    assert (first.cached_tokens, second.cached_tokens, cold.cached_tokens) == (0, 650, 0)
    assert again.cached_tokens == 650
    assert again.tokens == first.tokens
    assert second.tokens == cold.tokens


@pytest.mark.parametrize(("chunk", "threads"), [(17, 1), (100, 1), (256, 2), (512, 2)])
def test_chunks_and_threads_change_no_logit(tiny_files, chunk, threads):
    one = Runner.load(tiny_files, threads=1, chunk=64).logits(prompt(513))
    other = Runner.load(tiny_files, threads=threads, chunk=chunk).logits(prompt(513))
    np.testing.assert_array_equal(one, other)


def test_rows_written_by_decoding_are_not_reused(runner):
    first = runner.generate(prompt(40), max_tokens=8)
    longer = [*prompt(40), *first.tokens, 9]
    assert runner.generate(longer, max_tokens=1).cached_tokens == 40


def test_two_prefixes_stay_alive(runner):
    tools, plain = prompt(300, seed=1), prompt(200, seed=2)
    for extra in range(4):
        runner.generate([*tools, *range(5, 8 + extra)], max_tokens=2)
        result = runner.generate([*plain, *range(5, 8 + extra)], max_tokens=2)
    assert result.cached_tokens == 200 + 6 - 2
    assert runner.generate([*tools, 5, 6, 1], max_tokens=1).cached_tokens == 300 + 1


def test_a_prefix_copied_to_the_other_slot_gives_the_same_answer(runner, tiny_files):
    long, short = prompt(900), [*prompt(100), 3, 4, 5]
    runner.generate(long, max_tokens=1)
    copied = runner.generate(short, max_tokens=8)
    cold = Runner.load(tiny_files, threads=1).generate(short, max_tokens=8)
    assert copied.cached_tokens == 100
    assert copied.tokens == cold.tokens
    assert runner.generate(long, max_tokens=1).cached_tokens == 898


def test_memory_grows_without_a_change(tiny_files):
    grown, fresh = (Runner.load(tiny_files, threads=1) for _ in range(2))
    long = prompt(STEP + 300)
    grown.generate(long[: STEP - 50], max_tokens=4)
    first = grown.generate(long, max_tokens=8)
    assert first.cached_tokens == STEP - 50
    assert first.tokens == fresh.generate(long, max_tokens=8).tokens


def test_generation_ends_for_each_reason(runner):
    free = runner.generate(prompt(30), max_tokens=6)
    assert (len(free.tokens), free.finish_reason, free.prompt_tokens) == (6, "length", 30)
    stopped = runner.generate(prompt(30), max_tokens=6, stop=free.tokens[:1])
    assert (stopped.tokens, stopped.finish_reason) == ((), "stop")
    done = runner.generate(prompt(30), max_tokens=6, done=lambda tokens: len(tokens) == 2)
    assert (done.tokens, done.finish_reason) == (free.tokens[:2], "stop")
    assert runner.generate(prompt(30), max_tokens=0).tokens == ()


def test_a_forced_beginning_continues_the_same_answer(runner):
    free = runner.generate(prompt(30), max_tokens=6)
    forced = runner.generate([*prompt(30), *free.tokens[:3]], max_tokens=3)
    assert forced.tokens == free.tokens[3:]


def test_the_window_is_a_limit(tmp_path):
    config = replace(TINY, vocab=320, window=64)
    files = store.resolve(str(export_tiny(tmp_path / "model", config=config)))
    runner = Runner.load(files, threads=1)
    ids = [7] * 63
    full = runner.generate(ids, max_tokens=10)
    assert (len(full.tokens), full.finish_reason) == (1, "length")
    with pytest.raises(PromptTooLong, match="64 tokens; the context window holds 64") as caught:
        runner.generate([*ids, 7], max_tokens=1)
    assert (caught.value.tokens, caught.value.limit) == (64, 64)
    with pytest.raises(BackendError, match="empty"):
        runner.generate([], max_tokens=1)


@pytest.fixture
def own_files(tiny_files, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(tiny_files.folder, folder)
    return store.resolve(str(folder))


def test_a_flipped_byte_in_the_weights_is_named(own_files):
    data = own_files.folder / "model.onnx.data"
    with data.open("r+b") as file:
        file.seek(data.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(ModelCorrupt, match=r"model\.onnx\.data: expected sha256 .*Delete"):
        Runner.load(own_files, threads=1)


def test_a_graph_the_runtime_refuses_is_an_error_with_a_remedy(own_files):
    (own_files.folder / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelError, match=r"cannot load it .*Delete the folder"):
        Runner.load(own_files, threads=1)
