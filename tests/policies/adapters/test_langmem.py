"""What LangMem's policy does beyond the verdicts, and the adapter's own promises."""

import copy
from functools import partial
from types import SimpleNamespace

import pytest

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.policies.adapters.langmem import langmem
from tests.policies.adapters.contracts import Recorder, ask, stored, unpacked
from tests.policies.adapters.histories import FACT, agentic, calls, chat

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def installed():
    """Skip where LangMem is missing."""
    pytest.importorskip("langmem.short_term", reason="nox -s adapters -- langmem")


def test_what_the_summariser_was_shown():
    shown = {
        name: [entry["fact_shown"] for entry in made["summariser"]]
        for name, made in stored("langmem").items()
    }
    assert shown == {
        "running-chat": [True, *[False] * 7],
        "running-agentic": [True, *[False] * 7],
        "late-chat": [False] * 6,
        "late-agentic": [True, *[False] * 4],
    }


def test_calls_that_are_nothing_but_system_message_and_summary():
    histories = calls(chat(turns=24))
    requests = stored("langmem")["running-chat"]["requests"]
    sent = [unpacked(*pair) for pair in zip(histories, requests, strict=True)]
    assert sum({m["role"] for m in request} == {"system"} for request in sent) == 8


@pytest.mark.usefixtures("installed")
class TestInstalled:
    def policy(self, recorder, **options):
        from langmem.short_term import summarize_messages

        from pytest_ctxguard.policies.adapters.langchain_model import langchain_model

        model = langchain_model(recorder)
        return langmem(partial(summarize_messages, model=model, max_tokens=1000, **options))

    def test_the_running_summary_goes_on_and_each_replay_has_its_own(self):
        recorder = Recorder(answer="Gate code noted.")
        made = self.policy(recorder)
        histories = calls(agentic(rounds=6))
        first = ask(made, histories)
        asked = len(recorder.shown)
        assert asked > 1
        assert [FACT in text for text in recorder.shown][:2] == [True, False]
        assert all("Gate code noted." in text for text in recorder.shown[1:])
        assert ask(made, histories) == first
        assert len(recorder.shown) == 2 * asked

    def test_a_copy_goes_its_own_way(self):
        made = self.policy(Recorder())()
        *before, last = calls(agentic(rounds=5))
        ask(lambda messages: made(messages), before)
        twin = copy.deepcopy(made)
        assert twin(last) == made(last)
        assert twin.summary is not made.summary

    def test_the_async_function(self):
        from langmem.short_term import asummarize_messages

        from pytest_ctxguard.policies.adapters.langchain_model import langchain_model

        recorder = Recorder(answer="Gate code noted.")
        policy = partial(asummarize_messages, model=langchain_model(recorder), max_tokens=1000)
        requests = ask(langmem(policy), calls(agentic(rounds=4)))
        assert len(recorder.shown) > 0
        assert "Gate code noted." in requests[-1][1]["content"]

    def test_a_policy_that_asks_for_the_budget(self):
        def asking(messages, *, running_summary, budget):
            return SimpleNamespace(messages=messages[-budget:], running_summary=None)

        assert ask(langmem(asking), [chat()], budget=1) == [chat()[-1:]]

    def test_another_result_is_an_error(self):
        def wrong(messages, *, running_summary):
            return messages

        (error,) = ask(langmem(wrong), [chat()])
        assert isinstance(error, PolicyError)
        assert "adapt.langmem: the policy returned list" in str(error)
