"""What every test of this package stands on."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest
from hypothesis import settings

from pytest_ctxguard.cache import cache_folder
from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.models.files import ModelFiles

with suppress(ImportError):  # the extra html
    # a process can load it only once, and what a run inside this one loads is forgotten after it
    import vl_convert  # noqa: F401

pytest_plugins = ["pytester"]
settings.register_profile("suite", deadline=None)  # a busy machine is no failure
settings.load_profile("suite")


def pytest_configure() -> None:
    """Pin the cache folder while HOME is still the user's own.

    Pytester moves HOME for each of its tests, and the default cache folder with it; every run
    would build the tokenizer anew, and a test of the real model would look for it in vain. A
    test that wants another cache sets CTXGUARD_CACHE itself.
    """
    os.environ["CTXGUARD_CACHE"] = str(cache_folder())


@pytest.fixture(autouse=True)
def _everyday_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what this run's own surroundings would tell the pytest runs inside it."""
    names = {"CI", "BUILD_NUMBER", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER_COUNT"}
    for name in names | {name for name in os.environ if name.startswith("GITHUB_")}:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def default_model() -> ModelFiles:
    """The real model, fetched and converted by whichever test or worker needs it first."""
    return store.resolve(fetch=True)
