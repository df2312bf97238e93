"""Adapters for the context policies of agent frameworks.

::

    from functools import partial
    from langchain_core.messages import trim_messages
    from pytest_ctxguard import adapt

    policy = adapt.langchain(partial(trim_messages, max_tokens=1500, token_counter="approximate"))

Each takes a framework's own object exactly as it is run, and returns a policy. The framework is
imported when the policy runs; a missing one is an error with the command that installs it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ctxguard.policies.adapters.ag2 import ag2 as ag2
    from pytest_ctxguard.policies.adapters.ag2 import ag2_compact as ag2_compact
    from pytest_ctxguard.policies.adapters.ag2_classic import ag2_classic as ag2_classic
    from pytest_ctxguard.policies.adapters.agent_framework import agent_framework as agent_framework
    from pytest_ctxguard.policies.adapters.agentfit import agentfit as agentfit
    from pytest_ctxguard.policies.adapters.autogen import autogen as autogen
    from pytest_ctxguard.policies.adapters.google_adk import google_adk as google_adk
    from pytest_ctxguard.policies.adapters.haystack import haystack as haystack
    from pytest_ctxguard.policies.adapters.haystack import haystack_generator as haystack_generator
    from pytest_ctxguard.policies.adapters.inspect_ai import inspect_ai as inspect_ai
    from pytest_ctxguard.policies.adapters.inspect_ai import inspect_ai_model as inspect_ai_model
    from pytest_ctxguard.policies.adapters.langchain import langchain as langchain
    from pytest_ctxguard.policies.adapters.langchain_model import langchain_model as langchain_model
    from pytest_ctxguard.policies.adapters.langmem import langmem as langmem
    from pytest_ctxguard.policies.adapters.litellm import litellm as litellm
    from pytest_ctxguard.policies.adapters.llama_index import llama_index as llama_index
    from pytest_ctxguard.policies.adapters.openai_agents import openai_agents as openai_agents
    from pytest_ctxguard.policies.adapters.openai_agents import openai_session as openai_session
    from pytest_ctxguard.policies.adapters.pydantic_ai import pydantic_ai as pydantic_ai
    from pytest_ctxguard.policies.adapters.pydantic_ai import pydantic_ai_model as pydantic_ai_model
    from pytest_ctxguard.policies.adapters.semantic_kernel import semantic_kernel as semantic_kernel
    from pytest_ctxguard.policies.adapters.strands import strands as strands

# name -> module in policies/adapters
_PUBLIC = {
    "ag2": "ag2",
    "ag2_classic": "ag2_classic",
    "ag2_compact": "ag2",
    "agent_framework": "agent_framework",
    "agentfit": "agentfit",
    "autogen": "autogen",
    "google_adk": "google_adk",
    "haystack": "haystack",
    "haystack_generator": "haystack",
    "inspect_ai": "inspect_ai",
    "inspect_ai_model": "inspect_ai",
    "langchain": "langchain",
    "langchain_model": "langchain_model",
    "langmem": "langmem",
    "litellm": "litellm",
    "llama_index": "llama_index",
    "openai_agents": "openai_agents",
    "openai_session": "openai_agents",
    "pydantic_ai": "pydantic_ai",
    "pydantic_ai_model": "pydantic_ai",
    "semantic_kernel": "semantic_kernel",
    "strands": "strands",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"pytest_ctxguard.policies.adapters.{_PUBLIC[name]}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
