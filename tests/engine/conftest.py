from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.models.files import ModelFiles
from tests.engine.tiny import export_tiny


@pytest.fixture(scope="session")
def tiny_files(tmp_path_factory: pytest.TempPathFactory) -> ModelFiles:
    folder = export_tiny(tmp_path_factory.mktemp("tiny") / "model")
    return store.resolve(str(folder))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("CTXGUARD_CACHE", str(folder))
    return folder
