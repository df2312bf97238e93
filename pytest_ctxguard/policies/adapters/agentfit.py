"""Policies of agentfit: ``fit``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_ctxguard.policies.adapters.openai_dicts import DictPolicy
from pytest_ctxguard.policies.protocol import Policy


def agentfit(policy: Callable[..., Any]) -> Policy:
    """Adapt a policy of agentfit, such as ``partial(fit, max_tokens=1500)``.

    It sees the whole history at every call; the messages of its ``FitResult`` are sent. Its
    ``OverBudgetError`` goes through, as it would reach the agent.
    """
    return DictPolicy(policy, "agentfit")
