from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_ctxguard.engine.models.disk import Pin, combined_sha256
from pytest_ctxguard.engine.models.files import RECIPE, read_files, read_recipe, write_manifest
from pytest_ctxguard.errors import ModelCorrupt, ModelError
from tests.engine.fakes import SHAPE, flip

FILES = ("model.json", "model.onnx", "model.onnx.data", "extra.bin")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"graph")
    (tmp_path / "model.onnx.data").write_bytes(b"weights" * 100)
    (tmp_path / "extra.bin").write_bytes(b"whatever else the conversion wrote")
    write_manifest(
        tmp_path,
        SHAPE,
        name="tiny",
        licence="MIT",
        source_sha256="ab" * 32,
        weights_form="wide",
        repo="org/tiny",
        commit="c" * 40,
    )
    return tmp_path


def test_what_is_written_is_read(folder):
    files = read_files(folder)
    assert (files.name, files.licence, files.source_sha256) == ("tiny", "MIT", "ab" * 32)
    assert (files.recipe, files.config, files.format) == (RECIPE, SHAPE, "own")
    assert (files.weights_form, files.repo, files.commit) == ("wide", "org/tiny", "c" * 40)
    assert files.graph == folder / "model.onnx"
    assert set(files.pins) == {*FILES} - {"model.json"}
    assert files.identity == f"tiny@abababababab recipe {RECIPE}"
    files.check()
    assert read_recipe(folder) == RECIPE


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(ModelCorrupt, match=name):
        read_files(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_byte_is_found(folder, name):
    flip(folder / name)
    with pytest.raises((ModelCorrupt, ModelError), match=name):
        read_files(folder).check()


def test_the_data_files_hash_is_left_to_the_loader(folder):
    flip(folder / "model.onnx.data")
    files = read_files(folder)
    with pytest.raises(ModelCorrupt, match=r"model\.onnx\.data: expected sha256 .*Delete the fold"):
        files.check("model.onnx.data")
    (folder / "model.onnx.data").write_bytes(b"cut")
    with pytest.raises(ModelCorrupt, match=r"model\.onnx\.data: expected 700 bytes, found 3"):
        read_files(folder)


def test_every_flipped_byte_of_the_manifest_is_found(folder):
    path = folder / "model.json"
    whole = path.read_bytes()
    for place in range(0, len(whole) - 1, 7):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        try:
            same = json.loads(changed) == json.loads(whole)
        except ValueError:
            same = False
        if same:
            continue  # white space
        with pytest.raises(ModelError, match=r"model\.json"):
            read_files(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "x"}', f'{{"recipe": {RECIPE}}}'])
def test_a_broken_manifest_is_corrupt(folder, text):
    (folder / "model.json").write_text(text)
    with pytest.raises(ModelCorrupt, match="not the manifest of a whole converted model"):
        read_files(folder)
    assert read_recipe(folder) in (None, RECIPE)


def test_a_model_of_another_recipe_is_no_damage(folder):
    (folder / "model.json").write_text('{"recipe": 1, "name": "of the first version"}')
    with pytest.raises(ModelError, match=rf"made by recipe 1; this version runs recipe {RECIPE}"):
        read_files(folder)
    assert read_recipe(folder) == 1


def test_the_hash_over_several_files_is_that_of_sorted_lines():
    pins = [("b", Pin("22", 1)), ("a", Pin("11", 9))]
    one = combined_sha256(pins)
    assert one == combined_sha256(reversed(pins))
    assert one != combined_sha256([("a", Pin("22", 1)), ("b", Pin("11", 9))])


def test_a_tokenizer_must_be_whole(folder):
    files = read_files(folder)
    assert not replace(files, stop_ids=None).own_tokenizer
    assert replace(files, stop_ids=()).own_tokenizer
