from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from pytest_ctxguard.engine.kv import STEP, bytes_per_row
from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.own import load_own
from pytest_ctxguard.engine.runner import SLOTS, Runner
from pytest_ctxguard.errors import BackendError, ModelCorrupt, ModelError, PromptTooLong
from tests.engine.tiny import TINY, export_tiny


def prompt(length: int, *, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, TINY.vocab, length).tolist()


def load(files, *, threads: int = 1, **options) -> Runner:
    return Runner(load_own(files, threads=threads), **options)


@pytest.fixture
def runner(tiny_files):
    return load(tiny_files)


def test_a_cached_prefix_changes_no_answer(runner, tiny_files):
    first = runner.generate(prompt(700), max_tokens=8)
    second = runner.generate([*prompt(650), 5, 6, 7], max_tokens=8)
    again = runner.generate(prompt(700), max_tokens=8)
    cold = load(tiny_files).generate([*prompt(650), 5, 6, 7], max_tokens=8)
    assert (first.cached_tokens, second.cached_tokens, cold.cached_tokens) == (0, 650, 0)
    assert again.cached_tokens == 650
    assert again.tokens == first.tokens
    assert second.tokens == cold.tokens


@pytest.mark.parametrize(
    ("chunk", "threads"), [(17, 1), (100, 1), (256, 2), (512, 2), (256, 3), (64, 8)]
)
def test_chunks_and_threads_change_no_logit(tiny_files, chunk, threads):
    one = load(tiny_files, chunk=64).logits(prompt(513))
    other = load(tiny_files, threads=threads, chunk=chunk).logits(prompt(513))
    np.testing.assert_array_equal(one, other)


def test_rows_written_by_decoding_are_not_reused(runner):
    first = runner.generate(prompt(40), max_tokens=8)
    longer = [*prompt(40), *first.tokens, 9]
    assert runner.generate(longer, max_tokens=1).cached_tokens == 40


def test_several_prefixes_stay_alive(runner):
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
    cold = load(tiny_files).generate(short, max_tokens=8)
    assert copied.cached_tokens == 100
    assert copied.tokens == cold.tokens
    assert runner.generate(long, max_tokens=1).cached_tokens == 898


def test_memory_grows_without_a_change(tiny_files):
    grown, fresh = (load(tiny_files) for _ in range(2))
    long = prompt(STEP + 300)
    grown.generate(long[: STEP - 50], max_tokens=4)
    first = grown.generate(long, max_tokens=8)
    assert first.cached_tokens == STEP - 50
    assert first.tokens == fresh.generate(long, max_tokens=8).tokens


def test_the_budget_decides_how_many_prefixes_stay(tiny_files):
    row = bytes_per_row(TINY)
    ample, tight = (load(tiny_files, budget=row * STEP * slots) for slots in (3, 2))
    for runner, kept in ((ample, 98), (tight, 0)):
        for seed in (1, 2, 3):
            runner.generate(prompt(100, seed=seed), max_tokens=1)
        assert runner.generate(prompt(100, seed=2), max_tokens=1).cached_tokens == 98
        assert runner.generate(prompt(100, seed=1), max_tokens=1).cached_tokens == kept


def test_of_many_short_prompts_the_last_ones_stay(runner):
    for seed in range(SLOTS + 3):
        runner.generate(prompt(20, seed=seed), max_tokens=1)
    kept = [
        runner.generate(prompt(20, seed=seed), max_tokens=1).cached_tokens == 18
        for seed in (SLOTS + 2, SLOTS, 5, 1)
    ]
    assert kept == [True, True, True, False]


def test_a_prompt_larger_than_the_budget_is_answered_all_the_same(tiny_files):
    poor = load(tiny_files, budget=1)
    assert (
        poor.generate(prompt(STEP + 9), max_tokens=4).tokens
        == load(tiny_files).generate(prompt(STEP + 9), max_tokens=4).tokens
    )
    assert poor.generate(prompt(STEP + 9), max_tokens=1).cached_tokens == STEP + 7


def wordings(*lengths: int, shared: int = 300) -> list[list[int]]:
    trunk = prompt(shared)
    return [[*trunk, *prompt(length, seed=length)] for length in lengths]


@pytest.mark.parametrize("stop_at", [None, 2])
def test_prompts_decoded_together_are_answered_as_each_alone(tiny_files, stop_at):
    prompts = wordings(20, 7, 33, 12, 2)
    alone = [load(tiny_files).generate(each, max_tokens=9) for each in prompts]
    stop = {one.tokens[stop_at] for one in alone[::2]} if stop_at else ()
    alone = [load(tiny_files).generate(each, max_tokens=9, stop=stop) for each in prompts]
    together = load(tiny_files)
    many = together.generate_many(prompts, max_tokens=9, stop=stop)
    assert [(one.tokens, one.finish_reason) for one in many] == [
        (one.tokens, one.finish_reason) for one in alone
    ]
    assert [one.cached_tokens for one in many] == [0, *[300] * 4]
    assert len({len(one.tokens) for one in many}) > (1 if stop else 0)
    again = together.generate_many(prompts[:3], max_tokens=9, stop=stop)
    assert [one.tokens for one in again] == [one.tokens for one in alone[:3]]
    assert again[0].cached_tokens == 298


def test_a_batch_that_does_not_fit_the_budget_is_cut_in_parts(tiny_files):
    prompts = wordings(20, 7, 33, 12, 2)
    row = bytes_per_row(TINY)
    parts = load(tiny_files, batch_budget=row * STEP * 2).generate_many(prompts, max_tokens=6)
    whole = load(tiny_files).generate_many(prompts, max_tokens=6)
    assert [one.tokens for one in parts] == [one.tokens for one in whole]


def test_prompts_with_little_in_common_are_answered_one_by_one(runner, tiny_files):
    prompts = [prompt(60, seed=1), prompt(80, seed=2), [*prompt(10, seed=1), *prompt(60, seed=3)]]
    many = runner.generate_many(prompts, max_tokens=4)
    assert [one.tokens for one in many] == [
        load(tiny_files).generate(each, max_tokens=4).tokens for each in prompts
    ]


def test_a_prompt_that_cannot_be_answered_leaves_the_others_theirs(tmp_path):
    config = replace(TINY, vocab=320, window=64)
    files = store.resolve(str(export_tiny(tmp_path / "model", config=config)))
    long, empty, fine, other = [7] * 64, [], [7] * 30, [*[7] * 28, 5, 6]
    first, second, third, fourth = load(files).generate_many(
        [long, empty, fine, other], max_tokens=3
    )
    assert isinstance(first, PromptTooLong)
    assert isinstance(second, BackendError)
    assert third.tokens == load(files).generate(fine, max_tokens=3).tokens
    assert fourth.tokens == load(files).generate(other, max_tokens=3).tokens
    assert load(files).generate_many([], max_tokens=3) == []


def test_another_choice_of_token_is_taken(runner):
    second = runner.generate(
        prompt(30), max_tokens=3, choose=lambda logits: int(logits.argsort()[-2])
    )
    assert second.tokens[0] != runner.generate(prompt(30), max_tokens=1).tokens[0]


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
    runner = load(files)
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
        load(own_files)


def test_a_graph_the_runtime_refuses_is_an_error_with_a_remedy(own_files):
    (own_files.folder / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelError, match=r"cannot load it .*Delete the folder"):
        load(own_files)
