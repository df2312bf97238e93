from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from pytest_ctxguard.cache import cache_folder
from pytest_ctxguard.engine.checkpoints.checkpoint import read_checkpoint
from pytest_ctxguard.engine.checkpoints.config import LLAMA, ModelConfig
from pytest_ctxguard.engine.models.sources import CODER
from pytest_ctxguard.errors import ModelCorrupt, ModelError, ModelMissing
from pytest_ctxguard.tokens.chat_template import qwen_template
from pytest_ctxguard.tokens.vocabulary import load_tokenizer
from tests.engine.tiny import TINY
from tests.engine.tiny_gguf import tiny_floats, write_tiny_gguf
from tests.engine.tiny_hub import DTYPES, write_json, write_tiny_hub
from tests.tokens import tiny_vocabulary

SMALL = replace(TINY, vocab=320)
SMALL_LLAMA = replace(SMALL, architecture=LLAMA)
NARROW = replace(SMALL_LLAMA, head_dim=8)


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("config", [SMALL, SMALL_LLAMA, NARROW], ids=["qwen2", "llama", "narrow"])
def test_a_folder_comes_back(tmp_path, config, dtype, tied, shards):
    folder = write_tiny_hub(tmp_path, config=config, dtype=dtype, tied=tied, shards=shards)
    checkpoint = read_checkpoint(folder)
    assert checkpoint.config == config
    wanted = tiny_floats(config, tied=tied)
    assert checkpoint.weights.keys() == wanted.keys()
    for name, weight in checkpoint.weights.items():
        assert weight.kind == dtype
        expected = wanted[name].astype(DTYPES[dtype]).astype(np.float32)
        np.testing.assert_array_equal(weight.floats(), expected)
    assert checkpoint.tokenizer == tiny_vocabulary.tiny_files()


@pytest.mark.parametrize("config", [SMALL, SMALL_LLAMA], ids=["qwen2", "llama"])
def test_both_formats_of_a_model_are_the_same_checkpoint(tmp_path, config):
    hub = read_checkpoint(write_tiny_hub(tmp_path / "hub", config=config, dtype="F16"))
    gguf = read_checkpoint(write_tiny_gguf(tmp_path / "tiny.gguf", config=config, kind="F16"))
    assert replace(gguf.config, eps=config.eps) == hub.config
    assert (gguf.tokenizer, set(gguf.weights)) == (hub.tokenizer, set(hub.weights))
    for name, weight in hub.weights.items():
        if weight.data.ndim == 2:
            np.testing.assert_array_equal(weight.data, gguf.weights[name].data)


def test_a_configuration_survives_its_json_form():
    assert ModelConfig.from_dict(json.loads(json.dumps(NARROW.as_dict()))) == NARROW
    old = {key: value for key, value in SMALL.as_dict().items() if key != "architecture"}
    assert ModelConfig.from_dict(old) == SMALL
    with pytest.raises(KeyError):
        ModelConfig.from_dict({"architecture": "qwen2"})


def qwen_folder(folder, **changes):
    config = replace(TINY, hidden=8, heads=1, head_dim=8, ffn=8, layers=1)
    write_tiny_hub(folder, config=config, dtype="F16")
    tokenizer = json.loads(load_tokenizer().to_str())
    for token in tokenizer["added_tokens"]:  # as the original marks them
        token["special"] = "tool_call" not in token["content"]
    tokenizer["model"]["merges"] = [" ".join(merge) for merge in tokenizer["model"]["merges"]]
    write_json(folder / "tokenizer.json", {**tokenizer, **changes})
    write_json(
        folder / "tokenizer_config.json",
        {"chat_template": qwen_template(), "eos_token": "<|im_end|>"},
    )
    write_json(
        folder / "config.json", {**read_json(folder / "config.json"), "eos_token_id": 151645}
    )
    write_json(folder / "generation_config.json", {"eos_token_id": [151645, 151643]})
    return folder


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_qwens_own_tokenizer_is_recognised(tmp_path):
    assert read_checkpoint(qwen_folder(tmp_path)).tokenizer is None


