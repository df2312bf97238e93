"""The hook that gives the plugin something to ask."""

from __future__ import annotations

import pytest

from pytest_ctxguard.engine import open as engine
from tests.plugin.project import Project

MODEL_TESTS = """
    @pytest.mark.ctx_answered("shard", "employee")
    def test_one(ctx_replay):
        ctx_replay("mini", full_history)

    @pytest.mark.ctx_answered("shard")
    def test_two(ctx_replay):
        assert ctx_replay("mini", full_history).answers("employee").hits == 3
    """


def opened(project: Project) -> int:
    log = project.root / "opened.txt"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_the_hook_is_called_once_however_many_tests_ask(project: Project) -> None:
    result = project.with_test(MODEL_TESTS).run("--ctxguard")

    assert result.outcomes == {"passed": 2}
    assert opened(project) == 1


def test_the_hook_is_not_called_where_nobody_asks(project: Project) -> None:
    test = """
        @pytest.mark.ctx_carried("shard")
        def test_structure(ctx_replay):
            ctx_replay("mini", full_history)

        @pytest.mark.ctx_answered("shard")
        def test_fails_before(ctx_replay):
            ctx_replay("mini", full_history)
            raise ZeroDivisionError
        """

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"passed": 1, "failed": 1}
    assert opened(project) == 0


def test_a_hook_that_returns_nothing_leaves_the_model_to_the_engine(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_ctxguard.testing import ScriptedBackend

    asked = []

    def open_backend(model: str | None, **options: object) -> ScriptedBackend:
        asked.append((model, options["fetch"]))
        return ScriptedBackend(lambda messages: "It is pay-core-07, or 48213.")

    monkeypatch.setattr(engine, "open_backend", open_backend)
    mine = project.with_backend("none").with_ini(ctxguard_fetch="auto", ctxguard_model="m.gguf")

    result = mine.with_test(MODEL_TESTS).run("--ctxguard")

    assert asked == [("m.gguf", True)]
    assert "guessed without the fact" in result.failure("test_one")


def test_a_hook_that_raises_is_the_users_error_on_the_model_marks(project: Project) -> None:
    conftest = "def pytest_ctxguard_backend(config): raise OSError('no GPU today')"

    result = project.with_file("conftest.py", conftest).with_test(MODEL_TESTS).run("--ctxguard")

    assert result.outcomes == {"failed": 2}
    assert "OSError: no GPU today" in result.text


def test_one_request_is_asked_once(project: Project) -> None:
    conftest = """
from pathlib import Path
from pytest_ctxguard.testing import ScriptedBackend

BACKEND = ScriptedBackend(lambda messages: "It is pay-core-07.")

def pytest_ctxguard_backend(config):
    return BACKEND

def pytest_sessionfinish(session):
    Path(session.config.rootpath, "requests.txt").write_text(str(len(BACKEND.requests)))
"""

    project.with_file("conftest.py", conftest).with_test(MODEL_TESTS).run("--ctxguard")

    # two facts of three wordings: the probe, the fact alone, nothing at all
    assert (project.root / "requests.txt").read_text() == "18"
