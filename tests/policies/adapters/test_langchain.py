"""What LangChain's policies do beyond the verdicts, and the adapter's own promises."""

import copy

import pytest

from pytest_ctxguard.errors import FrameworkMissing, PolicyError, UsageError
from pytest_ctxguard.policies.adapters.langchain import langchain
from pytest_ctxguard.policies.protocol import policy_name
from tests.policies.adapters.contracts import Recorder, ask, stored
from tests.policies.adapters.histories import FACT, agentic, calls, chat

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def installed():
    """Skip where LangChain is missing."""
    pytest.importorskip("langchain.agents.middleware", reason="nox -s adapters -- langchain")


def edited(request):
    return [message for message in request if isinstance(message, dict)]


def test_clear_at_least_is_the_opposite_of_what_its_name_says():
    cleared = {
        name: len(edited(made["requests"][0]))
        for name, made in stored("langchain").items()
        if name.startswith("clear")
    }
    assert cleared == {
        "clear-agentic": 37,
        "clear-agentic-at-least-800": 3,
        "clear-agentic-at-least-unreachable": 37,
    }


def test_what_the_summariser_was_shown():
    shown = {
        name: [entry["fact_shown"] for entry in made.get("summariser", [])]
        for name, made in stored("langchain").items()
        if name.startswith("summarise")
    }
    assert shown == {
        "summarise-chat": [False],
        "summarise-chat-shown-all": [True],
        "summarise-agentic": [],
        "summarise-agentic-prompt-in-state": [False],
        "summarise-agentic-from-the-start": [True, *[False] * 21],
    }
    (summary,) = (
        m for m in edited(stored("langchain")["summarise-agentic"]["requests"][0]) if m["content"]
    )
    assert summary["content"].endswith("Previous conversation was too long to summarize.")


def test_a_missing_framework_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "langchain_core.messages", None)
    policy = langchain(lambda messages: messages)
    with pytest.raises(FrameworkMissing, match=r"adapt.langchain needs langchain-core\b") as caught:
        policy(chat())
    assert "pip install 'langchain-core>=1.8'" in str(caught.value)
    assert isinstance(caught.value.__cause__, ImportError)


def test_reports_name_the_users_own_policy():
    def trimmed(messages):
        return messages

    assert policy_name(langchain(trimmed)).endswith("trimmed")


@pytest.mark.usefixtures("installed")
class TestInstalled:
    def test_a_policy_may_ask_for_the_budget_and_an_exact_count(self):
        seen = []

        def policy(messages, budget, *, count):
            seen.append((budget, count(messages[-2:])))
            return messages

        history = chat(turns=2)
        langchain(policy)(history, budget=500, count=len)
        assert seen == [(500, 2)]

    def test_an_async_policy(self):
        async def newest(messages):
            return messages[-1:]

        assert ask(langchain(newest), [chat()]) == [chat()[-1:]]

    def test_a_runnable(self):
        from langchain_core.messages import trim_messages

        trimmer = trim_messages(max_tokens=3, token_counter=len, include_system=True)
        history = chat()
        assert ask(langchain(trimmer), [history]) == [[history[0], *history[-2:]]]

    def test_an_edit_changes_the_content_and_nothing_else(self):
        from langchain.agents.middleware import ClearToolUsesEdit

        history = chat(turns=2)
        history[3] |= {"is_error": True, "time": "2026-01-01"}
        (sent,) = ask(langchain(ClearToolUsesEdit(trigger=1, keep=1)), [history])
        assert sent == [*history[:3], {**history[3], "content": "[cleared]"}, *history[4:]]

    def test_cleared_inputs_leave_the_other_calls_as_they_were_written(self):
        from langchain.agents.middleware import ClearToolUsesEdit

        history = agentic(rounds=2)
        spelled = {"name": "locate", "arguments": '{ "crate":1 }'}
        history[2]["tool_calls"].append({"id": "x", "type": "function", "function": spelled})
        history.insert(4, {"role": "tool", "tool_call_id": "x", "content": "crate 1"})
        edit = ClearToolUsesEdit(trigger=1, keep=2, clear_tool_inputs=True)
        (sent,) = ask(langchain(edit), [history])
        cleared, kept = sent[2]["tool_calls"]
        assert cleared["function"] == {"name": "locate", "arguments": "{}"}
        assert kept["function"] == spelled

    def test_a_middlewares_summary_stays_in_the_agents_state(self):
        from langchain.agents.middleware import SummarizationMiddleware

        from pytest_ctxguard.policies.adapters.langchain_model import langchain_model

        recorder = Recorder(answer="Gate code noted.")
        middleware = SummarizationMiddleware(
            langchain_model(recorder), trigger=("messages", 6), keep=("messages", 2)
        )
        requests = ask(langchain(middleware), calls(agentic(rounds=4, pad=1)))
        assert [len(request) for request in requests] == [2, 4, 6, 4, 6]
        assert "Gate code noted." in requests[3][1]["content"]
        assert requests[4][:2] == requests[3][:2]
        assert len(recorder.shown) == 1
        assert FACT in recorder.shown[0]

    def test_each_replay_has_a_state_of_its_own_and_a_copy_goes_its_own_way(self):
        from langchain.agents.middleware import SummarizationMiddleware

        from pytest_ctxguard.policies.adapters.langchain_model import langchain_model

        middleware = SummarizationMiddleware(
            langchain_model(Recorder()), trigger=("messages", 6), keep=("messages", 2)
        )
        made = langchain(lambda: middleware)()
        before, after = calls(agentic(rounds=5, pad=1))[4:]
        first = made(before)
        twin = copy.deepcopy(made)
        assert made(after) == twin(after)
        assert langchain(middleware)()(before) == first
        with pytest.raises(UsageError, match="does not go on from the last one"):
            made(chat())

    def test_an_async_middleware(self):
        from langchain.agents.middleware import AgentMiddleware

        class Newest(AgentMiddleware):
            async def awrap_model_call(self, request, handler):
                return await handler(request.override(messages=request.messages[-1:]))

        history = chat()
        assert ask(langchain(Newest()), [history]) == [[history[0], history[-1]]]

    def test_a_middleware_that_never_calls_the_model_has_no_request_to_judge(self):
        from langchain.agents.middleware import AgentMiddleware
        from langchain_core.messages import AIMessage

        class Short(AgentMiddleware):
            def wrap_model_call(self, request, handler):
                return AIMessage("done")

        with pytest.raises(PolicyError, match="without calling the model"):
            langchain(Short())()(chat())

    @pytest.mark.parametrize("returned", [["text"], [{"role": "user", "content": "x"}], "x", None])
    def test_what_is_no_message_of_langchains_is_an_error(self, returned):
        with pytest.raises(PolicyError, match=r"adapt\.langchain"):
            langchain(lambda messages: returned)(chat())
