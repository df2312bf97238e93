from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize

from pytest_ctxguard.engine.checkpoints.config import LLAMA
from pytest_ctxguard.engine.checkpoints.gguf import read_gguf
from pytest_ctxguard.engine.checkpoints.layout import KINDS
from pytest_ctxguard.errors import ModelCorrupt, ModelError
from tests.engine.tiny import TINY
from tests.engine.tiny_gguf import random_blocks, stored, tiny_floats, write_tiny_gguf
from tests.tokens import tiny_vocabulary

SMALL = replace(TINY, vocab=320)
WIDE = replace(SMALL, layers=1, hidden=256, head_dim=128, ffn=512)  # rows of whole super-blocks
SMALL_LLAMA = replace(SMALL, architecture=LLAMA)

# Largest error of a value, as a part of the largest value of its block: half a step of the
# type's levels, a whole one where the levels are lopsided, and the rounding of the scale.
BOUNDS = {
    "F32": 0,
    "F16": 2**-11,
    "BF16": 2**-8,
    "Q8_0": 0.0045,
    "Q5_1": 0.034,
    "Q5_0": 0.064,
    "Q4_1": 0.07,
    "Q4_0": 0.13,
}
F16_SMALLEST = 2**-24


def kinds_of(weights):
    return {weight.kind for name, weight in weights.items() if weight.data.ndim == 2}


def test_the_table_of_types_is_the_formats():
    for name, kind in KINDS.items():
        theirs = GGMLQuantizationType[name]
        assert (kind.id, (kind.block, kind.size)) == (theirs.value, GGML_QUANT_SIZES[theirs])


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_reads_as_gguf_py_reads_it(tmp_path, kind):
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=WIDE, kind=kind)
    weights = read_gguf(path).weights
    assert kinds_of(weights) == {kind}
    theirs = {tensor.name: tensor for tensor in GGUFReader(path).tensors}
    assert theirs.keys() == weights.keys()
    for name, tensor in theirs.items():
        expected = dequantize(tensor.data, tensor.tensor_type)
        assert np.isfinite(expected).all()
        np.testing.assert_array_equal(weights[name].floats(), expected)


@pytest.mark.parametrize(("kind", "bound"), BOUNDS.items())
def test_what_a_type_loses(tmp_path, kind, bound):
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=WIDE, kind=kind)
    block = KINDS[kind].block
    for name, weight in read_gguf(path).weights.items():
        original = tiny_floats(WIDE)[name].reshape(-1, block)
        off = np.abs(weight.floats().reshape(-1, block) - original)
        largest = np.abs(original).max(axis=1, keepdims=True)
        assert (off <= bound * largest + F16_SMALLEST).all(), name


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("config", [SMALL, SMALL_LLAMA], ids=["qwen2", "llama"])
def test_configuration_and_weights_come_back(tmp_path, config, tied):
    model = read_gguf(write_tiny_gguf(tmp_path / "m.gguf", config=config, tied=tied, kind="F32"))
    assert replace(model.config, eps=config.eps) == config
    assert model.config.eps == pytest.approx(config.eps, rel=1e-6)
    wanted = tiny_floats(config, tied=tied)
    assert set(model.weights) == set(wanted)
    assert ("output.weight" in wanted) is not tied
    assert ("blk.0.attn_q.bias" in wanted) is config.biased
    assert len(model.weights) == len(wanted)
    for name in wanted:
        np.testing.assert_array_equal(model.weights[name].floats(), wanted[name])


@pytest.mark.parametrize("kind", ["Q4_1", "Q8_0", "F16", "BF16"])
def test_llama_rows_come_back_in_order_still_quantised(tmp_path, kind):
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL_LLAMA, kind=kind)
    weights, original = read_gguf(path).weights, tiny_floats(SMALL_LLAMA)
    for name in ("blk.1.attn_q.weight", "blk.1.attn_k.weight", "blk.1.attn_v.weight"):
        expected = stored(original[name], kind)
        np.testing.assert_array_equal(weights[name].data, expected.view(np.uint8))
        assert weights[name].kind == kind


def test_the_width_of_a_head_is_what_the_file_says(tmp_path):
    config = replace(SMALL_LLAMA, head_dim=32)
    model = read_gguf(write_tiny_gguf(tmp_path / "tiny.gguf", config=config))
    assert model.config.head_dim == 32
    assert model.weights["blk.0.attn_q.weight"].floats().shape == (64, 32)


def test_what_a_file_may_leave_out(tmp_path):
    left_out = [
        "attention.key_length",
        "attention.value_length",
        "rope.freq_base",
        "rope.dimension_count",
    ]
    changes = {f"qwen2.{name}": None for name in left_out}
    model = read_gguf(write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL, changes=changes))
    assert replace(model.config, eps=SMALL.eps) == SMALL