def without_normalizer(folder):
    return qwen_folder(folder, normalizer=None)


def with_another_template(folder):
    qwen_folder(folder)
    (folder / "chat_template.jinja").write_text(qwen_template() + "{# ours #}", encoding="utf-8")
    return folder


def with_another_end(folder):
    qwen_folder(folder)
    write_json(folder / "generation_config.json", {"eos_token_id": 151645})
    return folder


@pytest.mark.parametrize("make", [without_normalizer, with_another_template, with_another_end])
def test_what_differs_from_qwens_own_is_kept(tmp_path, make):
    folder = make(tmp_path)
    tokenizer = read_checkpoint(folder).tokenizer
    assert tokenizer is not None
    assert tokenizer.tokenizer_json == (folder / "tokenizer.json").read_text(encoding="utf-8")


def test_a_tied_head_stored_all_the_same_is_the_embedding(tmp_path):
    head = {"lm_head.weight": np.ones((320, 32), np.float32)}
    assert (
        "output.weight"
        not in read_checkpoint(write_tiny_hub(tmp_path, config=SMALL, tensors=head)).weights
    )


def test_an_old_rotary_table_is_left_out(tmp_path):
    table = {"model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(8, np.float32)}
    folder = write_tiny_hub(tmp_path, config=SMALL_LLAMA, tensors=table)
    assert read_checkpoint(folder).weights.keys() == tiny_floats(SMALL_LLAMA).keys()


def test_what_a_configuration_may_leave_out(tmp_path):
    changes = dict.fromkeys(("head_dim", "rope_theta", "tie_word_embeddings", "hidden_act"))
    folder = write_tiny_hub(tmp_path, config=SMALL, changes=changes, tied=False)
    assert read_checkpoint(folder).config == SMALL


def test_rotary_numbers_may_stand_together(tmp_path):
    rope = {"rope_parameters": {"rope_theta": 500.0, "rope_type": "default"}, "rope_theta": None}
    folder = write_tiny_hub(tmp_path, config=SMALL, changes=rope)
    assert read_checkpoint(folder).config.rope_theta == 500.0


ELSE = {
    "another architecture": {"architectures": ["Qwen3ForCausalLM"]},
    "no architecture": {"architectures": None},
    "scaled rotary": {"rope_scaling": {"type": "yarn", "factor": 4.0}},
    "llama 3's rotary": {"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4}},
    "a window": {"use_sliding_window": True},
    "a window in some layers": {"layer_types": ["full_attention", "sliding_attention"]},
    "biases": {"attention_bias": True},
    "another activation": {"hidden_act": "gelu"},
    "part of a head turned": {"partial_rotary_factor": 0.5},
    "quantised weights": {"quantization_config": {"quant_method": "awq"}},
}


@pytest.mark.parametrize("changes", ELSE.values(), ids=ELSE)
def test_what_would_run_wrong_is_refused(tmp_path, changes):
    folder = write_tiny_hub(tmp_path, config=SMALL_LLAMA, changes=changes)
    named = next(iter(changes))
    with pytest.raises(ModelError, match=rf"config\.json: {named} .*This engine runs") as caught:
        read_checkpoint(folder)
    assert not isinstance(caught.value, ModelCorrupt)


def test_a_tensor_too_many_is_refused(tmp_path):
    tensors = {"model.layers.0.self_attn.q_norm.weight": np.ones(16, np.float32)}
    with pytest.raises(ModelError, match=r"q_norm\.weight .* no part of a qwen2 decoder"):
        read_checkpoint(write_tiny_hub(tmp_path, config=SMALL, tensors=tensors))


BROKEN = {
    "a tensor missing": (
        {"tensors": {"model.layers.1.mlp.up_proj.weight": None}},
        r"blk\.1\.ffn_up\.weight is missing",
    ),
    "a head missing": (
        {"tied": False, "tensors": {"lm_head.weight": None}},
        r"output\.weight is missing",
    ),
    "a tensor of another shape": (
        {"tensors": {"model.norm.weight": np.ones(31, np.float32)}},
        r"output_norm\.weight has shape \[31\]; .* asks for \[32\]",
    ),
    "another vocabulary": ({"changes": {"vocab_size": 321}}, r"token_embd\.weight has shape"),
    "a vocabulary too small": (
        {"config": replace(SMALL, vocab=100)},
        r"token id 266; the embedding has 100 rows",
    ),
    "a number missing": ({"changes": {"hidden_size": None}}, "'hidden_size' is missing"),
    "a number that is a text": ({"changes": {"hidden_size": "wide"}}, "wrong type"),
    "a number below one": ({"changes": {"num_hidden_layers": 0}}, "layers is 0"),
    "heads that do not divide": ({"changes": {"num_key_value_heads": 4}}, "no multiple of 4"),
}


@pytest.mark.parametrize(("options", "named"), BROKEN.values(), ids=BROKEN)
def test_a_model_that_is_not_whole_is_corrupt(tmp_path, options, named):
    folder = write_tiny_hub(tmp_path / "tiny", **{"config": SMALL, **options})
    with pytest.raises(ModelCorrupt, match=named) as caught:
        read_checkpoint(folder)
    assert str(folder) in str(caught.value)


SHARD = "model-00002-of-00003.safetensors"
INDEX = "model.safetensors.index.json"
NO_ID = '{"model": {}, "added_tokens": [{"content": "a"}]}'


def replace_text(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")


DAMAGE = {
    "a shard missing": (lambda f: (f / SHARD).unlink(), f"{SHARD}: this shard is missing"),
    "a shard cut short": (
        lambda f: (f / SHARD).write_bytes((f / SHARD).read_bytes()[:-8]),
        f"{SHARD}: not a whole safetensors file",
    ),
    "no index": (lambda f: (f / INDEX).unlink(), "neither model.safetensors nor"),
    "an index of another folder": (
        lambda f: replace_text(f, INDEX, '{"weight_map": {"a": "../a.safetensors"}}'),
        "no plain file name",
    ),
    "an index without a map": (lambda f: replace_text(f, INDEX, "{}"), "no weight_map"),
    "a tensor twice": (
        lambda f: (f / "model-00001-of-00003.safetensors").write_bytes((f / SHARD).read_bytes()),
        "is in another file too",
    ),
    "a configuration cut short": (
        lambda f: replace_text(f, "config.json", '{"arch'),
        "config.json: not a JSON file",
    ),
    "a configuration that is a list": (
        lambda f: replace_text(f, "config.json", "[]"),
        "config.json: not a JSON object",
    ),
    "no tokenizer": (
        lambda f: (f / "tokenizer.json").unlink(),
        "tokenizer.json: cannot be read .* download it again",
    ),
    "a tokenizer that is none": (
        lambda f: replace_text(f, "tokenizer.json", '{"model": 3}'),
        "tokenizer.json is not one",
    ),
    "an added token without id": (
        lambda f: replace_text(f, "tokenizer.json", NO_ID),
        "tokenizer.json is not one",
    ),
    "a tokenizer without merges": (
        lambda f: replace_text(f, "tokenizer.json", '{"model": {}, "added_tokens": []}'),
        "tokenizer.json is not one",
    ),
    "a template in another encoding": (
        lambda f: (f / "chat_template.jinja").write_bytes(b"\xff\xfe"),
        "chat_template.jinja: cannot be read",
    ),
}


@pytest.mark.parametrize(("damage", "named"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_folder_is_corrupt(tmp_path, damage, named):
    folder = write_tiny_hub(tmp_path / "tiny", config=SMALL, shards=3)
    damage(folder)
    with pytest.raises(ModelCorrupt, match=named) as caught:
        read_checkpoint(folder)
    assert str(folder) in str(caught.value)


TEMPLATES = {
    "a file of its own": ({"chat_template.jinja": "own"}, {"chat_template": "set"}, "own"),
    "a setting": ({}, {"chat_template": "set"}, "set"),
    "several by name": (
        {},
        {
            "chat_template": [
                {"name": "tool_use", "template": "other"},
                {"name": "default", "template": "first"},
            ]
        },
        "first",
    ),
    "one that names its tokens": (
        {},
        {"chat_template": "{{ bos_token }}", "bos_token": {"content": "<s>", "lstrip": False}},
        '{%- set bos_token = "<s>" -%}{{ bos_token }}',
    ),
    "one that names a token nobody has": (
        {},
        {"chat_template": "{{ bos_token }}"},
        "{{ bos_token }}",
    ),
}


@pytest.mark.parametrize(("files", "settings", "expected"), TEMPLATES.values(), ids=TEMPLATES)
def test_where_the_chat_template_is_found(tmp_path, files, settings, expected):
    folder = write_tiny_hub(tmp_path, config=SMALL)
    write_json(folder / "tokenizer_config.json", settings)
    for name, text in files.items():
        replace_text(folder, name, text)
    assert read_checkpoint(folder).tokenizer.chat_template == expected


def test_a_template_that_does_not_compile_is_refused(tmp_path):
    folder = write_tiny_hub(tmp_path, config=SMALL)
    replace_text(folder, "chat_template.jinja", "{% for %}")
    with pytest.raises(ModelError, match="chat template cannot be read") as caught:
        read_checkpoint(folder)
    assert str(folder) in str(caught.value)


def test_a_tokenizer_that_cannot_work_is_found_at_reading(tmp_path):
    folder = write_tiny_hub(tmp_path, config=SMALL)
    tokenizer = read_json(folder / "tokenizer.json")
    for token in tokenizer["added_tokens"]:
        token["lstrip"] = True
    write_json(folder / "tokenizer.json", tokenizer)
    with pytest.raises(ModelError, match="does not keep the text beside") as caught:
        read_checkpoint(folder)
    assert str(folder) in str(caught.value)


def test_a_folder_without_chat_template_is_refused(tmp_path):
    folder = write_tiny_hub(tmp_path, config=SMALL)
    (folder / "tokenizer_config.json").unlink()
    with pytest.raises(ModelError, match=r"no chat template.*Use an instruct model"):
        read_checkpoint(folder)


STOPS = {
    "generation": ([263, 7], 264, "<|im_end|>", (263, 7, 264)),
    "configuration": (None, [7, 8], "", (7, 8)),
    "tokenizer": (None, None, "<|im_end|>", (264,)),
}


@pytest.mark.parametrize(("generation", "config", "eos", "expected"), STOPS.values(), ids=STOPS)
def test_where_the_end_of_an_answer_is_found(tmp_path, generation, config, eos, expected):
    folder = write_tiny_hub(tmp_path, config=SMALL, changes={"eos_token_id": config})
    write_json(folder / "tokenizer_config.json", {"chat_template": "t", "eos_token": eos})
    write_json(folder / "generation_config.json", {"eos_token_id": generation})
    assert read_checkpoint(folder).tokenizer.stop_ids == expected


def test_a_folder_that_names_no_end_is_refused(tmp_path):
    folder = write_tiny_hub(tmp_path, config=SMALL, changes={"eos_token_id": None})
    (folder / "generation_config.json").unlink()
    write_json(folder / "tokenizer_config.json", {"chat_template": "t"})
    with pytest.raises(ModelError, match="which token ends an answer"):
        read_checkpoint(folder)


def test_nothing_at_the_path(tmp_path):
    with pytest.raises(ModelMissing, match=r"none: there is no such file or folder"):
        read_checkpoint(tmp_path / "none")


def test_a_folder_that_is_no_model(tmp_path):
    with pytest.raises(ModelError, match=r"there is no config\.json"):
        read_checkpoint(tmp_path)


@pytest.mark.model
def test_the_real_model_has_qwens_own_tokenizer(default_model):
    checkpoint = read_checkpoint(cache_folder() / CODER.name / "model.gguf")
    assert checkpoint.tokenizer is None
    assert checkpoint.config == default_model.config
    assert len(checkpoint.weights) == 291
