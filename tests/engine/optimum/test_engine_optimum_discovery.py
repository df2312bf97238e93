from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import TensorProto, helper

from pytest_ctxguard.engine.optimum.decoder import open_optimum
from pytest_ctxguard.engine.optimum.discovery import discover
from pytest_ctxguard.errors import ModelError
from tests.engine.tiny_optimum import SMALL, Variant, hub_config, write_folder

GRAPH = Path("onnx/model.onnx")


def merge(model):
    branch = helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1])
    model.graph.input.append(branch)


def forget_pasts(model):
    """Leave a graph that goes from ids and mask to logits, as one exported without pasts does."""
    graph = model.graph
    inputs, outputs = list(graph.input), list(graph.output)
    del graph.input[:], graph.output[:], graph.node[:], graph.initializer[:]
    graph.input.extend(tensor for tensor in inputs if not tensor.name.startswith("past"))
    graph.output.append(outputs[0])
    axis = helper.make_tensor("axis", TensorProto.INT64, [1], [2])
    width = helper.make_tensor("width", TensorProto.INT64, [3], [1, 1, SMALL.vocab])
    graph.initializer.extend([axis, width])
    graph.node.extend(
        [
            helper.make_node("Cast", ["input_ids"], ["floats"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["floats", "axis"], ["column"]),
            helper.make_node("Expand", ["column", "width"], ["logits"]),
        ]
    )


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (merge, r"model\.onnx: it is a merged decoder .* that is not merged"),
        (
            forget_pasts,
            r"model\.onnx: .* exported without pasts.* text-generation-with-past\. Found",
        ),
    ],
)
def test_whole_graphs_that_do_not_fit_are_refused(tmp_path, edit, message):
    folder = write_folder(tmp_path, edit=edit)
    with pytest.raises(ModelError, match=message):
        open_optimum(folder, Path("model.onnx"), threads=1)


class Session:
    """The inputs and outputs of a graph, as a session states them."""

    def __init__(self):
        self.inputs = {
            "input_ids": ("int64", ["b", "s"]),
            "attention_mask": ("int64", ["b", "t"]),
            "past_key_values.0.key": ("float", ["b", 2, "p", 8]),
            "past_key_values.0.value": ("float", ["b", 2, "p", 8]),
        }
        self.outputs = {
            "logits": ("float", ["b", "s", 320]),
            "present.0.key": ("float", ["b", 2, "t", 8]),
            "present.0.value": ("float", ["b", 2, "t", 8]),
        }

    def get_inputs(self):
        return self._tensors(self.inputs)

    def get_outputs(self):
        return self._tensors(self.outputs)

    def _tensors(self, named):
        return [
            SimpleNamespace(name=name, type=f"tensor({kind})", shape=shape)
            for name, (kind, shape) in named.items()
        ]


def test_a_signature_is_read_as_it_is_stated():
    session = Session()
    session.inputs["num_logits_to_keep"] = ("int64", [1])
    session.outputs["logits"] = ("float16", [1, "s", "vocab"])
    io = discover(session, path="g.onnx")
    assert io.integers == dict.fromkeys(
        ("input_ids", "attention_mask", "num_logits_to_keep"), np.dtype(np.int64)
    )
    assert (io.keep, io.vocab, len(io.pasts)) == ((1,), None, 2)
    assert (io.pasts[1].heads, io.pasts[1].width, io.pasts[1].row_bytes) == (2, 8, 64)