@pytest.mark.parametrize("kept", [0, 3, 20, 200, 1500, 9000, -9])
def test_a_file_cut_short_is_corrupt(tmp_path, kept):
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelCorrupt, match=r"tiny\.gguf: not a whole GGUF file"):
        read_gguf(path)


HEADERS = {
    "another version": struct.pack("<4sIQQ", b"GGUF", 9, 0, 0),
    "more tensors than bytes": struct.pack("<4sIQQ", b"GGUF", 3, 1 << 60, 0),
    "more keys than bytes": struct.pack("<4sIQQ", b"GGUF", 3, 0, 1 << 60),
    "a text longer than the file": struct.pack("<4sIQQQ", b"GGUF", 3, 0, 1, 1 << 63),
    "a long array": struct.pack("<4sIQQQ1sIIQ", b"GGUF", 3, 0, 1, 1, b"k", 9, 4, 1 << 62),
    "an unknown kind of value": struct.pack("<4sIQQQ1sI", b"GGUF", 3, 0, 1, 1, b"k", 99),
    "arrays in arrays": struct.pack("<4sIQQQ1sI", b"GGUF", 3, 0, 1, 1, b"k", 9)
    + struct.pack("<IQ", 9, 1) * 5000,
    "big-endian": struct.pack(">4sIQQ", b"GGUF", 3, 0, 0),
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_a_header_that_cannot_be_is_corrupt(tmp_path, header):
    path = tmp_path / "odd.gguf"
    path.write_bytes(header)
    with pytest.raises(ModelCorrupt, match=r"odd\.gguf: not a whole GGUF file"):
        read_gguf(path)


def test_a_text_file_is_no_gguf(tmp_path):
    path = tmp_path / "notes.gguf"
    path.write_text("Not a model at all, but long enough to have a header's length.")
    with pytest.raises(ModelCorrupt, match="does not start with GGUF"):
        read_gguf(path)


def test_another_type_is_refused_with_the_tensor_and_the_types_read(tmp_path):
    tensors = {"blk.0.ffn_up.weight": (random_blocks((512, 256), "Q2_K"), "Q2_K")}
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=WIDE, tensors=tensors)
    with pytest.raises(ModelError, match=r"blk\.0\.ffn_up\.weight has type Q2_K.* BF16, Q4_0"):
        read_gguf(path)


@pytest.mark.parametrize("architecture", ["qwen3", "gemma", "qwen2moe"])
def test_another_architecture_is_refused_with_what_is_supported(tmp_path, architecture):
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL, architecture=architecture)
    with pytest.raises(ModelError, match=rf"architecture is '{architecture}'.*qwen2 and llama"):
        read_gguf(path)


ELSE = {
    "scaled rotary": ({"llama.rope.scaling.type": "linear"}, "rope.scaling.type is 'linear'"),
    "a rotary factor": ({"llama.rope.scaling.factor": 4.0}, "rope.scaling.factor is 4.0"),
    "a window": ({"llama.attention.sliding_window": 4096}, "sliding_window is 4096"),
    "experts": ({"llama.expert_count": 8}, "expert_count is 8"),
    "a logit scale": ({"llama.logit_scale": 0.25}, "logit_scale is 0.25"),
    "part of a head turned": ({"llama.rope.dimension_count": 8}, "dimension_count is 8"),
    "values of another width": ({"llama.attention.value_length": 8}, "value_length is 8"),
    "another kind of tokenizer": ({"tokenizer.ggml.model": "llama"}, "ggml.model is 'llama'"),
    "another pre-tokenizer": ({"tokenizer.ggml.pre": "tekken"}, "'tekken'.* qwen2, smollm"),
    "no pre-tokenizer": ({"tokenizer.ggml.pre": None}, "'default'.* qwen2, smollm"),
    "no chat template": ({"tokenizer.chat_template": None}, "no chat template"),
    "a template that does not compile": (
        {"tokenizer.chat_template": "{% for %}"},
        "cannot be read",
    ),
    "no end of an answer": (
        {
            "tokenizer.ggml.eos_token_id": None,
            "tokenizer.ggml.token_type": [1] * len(tiny_vocabulary.TOKENS),
        },
        "which token ends an answer",
    ),
    "a start token": ({"tokenizer.ggml.add_bos_token": True}, "add_bos_token"),
}


