"""The mini project, and one tokenizer for every pytest run inside this process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ctxguard.plugin import guarding  # noqa: F401 - else each run inside imports it anew
from pytest_ctxguard.tokens import request
from tests.engine.tiny import export_tiny
from tests.plugin.engines import engines, with_engine
from tests.plugin.project import Project, mini_transcript

if TYPE_CHECKING:
    from tokenizers import Tokenizer

collect_ignore = ["projects"]


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """Load the tokenizer once; it takes longer than all else in a run of the mini project."""
    return request.RequestEncoder().tokenizer


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tokenizer: Tokenizer
) -> Project:
    """Return the mini project in a folder of its own, run with no other plugin than ours."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a module may be rewritten in place
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(request, "load_tokenizer", lambda: tokenizer)
    return Project(pytester).with_transcript(mini_transcript())


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Export a real model that is small; what it says means nothing."""
    return export_tiny(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture
def shared(
    project: Project, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    """Return the mini project with that model, one engine for all workers; none may be left."""
    yield with_engine(project, tiny_model, folder=tmp_path, monkeypatch=monkeypatch)
    assert engines(tiny_model) == []
    assert list(tmp_path.glob("ctxguard-*")) == []
