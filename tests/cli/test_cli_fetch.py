"""``pytest-ctxguard fetch``."""

from types import SimpleNamespace

import pytest

from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.models.sources import CODER, SMOLLM2
from pytest_ctxguard.errors import FetchError


@pytest.fixture
def repaired(monkeypatch):
    """Let nothing be fetched; what is asked for is noted."""
    asked = []

    def repair(name, *, progress):
        asked.append(name)
        progress("continuing the download", 0, 0)
        progress("downloading", 0, 6)
        progress("downloading", 6, 6)
        return SimpleNamespace(
            identity="coder@1d96 recipe 2",
            folder="/the/cache/coder",
            licence="MIT",
            repo="org/tiny" if name and "/" in name else "",
            commit="c" * 40,
        )

    monkeypatch.setattr(store, "repair", repair)
    return asked


def test_it_repairs_the_default_model_and_says_what_and_where(command, repaired):
    done = command("fetch")
    assert done.exit_code == 0
    assert repaired == [None]
    assert done.stdout == (
        f"{CODER.origin}\nlicence of the weights: MIT\nready: coder@1d96 recipe 2\n"
        "/the/cache/coder\n"
    )
    assert done.stderr == "continuing the download\n"


def test_it_takes_a_name(command, repaired):
    assert command("fetch", SMOLLM2.name).stdout.startswith(f"{SMOLLM2.origin}\n")
    printed = command("fetch", "org/tiny@v1").stdout
    assert printed.startswith(f"from org/tiny on the hub, commit {'c' * 40}\nlicence")
    assert repaired == [SMOLLM2.name, "org/tiny@v1"]


def test_what_went_wrong_is_passed_on(command, monkeypatch):
    def repair(name, *, progress):
        raise FetchError("no index")

    monkeypatch.setattr(store, "repair", repair)
    done = command("fetch")
    assert isinstance(done.exception, FetchError)
    assert done.exit_code == 1


def test_it_takes_one_name_only(command):
    assert command("fetch", "now", "then").exit_code == 2