@pytest.mark.parametrize(("changes", "named"), ELSE.values(), ids=ELSE)
def test_what_would_run_wrong_is_refused(tmp_path, changes, named):
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL_LLAMA, changes=changes)
    with pytest.raises(ModelError, match=named) as caught:
        read_gguf(path)
    assert not isinstance(caught.value, ModelCorrupt)


PLAIN = {
    "llama.rope.scaling.type": "none",
    "llama.rope.scaling.factor": 1.0,
    "llama.expert_count": 0,
    "llama.attention.causal": True,
}


def test_what_states_the_plain_case_is_accepted(tmp_path):
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL_LLAMA, changes=PLAIN)
    assert read_gguf(path).config.architecture == LLAMA


def test_rotary_factors_are_refused(tmp_path):
    tensors = {"rope_freqs.weight": (np.ones(8, np.float32), "F32")}
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL_LLAMA, tensors=tensors)
    with pytest.raises(ModelError, match=r"rope_freqs\.weight scales the rotary"):
        read_gguf(path)


def test_a_tensor_too_many_is_refused(tmp_path):
    tensors = {"blk.0.attn_q_norm.weight": (np.ones(16, np.float32), "F32")}
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL, tensors=tensors)
    with pytest.raises(ModelError, match=r"attn_q_norm\.weight .* no part of a qwen2 decoder"):
        read_gguf(path)


BROKEN = {
    "a tensor missing": ({}, {"blk.1.ffn_up.weight": None}, r"blk\.1\.ffn_up\.weight is missing"),
    "the embedding missing": ({}, {"token_embd.weight": None}, r"token_embd\.weight' is missing"),
    "a tensor of another shape": (
        {},
        {"output_norm.weight": (np.ones(31, np.float32), "F32")},
        r"output_norm\.weight has shape \[31\]; .* asks for \[32\]",
    ),
    "a key missing": ({"qwen2.block_count": None}, {}, "qwen2.block_count' is missing"),
    "no merges": ({"tokenizer.ggml.merges": None}, {}, "merges' is missing"),
    "a number that is a list": ({"qwen2.attention.head_count": [2, 2]}, {}, "is no number"),
    "merges that are numbers": ({"tokenizer.ggml.merges": [1, 2]}, {}, "wrong type"),
    "no heads": ({"qwen2.attention.head_count": 0}, {}, "heads is 0"),
    "heads that do not divide": ({"qwen2.attention.head_count": 3}, {}, "no multiple|has shape"),
    "a vocabulary that is larger": (
        {
            "tokenizer.ggml.tokens": [f"t{n}" for n in range(400)],
            "tokenizer.ggml.token_type": [1] * 400,
        },
        {},
        "larger than the embedding",
    ),
    "types for other tokens": ({"tokenizer.ggml.token_type": [1, 1]}, {}, "2 token types"),
}


@pytest.mark.parametrize(("changes", "tensors", "named"), BROKEN.values(), ids=BROKEN)
def test_a_model_that_is_not_whole_is_corrupt(tmp_path, changes, tensors, named):
    path = tmp_path / "tiny.gguf"
    write_tiny_gguf(path, config=SMALL, changes=changes, tensors=tensors)
    with pytest.raises(ModelCorrupt, match=named) as caught:
        read_gguf(path)
    assert "tiny.gguf" in str(caught.value)


def test_its_tokenizer_comes_with_it(tmp_path):
    tokenizer = read_gguf(write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL)).tokenizer
    assert tokenizer == tiny_vocabulary.tiny_files()


def test_the_ends_of_an_answer_are_those_stated_and_those_known(tmp_path):
    changes = {"tokenizer.ggml.eos_token_id": 7, "tokenizer.ggml.eot_token_id": 263}
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL, changes=changes)
    assert read_gguf(path).tokenizer.stop_ids == (7, 263, 262, 264)


def test_a_start_token_that_is_none_is_no_name(tmp_path):
    changes = {"tokenizer.chat_template": "{{ bos_token }}", "tokenizer.ggml.bos_token_id": 9999}
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL, changes=changes)
    assert read_gguf(path).tokenizer.chat_template == "{{ bos_token }}"


def test_a_template_is_told_the_tokens_it_names(tmp_path):
    changes = {
        "tokenizer.chat_template": "{{ bos_token }}{{ eos_token }}{{ messages }}",
        "tokenizer.ggml.bos_token_id": 262,
        "tokenizer.ggml.add_bos_token": True,
    }
    path = write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL, changes=changes)
    assert read_gguf(path).tokenizer.chat_template == (
        '{%- set bos_token = "<|endoftext|>" -%}{%- set eos_token = "<|im_end|>" -%}'
        "{{ bos_token }}{{ eos_token }}{{ messages }}"
    )
