"""Policies of LiteLLM: ``trim_messages``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_ctxguard.policies.adapters.openai_dicts import DictPolicy
from pytest_ctxguard.policies.protocol import Policy


def litellm(policy: Callable[..., Any]) -> Policy:
    """Adapt a policy of LiteLLM, such as ``partial(trim_messages, max_tokens=1500)``.

    It sees the whole history at every call, as LiteLLM's own dicts. With
    ``return_response_tokens=True`` the number of tokens is dropped.
    """
    return DictPolicy(policy, "litellm")
