"""The structure tier, and a run that has no model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_ctxguard.cache import cache_folder
from pytest_ctxguard.tokens.vocabulary import CACHE_NAME
from tests.plugin.project import Project

BOTH = """
    @pytest.mark.ctx_carried("shard")
    @pytest.mark.ctx_answered("shard", "employee")
    @pytest.mark.ctx_token_cost
    def test_both(ctx_replay):
        ctx_replay("mini", full_history)

    @pytest.mark.ctx_answered("shard")
    def test_model(ctx_replay):
        ctx_replay("mini", full_history)

    @pytest.mark.ctx_carried("shard")
    def test_body(ctx_replay):
        assert ctx_replay("mini", full_history).answers("shard").hits == 3

    def test_structure(ctx_replay):
        ctx_replay("mini", full_history)
    """


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokenizer: object) -> Path:
    """A cache with the tokenizer and no model; whoever tries to fetch one finds no way out."""
    folder = tmp_path / "cache"
    folder.mkdir()
    shutil.copy(cache_folder() / CACHE_NAME, folder)
    monkeypatch.setenv("CTXGUARD_CACHE", str(folder))
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    return folder


def test_the_structure_tier_asks_no_model_and_says_what_it_left_out(project: Project) -> None:
    result = project.with_test(BOTH).run("--ctxguard", "--ctxguard-tier=structure", "-rs")

    assert result.outcomes == {"passed": 2, "skipped": 2}
    assert not (result.root / "opened.txt").exists()
    assert "  not checked in this tier: answered(employee), answered(shard)" in result.section
    assert result.payloads["test_both"]["unchecked"] == ["answered(employee)", "answered(shard)"]
    assert result.payloads["test_model"]["note"] == "not checked in this tier"
    assert "every mark of this test needs a model (structure tier)" in result.text
    assert "the body of this test asks a model (structure tier)" in result.text
    assert "answered(shard): " not in result.section


def test_the_model_tier_checks_all_of_it(project: Project) -> None:
    result = project.with_test(BOTH).run("--ctxguard")

    assert result.outcomes == {"passed": 4}
    assert "not checked" not in result.section
    assert result.section.count("pass         answered(") == 3


def test_updating_in_the_structure_tier_keeps_what_a_model_measured(project: Project) -> None:
    both = project.with_test(BOTH)
    full = both.run("--ctxguard", "--ctxguard-update").baseline
    cheaper = both.with_test(BOTH.replace("full_history", "UserMessages(last_turns=2)"))

    after = cheaper.run("--ctxguard", "--ctxguard-update", "--ctxguard-tier=structure").baseline

    old, new = (tree["entries"]["test_both"][""] for tree in (full, after))
    assert new["billed_input_tokens"]["value"] < old["billed_input_tokens"]["value"]
    assert new.keys() == old.keys()
    assert new["answered.shard"] == old["answered.shard"]
    assert after["entries"]["test_model"] == full["entries"]["test_model"]


def test_a_missing_model_is_an_error_and_structure_marks_are_still_judged(
    project: Project, empty_cache: Path
) -> None:
    test = (
        BOTH
        + """
    @pytest.mark.ctx_carried("shard")
    @pytest.mark.ctx_answered("shard")
    def test_dropped(ctx_replay):
        ctx_replay("mini", SlidingWindow(last=4))
    """
    )

    result = project.with_backend("none").with_test(test).run("--ctxguard")

    assert result.outcomes == {"failed": 4, "passed": 1}
    missing = f"the model qwen2.5-coder-0.5b-instruct is not in {empty_cache}"
    for name in ("test_both", "test_model", "test_body", "test_dropped"):
        assert missing in result.failure(name)
        assert "Run `pytest-ctxguard fetch qwen2.5" in result.failure(name)
    assert result.findings("test_dropped").keys() == {"ctx_carried.lost"}
    assert "  fail         carried(shard): in 0 of 3 requests" in result.section
    assert "  pass         token_cost: " in result.section
    assert f"  not judged: {missing}" in result.section


def test_an_error_told_twice_does_not_drag_in_the_frames_of_the_first(
    project: Project, empty_cache: Path
) -> None:
    test = """
        def test_first(ctx_replay):
            ctx_replay("mini", full_history).answers("shard")

        def test_second(ctx_replay):
            ctx_replay("mini", full_history).answers("employee")
        """

    result = project.with_backend("none").with_test(test).run("--ctxguard")

    assert '.answers("shard")' in result.failure("test_first")
    second = result.failure("test_second")
    assert '.answers("employee")' in second
    assert "shard" not in second
    assert "_pytest" not in second
    assert "functools" not in second


def test_workers_never_fetch(project: Project, empty_cache: Path) -> None:
    willing = project.with_backend("none").with_ini(ctxguard_fetch="auto").with_test(BOTH)

    result = willing.run("--ctxguard", "-n2")

    assert result.outcomes == {"failed": 3, "passed": 1}
    assert "INTERNALERROR" not in result.text
    for name in ("test_both", "test_model", "test_body"):
        assert "Run `pytest-ctxguard fetch qwen2.5" in result.failure(name)
        assert "An xdist worker never fetches it." in result.failure(name)
    assert "  pass         carried(shard): in 3 of 3" in result.section
    assert [path.name for path in empty_cache.iterdir()] == [CACHE_NAME]
