"""Tokenizer files inside packages."""

import hashlib
import importlib.metadata

import pytest

from pytest_ctxguard.errors import ModelCorrupt, ModelMissing
from pytest_ctxguard.tokens.counters.packaged import PackagedFile


@pytest.fixture
def file(tmp_path, monkeypatch):
    (tmp_path / "words.json").write_bytes(b"words")

    class Distribution:
        def locate_file(self, path):
            return tmp_path / path

    def distribution(name):
        if name != "carrier":
            raise importlib.metadata.PackageNotFoundError(name)
        return Distribution()

    monkeypatch.setattr(importlib.metadata, "distribution", distribution)

    def make(**changes):
        fields = {
            "package": "carrier==1",
            "path": "words.json",
            "sha256": hashlib.sha256(b"words").hexdigest(),
            "extra": "some-tokens",
            "holds": "words",
        }
        return PackagedFile(**{**fields, **changes})

    return make


def test_the_bytes_are_those_expected(file):
    assert file().read() == b"words"


def test_other_bytes_are_refused(file):
    with pytest.raises(ModelCorrupt, match=r"expected 00.*--force-reinstall --no-deps carrier==1"):
        file(sha256="00").read()


def test_a_missing_package_names_its_extra(file):
    with pytest.raises(ModelMissing, match=r"carries words.*pytest-ctxguard\[some-tokens\]"):
        file(package="other==2").read()


def test_a_missing_file_says_how_to_mend_it(file):
    with pytest.raises(ModelMissing, match="Reinstall it"):
        file(path="gone.json").read()
