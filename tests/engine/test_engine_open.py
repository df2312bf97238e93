from __future__ import annotations

import pytest

from pytest_ctxguard.cache import cache_folder
from pytest_ctxguard.engine.open import open_backend
from pytest_ctxguard.tokens.request import RequestEncoder
from tests.engine.tiny import export_tiny

LONG = [{"role": "user", "content": "one two three four " * 300}]


@pytest.fixture
def model(tmp_path):
    return str(export_tiny(tmp_path / "model"))


@pytest.fixture(scope="module")
def encoder():
    return RequestEncoder()


@pytest.mark.usefixtures("cache")
def test_a_long_prompt_is_kept_on_disk_only_when_asked_for(model, encoder):
    first = open_backend(model, encoder=encoder, fetch=False).complete(LONG, max_tokens=4)
    assert not (cache_folder() / "prefixes").exists()
    kept = open_backend(model, encoder=encoder, fetch=False, prefix_cache=10**9)
    assert kept.complete(LONG, max_tokens=4).cached_tokens == 0
    later = open_backend(model, encoder=encoder, fetch=False, prefix_cache=10**9)
    again = later.complete(LONG, max_tokens=4)
    assert again.cached_tokens == first.prompt_tokens - 2
    assert again.text == first.text


@pytest.mark.usefixtures("cache")
def test_another_model_has_prefixes_of_its_own(model, encoder, tmp_path):
    other = str(export_tiny(tmp_path / "other", seed=5))
    for name in (model, other):
        backend = open_backend(name, encoder=encoder, fetch=False, prefix_cache=10**9)
        assert backend.complete(LONG, max_tokens=1).cached_tokens == 0
    assert len(list((cache_folder() / "prefixes").iterdir())) == 2
