"""A server on loopback, and a recorder for one cassette."""

from __future__ import annotations

import pytest

from pytest_ctxguard.recording.missing import Place
from pytest_ctxguard.recording.recorder import recording
from pytest_ctxguard.recording.secrets import Secrets
from tests.recording.loopback import loopback


@pytest.fixture
def served():
    with loopback() as server:
        yield server


@pytest.fixture
def record(tmp_path):
    """Record or replay one cassette; the second run of a test calls it again."""

    def open_cassette(mode="once", *, name="it.yaml", environ=(), secrets=None, **options):
        place = Place("test_m.py::test_it", tmp_path / name, name, f"{mode} (test)")
        secrets = secrets or Secrets.from_environment(dict(environ))
        return recording(place, mode=mode, secrets=secrets, **options)

    return open_cassette
