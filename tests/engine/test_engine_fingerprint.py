"""What answers depend on is in the fingerprint, and nothing that changes from run to run."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from pytest_ctxguard.backend import fingerprint
from pytest_ctxguard.engine import fingerprint as module
from pytest_ctxguard.engine.fingerprint import PACKAGE, code_digest, engine_fingerprint
from pytest_ctxguard.engine.models.disk import Pin
from pytest_ctxguard.engine.open import open_backend
from pytest_ctxguard.testing import ScriptedBackend
from pytest_ctxguard.tokens.request import RequestEncoder


def made(files, *, threads=2, special_tokens="data"):
    return engine_fingerprint(files, threads=threads, special_tokens=special_tokens)


def test_the_same_is_the_same(tiny_files):
    assert made(tiny_files) == made(tiny_files)


def test_each_part_counts(tiny_files):
    other = {name: Pin("0" * 64, pin.size) for name, pin in tiny_files.pins.items()}
    found = [
        made(tiny_files),
        made(replace(tiny_files, format="optimum"), threads=1),
        made(replace(tiny_files, format="optimum"), threads=2),
        made(tiny_files, special_tokens="parse"),
        made(replace(tiny_files, source_sha256="1" * 64)),
        made(replace(tiny_files, pins=other)),
        made(replace(tiny_files, stop_ids=(1,))),
    ]
    assert len(set(found)) == len(found)


def test_the_number_of_threads_is_no_part_of_it(tiny_files):
    assert made(tiny_files, threads=1) == made(tiny_files, threads=8)


def test_so_does_what_rounds(tiny_files, monkeypatch):
    before = made(tiny_files)
    monkeypatch.setattr(module, "numerics", lambda: "another processor")
    assert made(tiny_files) != before


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("engine/chat.py", True),
        ("engine/models/store.py", True),
        ("tokens/chat_template.py", True),
        ("backend.py", True),
        ("recall/store.py", False),
        ("engine/__pycache__/chat.cpython-399.pyc", False),
    ],
)
def test_the_code_that_answers_counts_byte_for_byte(tmp_path, name, counts):
    package = tmp_path / "package"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("builtin", "__pycache__"))
    before = code_digest(package)
    code_digest.cache_clear()
    path = package / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes((path.read_bytes() if path.exists() else b"") + b"# changed\n")
    assert (code_digest(package) != before) == counts


@pytest.mark.usefixtures("cache")
def test_the_engine_has_one_and_a_script_has_none(tiny_files):
    encoder = RequestEncoder()
    backend = open_backend(str(tiny_files.folder), encoder=encoder, fetch=False)
    again = open_backend(str(tiny_files.folder), encoder=encoder, fetch=False)
    assert fingerprint(backend) == fingerprint(again) is not None
    assert fingerprint(ScriptedBackend([])) is None
