"""What Inspect's policies do beyond the verdicts, and the adapter's own promises."""

import copy

import pytest

from pytest_ctxguard.errors import FrameworkMissing, PolicyError, UsageError
from pytest_ctxguard.policies.adapters.inspect_ai import inspect_ai, inspect_ai_model
from tests.policies.adapters.contracts import Recorder, ask, stored
from tests.policies.adapters.histories import FACT, PIXEL, agentic, calls, chat

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def installed():
    """Skip where Inspect is missing."""
    pytest.importorskip("inspect_ai.model", reason="nox -s adapters -- inspect_ai")


def test_the_answer_that_came_last_is_dropped():
    (request,) = stored("inspect_ai")["trim-after-answer"]["requests"]
    assert request[-1] == len(chat()) - 2


def test_every_summary_was_made_from_the_task():
    for name in ("summary-chat", "summary-agentic"):
        shown = stored("inspect_ai")[name]["summariser"]
        assert len(shown) > 1
        assert all(entry["fact_shown"] for entry in shown)


def test_a_missing_framework_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.model", None)
    (error,) = ask(inspect_ai(lambda messages: messages), [chat()])
    assert isinstance(error, FrameworkMissing)
    assert "pip install 'inspect-ai>=0.3.285'" in str(error)


@pytest.mark.usefixtures("installed")
class TestInstalled:
    def test_a_cleared_result_keeps_the_keys_inspect_has_no_place_for(self):
        from inspect_ai.model import CompactionEdit

        history = agentic(rounds=6)
        history[3] |= {"time": "2026-01-01", "is_error": True}
        strategy = CompactionEdit(threshold=1500, keep_tool_uses=2, memory=False)
        (sent,) = ask(inspect_ai(strategy), [history])
        assert sent[3] == {**history[3], "content": "(Tool result removed)"}
        assert sent[:3] == history[:3]

    def test_what_a_strategy_made_stays_and_each_replay_has_its_own(self):
        from inspect_ai.model import CompactionSummary

        recorder = Recorder(answer="Gate code noted.")
        strategy = CompactionSummary(threshold=1500, memory=False)
        made = inspect_ai(strategy, model=inspect_ai_model(recorder))
        histories = calls(agentic(rounds=6))
        first = ask(made, histories)
        assert len(recorder.shown) == 1
        assert FACT in recorder.shown[0]
        assert "Gate code noted." in str(first[-1])
        assert ask(made, histories) == first
        assert len(recorder.shown) == 2

    def test_a_handler_cannot_be_copied_and_refuses_another_history(self):
        from inspect_ai.model import CompactionEdit

        made = inspect_ai(lambda: CompactionEdit(threshold=1500))()
        with pytest.raises(TypeError, match="cannot be copied"):
            copy.deepcopy(made)
        first, second = ask(lambda messages: made(messages), [chat(), chat(turns=1)])
        assert len(first) <= len(chat())
        assert isinstance(second, UsageError)

    def test_the_policy_sees_images_reasoning_errors_and_the_samples_input(self):
        seen = []
        history = chat(turns=2)
        part = {"type": "image_url", "image_url": {"url": PIXEL}}
        history[1]["content"] = [{"type": "text", "text": "look"}, part]
        history[2]["reasoning_content"] = "hm"
        history[3]["is_error"] = True
        ask(inspect_ai(lambda messages: seen.extend(messages) or messages), [history])
        assert [c.type for c in seen[1].content] == ["text", "image"]
        assert seen[2].content[0].reasoning == "hm"
        assert seen[2].tool_calls[0].arguments == {"crate": 3000}
        assert (seen[3].function, seen[3].error.type) == ("locate", "unknown")
        assert [m.source for m in seen] == ["input", "input", *[None] * 7]

    @pytest.mark.parametrize("returned", ["text", 3, [3], [{"role": "user", "content": "x"}]])
    def test_what_is_no_message_of_inspects_is_an_error(self, returned):
        (error,) = ask(inspect_ai(lambda messages: returned), [chat()])
        assert isinstance(error, PolicyError)
        assert "adapt.inspect_ai" in str(error)
