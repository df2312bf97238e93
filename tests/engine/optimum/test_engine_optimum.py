from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pytest_ctxguard.engine.optimum.decoder import open_optimum
from pytest_ctxguard.engine.runner import Runner
from pytest_ctxguard.errors import BackendError
from tests.engine.numpy_decoder import logits as formulas
from tests.engine.tiny_optimum import SMALL, Variant, small_weights, write_folder

FOLDER = Path(__file__).parents[1] / "data" / "tiny-optimum"  # by data/make_tiny_optimum.py
GRAPH = Path("onnx/model.onnx")
IDS = np.random.default_rng(3).integers(0, SMALL.vocab, (1, 150))
VARIANTS = {
    "float32": Variant(),
    "no position_ids": Variant(positions=False),
    "float16 pasts": Variant(pasts="float16"),
    "float16 pasts and logits": Variant(pasts="float16", logits="float16"),
    "int32 ids": Variant(ids="int32"),
    "last rows only": Variant(keep=True),
    "external data, nested": Variant(external=True, nested=True),
}
EXACT, HALF = 5e-6, 2e-3  # of the largest logit: float32 in another order; rounded to float16


@pytest.fixture(scope="module")
def wanted():
    weights = {name: array.astype(np.float64) for name, array in small_weights().items()}
    return formulas(SMALL, weights, IDS[0].tolist())


@pytest.fixture(scope="module", params=VARIANTS)
def variant(request):
    return VARIANTS[request.param]


@pytest.fixture(scope="module")
def decoder(variant, tmp_path_factory):
    folder = write_folder(tmp_path_factory.mktemp("optimum"), variant)
    return open_optimum(folder, variant.graph, threads=1)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = write_folder(tmp_path_factory.mktemp("plain"))
    return open_optimum(folder, Path("model.onnx"), threads=1)


def close(found, wanted, variant=None):
    half = variant is not None and "float16" in (variant.pasts, variant.logits)
    scale = (HALF if half else EXACT) * np.abs(wanted).max()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=scale)


def prefill(slot, ids, *, start=0, chunk=64):
    """Run in chunks and return the logits of every row."""
    parts = []
    for first in range(start, ids.shape[1], chunk):
        part = ids[:, first : first + chunk]
        parts.append(slot.run(part, start=first, rows=part.shape[1]))
    return np.concatenate(parts)


def test_every_variant_computes_what_the_formulas_say(decoder, variant, wanted):
    found = decoder.slot().run(IDS, start=0, rows=IDS.shape[1])
    assert (found.dtype, found.shape) == (np.float32, wanted.shape)
    close(found, wanted, variant)
    assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.9999


def test_chunks_and_single_tokens_change_no_more_than_the_last_digits(decoder, variant, wanted):
    close(prefill(decoder.slot(), IDS, chunk=64), wanted, variant)
    slot = decoder.slot()
    slot.run(IDS[:, :130], start=0, rows=0)
    close(prefill(slot, IDS, start=130, chunk=1), wanted[130:], variant)


def test_a_slot_is_trimmed_by_a_smaller_start(decoder, variant, wanted):
    slot = decoder.slot()
    slot.run(np.concatenate([IDS[:, :90], IDS[:, :40]], axis=1), start=0, rows=1)
    assert slot.rows == 130
    close(prefill(slot, IDS, start=90), wanted[90:], variant)
    assert slot.rows == 150


def test_a_prefix_is_copied_and_its_source_stays(decoder, variant, wanted):
    source, whole, part = (decoder.slot() for _ in range(3))
    source.run(IDS[:, :100], start=0, rows=0)
    whole.copy_from(source, rows=100)
    part.copy_from(source, rows=60)
    assert (whole.rows, part.rows) == (100, 60)
    close(prefill(part, IDS, start=60), wanted[60:], variant)
    close(prefill(whole, IDS, start=100), wanted[100:], variant)
    assert source.rows == 100
    close(prefill(source, IDS, start=100), wanted[100:], variant)


def test_pasts_keep_their_type_and_their_size_is_known(decoder, variant):
    slot = decoder.slot()
    assert slot.nbytes == 0
    slot.run(IDS, start=0, rows=0)
    size = np.dtype(variant.pasts).itemsize
    assert slot.nbytes == 2 * SMALL.layers * SMALL.kv_heads * SMALL.head_dim * 150 * size
    slot.reserve(400, keep=50)
    assert (slot.rows, slot.capacity) == (50, 50)


