"""Policies on OpenAI-format dicts (LiteLLM, agentfit): what they see and may return."""

from types import SimpleNamespace

import pytest

from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.policies.adapters.agentfit import agentfit
from pytest_ctxguard.policies.adapters.litellm import litellm
from tests.policies.adapters.contracts import stored
from tests.policies.adapters.histories import chat


class Model:
    """A message of a client library's class."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self, *, exclude_none):
        return {k: v for k, v in self.fields.items() if v is not None or not exclude_none}


def test_litellm_shortens_a_result_whose_call_is_gone():
    requests = stored("litellm")["trim-chat"]["requests"]
    starts = [r[1] for r in requests if isinstance(r[1], dict)]
    assert len(starts) == 16
    assert all(m["role"] == "tool" and ".." in m["content"] for m in starts)


def test_the_policy_is_given_the_very_list_and_dicts():
    history = chat()

    def mutating(messages):
        messages[3]["content"] = "cut"
        del messages[0]
        return messages

    sent = litellm(mutating)(history)
    assert history[2]["content"] == "cut"  # as the replay will see, and say
    assert len(history) == len(chat()) - 1
    assert all(a is b for a, b in zip(sent, history, strict=True))


@pytest.mark.parametrize("wrap", [tuple, lambda m: (m, 700), lambda m: SimpleNamespace(messages=m)])
def test_the_shapes_a_list_may_come_in(wrap):
    history = chat()
    assert agentfit(lambda messages: wrap(messages[-2:]))(history) == history[-2:]


def test_a_clients_message_objects_are_read():
    sent = litellm(lambda messages: [Model(role="user", content="x", name=None)])(chat())
    assert sent == [{"role": "user", "content": "x"}]


@pytest.mark.parametrize("returned", [None, "text", [3], SimpleNamespace(messages=None)])
def test_what_is_no_list_of_messages_is_an_error(returned):
    with pytest.raises(PolicyError, match=r"adapt\.litellm"):
        litellm(lambda messages: returned)(chat())


def test_a_policy_may_ask_for_the_budget_and_must_not_ask_for_the_unknown():
    assert litellm(lambda messages, budget: messages[-budget:])(chat(), budget=1) == chat()[-1:]
    with pytest.raises(UsageError, match="needs an argument 'limit'"):
        litellm(lambda messages, limit: messages)(chat())
