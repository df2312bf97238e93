"""A run that was killed goes on where it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ctxguard.engine.open import open_backend
from pytest_ctxguard.recall.asking import Asker
from pytest_ctxguard.recall.store import Store
from pytest_ctxguard.tokens.request import RequestEncoder
from tests.engine.tiny import export_tiny
from tests.recall.slow_run import QUESTIONS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(export_tiny(tmp_path_factory.mktemp("tiny") / "model"))


def test_a_killed_run_resumes_with_exactly_what_was_not_finished(model, tmp_path, monkeypatch):
    monkeypatch.setenv("CTXGUARD_CACHE", str(tmp_path))
    killed = subprocess.Popen(
        [sys.executable, "-m", "tests.recall.slow_run", model, "15"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    with killed:
        assert killed.stdout.readline() == "hanging\n"
        killed.kill()

    backend = open_backend(model, encoder=RequestEncoder(), fetch=False)
    told: list[tuple[str, int, int]] = []
    store = Store(run="next", warn=pytest.fail)
    asker = Asker(backend, progress=lambda *step: told.append(step), store=store)
    answers = asker.ask(QUESTIONS, label="asking")
    store.close()
    undisturbed = Asker(backend).ask(QUESTIONS[::-1])[::-1]

    assert told[0] == ("asking", 15, 30)
    assert (asker.spent.asked, asker.spent.kept) == (15, 15)
    assert [answer.text for answer in answers] == [answer.text for answer in undisturbed]
    assert len({answer.text for answer in answers}) > 1