def test_the_last_rows_are_returned_without_the_others_memory(decoder, wanted, variant):
    found = decoder.slot().run(IDS, start=0, rows=3)
    close(found, wanted[-3:], variant)
    assert found.base is None
    assert decoder.slot().run(IDS, start=0, rows=0).shape == (0, SMALL.vocab)


def test_a_graph_that_can_leave_rows_out_is_told_how_many_are_wanted(tmp_path):
    variant = Variant(keep=True)
    slot = open_optimum(write_folder(tmp_path, variant), variant.graph, threads=1).slot()
    for rows, kept in ((0, 1), (1, 1), (5, 5)):
        feeds = slot._feeds(IDS, start=0, end=IDS.shape[1], rows=rows)
        assert feeds["num_logits_to_keep"] == kept  # 0 would mean all of them


def test_shape_and_stop_ids_come_from_graph_and_json(decoder):
    assert decoder.config == SMALL
    assert decoder.stop_ids == (7, 8, 9)


def test_prompts_are_not_decoded_together(plain):
    assert not plain.batches
    with pytest.raises(BackendError, match="one prompt at a time"):
        plain.batch(plain.slot(), rows=0, capacity=8, size=2)
    with pytest.raises(BackendError, match="one prompt at a time"):
        plain.step([plain.slot()], [1], [0])


@pytest.mark.parametrize("chunk", [16, 64, 512])
def test_the_runner_answers_as_the_formulas_whatever_is_cached(plain, chunk):
    weights = {name: array.astype(np.float64) for name, array in small_weights().items()}
    prompts = [IDS[0, :120].tolist(), [*IDS[0, :40].tolist(), 9, 8, 7], IDS[0, :100].tolist()]
    cold, kept = [], Runner(plain, chunk=chunk)
    for prompt in prompts:
        expected = []
        for _ in range(6):
            expected.append(int(formulas(SMALL, weights, prompt + expected)[-1].argmax()))
        answer = Runner(plain, chunk=chunk).generate(prompt, max_tokens=6)
        assert (list(answer.tokens), answer.cached_tokens) == (expected, 0)
        cold.append(answer.tokens)
    warm = [kept.generate(prompt, max_tokens=6) for prompt in [*prompts, *prompts]]
    assert [answer.tokens for answer in warm] == [*cold, *cold]
    assert [answer.cached_tokens for answer in warm[:3]] == [0, 40, 98]
    assert all(answer.cached_tokens for answer in warm[3:])
    many = Runner(plain, chunk=chunk).generate_many(prompts, max_tokens=6)
    assert [answer.tokens for answer in many] == cold


def test_rows_that_were_never_computed_are_not_used(plain):
    slot = plain.slot()
    slot.run(IDS[:, :10], start=0, rows=0)
    with pytest.raises(BackendError, match="holds 10 rows, not the 11"):
        slot.run(IDS[:, :1], start=11, rows=1)
    with pytest.raises(BackendError, match="holds 10 rows, not the 12"):
        plain.slot().copy_from(slot, rows=12)


def test_a_failed_call_leaves_the_slot_as_it_was(plain, wanted):
    slot = plain.slot()
    slot.run(IDS[:, :100], start=0, rows=0)
    with pytest.raises(BackendError, match=r"could not compute tokens 60 to 60: .*out of"):
        slot.run(np.array([[SMALL.vocab]]), start=60, rows=1)
    assert slot.rows == 100
    close(prefill(slot, IDS, start=100), wanted[100:])


@pytest.fixture(scope="module")
def made():
    return open_optimum(FOLDER, GRAPH, threads=1)


def test_a_graph_made_by_optimum_gives_pytorchs_logits(made):
    with np.load(FOLDER / "reference.npz") as reference:
        ids, wanted = reference["ids"][None], reference["logits"]
    assert (made.config.window, made.config.vocab, made.stop_ids) == (512, 300, (299, 298))
    whole = made.slot().run(ids, start=0, rows=ids.shape[1])
    close(whole, wanted)
    close(prefill(made.slot(), ids, chunk=7), wanted)
    close(prefill(made.slot(), ids, chunk=1), wanted)
    np.testing.assert_array_equal(whole.argmax(axis=1), wanted.argmax(axis=1))


def test_the_data_of_the_graph_made_by_optimum_says_how_it_was_made():
    facts = json.loads((FOLDER / "made_with.json").read_text(encoding="utf-8"))
    assert (FOLDER.parent / facts["script"]).is_file()
    assert {"optimum", "optimum-onnx", "torch", "transformers"} <= facts["versions"].keys()
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.*") if path.is_file()) < 400_000
