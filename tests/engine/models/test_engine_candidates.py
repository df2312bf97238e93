from __future__ import annotations

import pytest

from pytest_ctxguard.engine.models.candidates import find_model
from pytest_ctxguard.errors import ModelError

BIG = ["config.json", "tokenizer.json", "model-1-of-2.safetensors", "model-2-of-2.safetensors"]


def find(*names, wanted=""):
    return find_model(names, wanted=wanted, place="org/tiny", choose="org/tiny:")


@pytest.mark.parametrize(
    ("names", "kind", "main", "files"),
    [
        (["a.gguf", "config.json"], "gguf", "a.gguf", {"a.gguf"}),
        (["q/a.gguf", "README.md"], "gguf", "q/a.gguf", {"q/a.gguf"}),
        (
            ["config.json", "model.safetensors", "merges.txt", "x.bin"],
            "safetensors",
            "",
            {"config.json", "model.safetensors", "merges.txt"},
        ),
        (
            [*BIG, "model.safetensors.index.json", "consolidated.safetensors"],
            "safetensors",
            "",
            {*BIG, "model.safetensors.index.json"},
        ),
        (
            ["config.json", "onnx/model.onnx", "onnx/model.onnx_data", "onnx/model.onnx_data_1"],
            "optimum",
            "onnx/model.onnx",
            {"config.json", "onnx/model.onnx", "onnx/model.onnx_data", "onnx/model.onnx_data_1"},
        ),
        (
            ["config.json", "model.onnx", "model.onnx.data", "generation_config.json"],
            "optimum",
            "model.onnx",
            {"config.json", "model.onnx", "model.onnx.data", "generation_config.json"},
        ),
    ],
)
def test_one_model_is_found_with_its_files(names, kind, main, files):
    found = find(*names)
    assert (found.kind, found.main, set(found.files)) == (kind, main, files)


def test_the_repositorys_own_weights_win_over_copies():
    names = ["config.json", "model.safetensors", "onnx/model.onnx", "tiny-q4.gguf"]
    assert find(*names).kind == "safetensors"
    assert find(*names, wanted="onnx").main == "onnx/model.onnx"
    assert find(*names, wanted="onnx/").main == "onnx/model.onnx"
    assert find(*names, wanted="tiny-q4.gguf").kind == "gguf"
    assert find(*names, wanted="model.safetensors").kind == "safetensors"


def test_several_are_listed_as_they_are_written():
    with pytest.raises(ModelError) as caught:
        find("a-q4.gguf", "a-q8.gguf")
    assert str(caught.value) == (
        "org/tiny: holds 2 models. Choose one:\n"
        "  org/tiny:a-q4.gguf  (gguf)\n"
        "  org/tiny:a-q8.gguf  (gguf)"
    )


@pytest.mark.parametrize("wanted", ["b.gguf", "a", "a-q4"])
def test_a_choice_that_is_none_is_an_error(wanted):
    with pytest.raises(ModelError, match=f"'{wanted}' does not name one of its models"):
        find("a-q4.gguf", wanted=wanted)


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["README.md"],
        ["model.safetensors"],
        ["model.onnx"],
        ["config.json", "adapter_model.safetensors"],
    ],
)
def test_nothing_to_run_says_what_there_is(names):
    with pytest.raises(ModelError, match=r"no model this engine can run .* It holds ") as caught:
        find(*names)
    assert all(name in str(caught.value) for name in names)