MISFITS = {
    "input unknown": ("inputs", "cache_position", ("int64", ["s"]), "unknown inputs: cache_pos"),
    "input missing": ("inputs", "attention_mask", None, "missing inputs: attention_mask"),
    "value missing": (
        "inputs",
        "past_key_values.0.value",
        None,
        r"missing inputs: past_key_values\.0\.value",
    ),
    "layer missing": (
        "inputs",
        "past_key_values.2.key",
        ("float", ["b", 2, "p", 8]),
        r"missing inputs: past_key_values\.1\.key, .*past_key_values\.2\.value",
    ),
    "output missing": ("outputs", "present.0.key", None, r"missing outputs: present\.0\.key"),
    "state unknown": (
        "outputs",
        "present_conv.0",
        ("float", ["b", 4]),
        r"unknown outputs: present_conv\.0",
    ),
    "ids of floats": ("inputs", "input_ids", ("float", ["b", "s"]), r"input_ids is tensor\(float"),
    "bfloat16": (
        "inputs",
        "past_key_values.0.key",
        ("bfloat16", ["b", 2, "p", 8]),
        r"is tensor\(bfloat16\), not tensor\(float\) or tensor\(float16\)",
    ),
    "two types": (
        "outputs",
        "present.0.value",
        ("float16", ["b", 2, "t", 8]),
        r"value is tensor\(float\) but present\.0\.value is tensor\(float16\)",
    ),
    "batch of two": ("inputs", "input_ids", ("int64", [2, "s"]), r"\[2, 's'\].*a batch of 1"),
    "fixed rows": ("inputs", "input_ids", ("int64", [1, 64]), r"\[1, 64\].*any number of rows"),
    "fixed past": (
        "inputs",
        "past_key_values.0.key",
        ("float", [1, 2, 512, 8]),
        r"\[1, 2, 512, 8\].*any number of rows",
    ),
    "unstated heads": (
        "inputs",
        "past_key_values.0.key",
        ("float", ["b", "h", "p", 8]),
        "heads and width must be numbers",
    ),
    "one axis more": ("outputs", "logits", ("float", ["b", "s", 1, 320]), "must have 3 axes"),
    "many to keep": ("inputs", "num_logits_to_keep", ("int64", ["n"]), r"not \[\] or \[1\]"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_signature_that_does_not_fit_is_refused_with_both_sides(name):
    place, tensor, stated, message = MISFITS[name]
    session = Session()
    if stated is None:
        del getattr(session, place)[tensor]
    else:
        getattr(session, place)[tensor] = stated
    with pytest.raises(ModelError, match=rf"^g\.onnx: .*{message}.*Found: .*; needed: input_ids"):
        discover(session, path="g.onnx")


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "model", Variant(external=True, nested=True))


def test_json_may_be_beside_the_graph_and_without_generation_config(folder):
    (folder / "config.json").rename(folder / "onnx" / "config.json")
    (folder / "generation_config.json").unlink()
    decoder = open_optimum(folder, GRAPH, threads=1)
    assert (decoder.config, decoder.stop_ids) == (SMALL, (9,))


def test_a_config_of_transformers_5_and_an_absolute_path(folder):
    config = hub_config() | {"rope_parameters": {"rope_theta": 5e5}}
    del config["rope_theta"], config["eos_token_id"], config["vocab_size"]
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").unlink()
    decoder = open_optimum(folder, folder / GRAPH, threads=1)
    assert (decoder.config.rope_theta, decoder.stop_ids, decoder.config.vocab) == (5e5, (), 320)


BROKEN = {
    "another depth": ({"num_hidden_layers": 3}, "num_hidden_layers is 3, but the graph has 2"),
    "no window": ({"max_position_embeddings": None}, "TypeError"),
    "rope of another kind": ({"rope_theta": None, "rope_parameters": [1]}, "AttributeError"),
    "eos of another kind": ({"eos_token_id": "<|im_end|>"}, "ValueError"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_config_that_does_not_belong_is_refused(folder, name):
    change, message = BROKEN[name]
    (folder / "config.json").write_text(json.dumps(hub_config() | change))
    (folder / "generation_config.json").unlink()
    with pytest.raises(ModelError, match=rf"config\.json: cannot be used .*{message}.*belong to"):
        open_optimum(folder, GRAPH, threads=1)


@pytest.mark.parametrize(
    ("text", "message"), [("{", "not a JSON file"), ("[]", "not a JSON object")]
)
def test_a_broken_config_is_named(folder, text, message):
    (folder / "config.json").write_text(text)
    with pytest.raises(ModelError, match=rf"config\.json: .*{message}.*Fetch the model again"):
        open_optimum(folder, GRAPH, threads=1)


def test_missing_files_are_named(folder):
    with pytest.raises(ModelError, match=r"model_q4\.onnx: no such graph.*: onnx/model\.onnx\."):
        open_optimum(folder, Path("onnx/model_q4.onnx"), threads=1)
    (folder / "config.json").unlink()
    with pytest.raises(ModelError, match=r"no config\.json.*onnx/config\.json"):
        open_optimum(folder, GRAPH, threads=1)
    (folder / "onnx" / "model.onnx_data").unlink()
    with pytest.raises(ModelError, match=r"cannot load it .*external data files"):
        open_optimum(folder, GRAPH, threads=1)
