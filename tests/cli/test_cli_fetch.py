"""``pytest-ctxguard fetch``."""

from types import SimpleNamespace

from pytest_ctxguard.engine import store
from pytest_ctxguard.engine.sources import CODER
from pytest_ctxguard.errors import FetchError


def test_it_repairs_the_default_model_and_says_what_and_where(command, monkeypatch):
    repaired = []

    def repair(source, *, progress):
        repaired.append(source)
        progress("downloading", 0, 6)
        progress("downloading", 6, 6)
        progress("converting", 1, 24)
        return SimpleNamespace(identity="coder@1d96 recipe 1", folder="/the/cache/coder")

    monkeypatch.setattr(store, "repair", repair)
    done = command("fetch")
    assert done.exit_code == 0
    assert repaired == [CODER]
    assert done.stdout == f"{CODER.origin}\nready: coder@1d96 recipe 1\n/the/cache/coder\n"
    assert done.stderr == ""


def test_what_went_wrong_is_passed_on(command, monkeypatch):
    def repair(source, *, progress):
        raise FetchError("no index")

    monkeypatch.setattr(store, "repair", repair)
    done = command("fetch")
    assert isinstance(done.exception, FetchError)
    assert done.exit_code == 1


def test_it_takes_no_arguments(command):
    assert command("fetch", "now").exit_code == 2
