"""The whole way with nothing replaced: recorded transcript, policy, real model, verdict, gate."""

from __future__ import annotations

import pytest

from tests.plugin.project import UPDATE, Project

TESTS = """
    @pytest.mark.ctx_wellformed
    @pytest.mark.ctx_carried("code")
    @pytest.mark.ctx_answered("code", at_least=5)
    @pytest.mark.ctx_token_cost(max_increase=0.02)
    def test_keeps(ctx_replay): ctx_replay("short-chat", POLICY)

    @pytest.mark.ctx_carried("code")
    @pytest.mark.ctx_answered("code", at_least=5)
    def test_forgets(ctx_replay): ctx_replay("short-chat", SlidingWindow(last=4))
"""


@pytest.mark.model
@pytest.mark.usefixtures("default_model")
def test_a_recording_a_policy_the_real_model_and_the_gate(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = project.with_backend("none").with_test(TESTS.replace("POLICY", "full_history"))

    first = before.run(*UPDATE, subprocess=True)  # numpy loads once a process

    assert first.outcomes == {"passed": 1, "failed": 1}
    recorded = first.baseline["entries"]["test_keeps"][""]
    assert recorded["answered.code"]["value"] >= 5
    instrument = first.baseline["instruments"][recorded["answered.code"]["instrument"]]
    assert instrument["model"].startswith("qwen2.5-coder-0.5b")
    assert set(first.findings("test_forgets")) == {"ctx_carried.lost", "ctx_answered.too-few"}
    assert "abstained" not in first.section

    monkeypatch.setenv("CI", "1")
    dropped = before.with_test(TESTS.replace("POLICY", "SlidingWindow(last=4)"))
    second = dropped.run("--ctxguard", "-k", "keeps", subprocess=True)

    assert second.outcomes == {"failed": 1, "deselected": 1}
    assert "ctx_answered.lost-hits" in second.findings("test_keeps")
