"""``pytest-ctxguard model``: list, verify, rm."""

import json

import pytest

from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.models.files import RECIPE
from pytest_ctxguard.errors import ModelError, ModelMissing
from tests.engine.fakes import Conversions, flip

STATES = ("state", "not downloaded", "not downloaded", "ready")


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A model of the user's, converted, in an otherwise empty cache."""
    monkeypatch.setenv("CTXGUARD_CACHE", str(tmp_path / "cache"))
    gguf = tmp_path / "mine.gguf"
    gguf.write_bytes(bytes(range(256)) * 8000)
    return store.resolve(str(gguf), tools=Conversions().tools())


def test_list_shows_what_is_here_and_what_could_be(command, made):
    lines = command("model", "list").stdout.splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["model", "MB", "recipe", "state"],
        ["qwen2.5-coder-0.5b-instruct", "-", "-", "not"],
        ["smollm2-135m-instruct", "-", "-", "not"],
        ["mine", "2", str(RECIPE), "ready"],
    ]
    assert lines[1].endswith("not downloaded  PyPI wheels")
    assert lines[3].endswith("mine.gguf")
    assert len({line.index(word) for line, word in zip(lines, STATES, strict=True)}) == 1


def test_list_as_json(command, made):
    rows = json.loads(command("model", "list", "--json").stdout)
    mine = rows[-1]
    assert [row["state"] for row in rows] == ["not downloaded", "not downloaded", "ready"]
    assert mine == {
        "name": "mine",
        "source": mine["source"],
        "bytes": sum(path.stat().st_size for path in made.folder.parent.rglob("*.*")),
        "recipe": RECIPE,
        "state": "ready",
        "folder": str(made.folder.parent),
        "detail": "",
    }
    assert mine["source"].endswith("mine.gguf")


def test_damage_is_told_by_list_and_verify(command, made):
    assert command("model", "verify").exit_code == 0
    flip(made.folder / "model.onnx.data")
    assert json.loads(command("model", "list", "--json").stdout)[-1]["state"] == "ready"
    done = command("model", "verify", "mine")
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [
        "ok",
        "ok",
        "damaged",
    ]
    assert lines[2].endswith(f"onnx-r{RECIPE}/model.onnx.data")
    assert "expected sha256" in lines[3]
    source = json.loads(command("model", "list", "--json").stdout)[-1]["source"]
    assert done.stderr == f"mend it: pytest-ctxguard fetch {source.removeprefix('file ')}\n"
    (made.folder / "model.onnx.data").write_bytes(b"cut")
    assert "mine: " in command("model", "list").stdout.splitlines()[-1]
    assert json.loads(command("model", "list", "--json").stdout)[-1]["state"] == "damaged"


def test_verify_of_an_empty_cache_says_so(command, tmp_path, monkeypatch):
    monkeypatch.setenv("CTXGUARD_CACHE", str(tmp_path / "none"))
    done = command("model", "verify")
    assert (done.exit_code, done.stdout) == (0, "no model is in the cache\n")
    missing = command("model", "verify", "smollm2-135m-instruct")
    assert isinstance(missing.exception, ModelMissing)


def test_rm_frees_room_and_knows_its_names(command, made):
    unknown = command("model", "rm", "gpt-17")
    assert isinstance(unknown.exception, ModelError)
    assert "no such model" in str(unknown.exception)
    done = command("model", "rm", "mine")
    assert (done.exit_code, done.stdout) == (0, "removed mine: 2 MB freed\n")
    assert not made.folder.exists()
    assert isinstance(command("model", "rm", "mine").exception, ModelError)
