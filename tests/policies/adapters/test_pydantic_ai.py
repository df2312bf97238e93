"""What Pydantic AI's policies do beyond the verdicts, and the adapter's own promises."""

import asyncio
import copy

import pytest

from pytest_ctxguard.errors import FrameworkMissing, PolicyError, UsageError
from pytest_ctxguard.policies.adapters.pydantic_ai import pydantic_ai
from tests.policies.adapters.contracts import ask, stored
from tests.policies.adapters.histories import PIXEL, agentic, calls, chat

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def installed():
    """Skip where Pydantic AI is missing."""
    pytest.importorskip("pydantic_ai.capabilities", reason="nox -s adapters -- pydantic_ai")


def test_every_summary_was_made_from_the_task():
    for name in ("summarising-chat", "summarising-agentic"):
        shown = stored("pydantic_ai")[name]["summariser"]
        assert len(shown) > 1
        assert all(entry["fact_shown"] for entry in shown)


def test_a_missing_framework_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pydantic_ai.messages", None)
    (error,) = ask(pydantic_ai(lambda messages: messages), [chat()])
    assert isinstance(error, FrameworkMissing)
    assert "pip install 'pydantic-ai-slim>=2.62'" in str(error)


@pytest.mark.usefixtures("installed")
class TestInstalled:
    def test_what_a_processor_returns_is_the_history_of_the_next_call(self):
        def newest(messages):
            return messages[-2:]

        history = chat(turns=2)
        requests = ask(pydantic_ai(newest), calls(history))
        assert requests == [history[:2], history[2:4], history[4:6], history[6:8]]

    def test_async_processors_processors_with_context_and_several_in_a_row(self):
        from pydantic_ai import RunContext

        async def without_first(messages):
            return messages[1:]

        def last_but(ctx: RunContext[None], messages):
            return messages[: ctx.run_step and len(messages)]

        history = chat(turns=1)[:4]
        (sent,) = ask(pydantic_ai([without_first, last_but]), [history])
        assert sent == history[2:]

    def test_a_cleared_result_keeps_the_keys_pydantic_has_no_place_for(self):
        from pydantic_ai_harness.compaction import ClearToolResults

        history = agentic(rounds=6)
        history[3]["time"] = "2026-01-01"
        (sent,) = ask(pydantic_ai(ClearToolResults(max_tokens=100, keep_pairs=1)), [history])
        assert sent[3] == {**history[3], "content": "[tool result cleared]"}
        assert sent[:3] + sent[-2:] == history[:3] + history[-2:]

    def test_the_policy_sees_images_and_reasoning(self):
        seen = []
        history = chat(turns=1)[:4]
        part = {"type": "image_url", "image_url": {"url": PIXEL}}
        history[1]["content"] = [{"type": "text", "text": "look"}, part]
        history[2]["reasoning_content"] = "hm"
        ask(pydantic_ai(lambda messages: seen.extend(messages) or messages), [history])
        text, image = seen[0].parts[1].content
        assert (text, image.media_type) == ("look", "image/png")
        assert [p.part_kind for p in seen[1].parts] == ["thinking", "tool-call"]

    def test_a_copy_goes_its_own_way_and_another_history_is_refused(self):
        from pydantic_ai_harness.compaction import SlidingWindowCompaction

        made = pydantic_ai(lambda: SlidingWindowCompaction(max_messages=6, keep_messages=3))()
        *before, last = calls(chat())
        ask(lambda messages: made(messages), before)
        twin = copy.deepcopy(made)
        sent = asyncio.run(made(last))
        assert sent == asyncio.run(twin(last))
        assert len(sent) < len(last)
        with pytest.raises(UsageError, match="does not go on from the last one"):
            asyncio.run(made(chat(turns=1)))

    @pytest.mark.parametrize("returned", [["text"], [{"role": "user", "content": "x"}]])
    def test_what_is_no_message_of_pydantics_is_an_error(self, returned):
        (error,) = ask(pydantic_ai(lambda messages: returned), [chat()[:2]])
        assert isinstance(error, PolicyError)
        assert "adapt.pydantic_ai cannot read a " in str(error)

    def test_a_history_that_asks_for_nothing(self):
        (error,) = ask(pydantic_ai(lambda messages: messages), [chat(turns=1)])
        assert isinstance(error, PolicyError)
        assert "ends in a user message or a tool result" in str(error)
