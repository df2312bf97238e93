"""Plugins of Google's Agent Development Kit that change a request before the model sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.policies.adapters import gemini_contents
from pytest_ctxguard.policies.adapters.fields import plain_text
from pytest_ctxguard.policies.adapters.framework import require, unknown
from pytest_ctxguard.policies.adapters.originals import Originals
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.transcript.messages import Message, instructions


def google_adk(plugin: Any) -> Policy:
    """Adapt a plugin with a ``before_model_callback``, such as ``ContextFilterPlugin``.

    The framework builds a request's contents from the session before each model call, so the
    plugin sees the whole history every time. System messages at the start are the system
    instruction, which is beside the contents; later ones are the user's there. A result's parts
    other than text, and others' other than text and inline images, stand as their kind in brackets.

    Args:
        plugin: the plugin; several calls share it, as in an application.

    Raises:
        FrameworkMissing: google-adk is not installed (when the policy runs).
        PolicyError: the plugin answered in the model's place (when the policy runs).
    """

    async def adapted(messages: list[dict[str, Any]]) -> list[Message]:
        types = require("google.genai.types", adapter="google_adk", pip="google-genai>=1")
        request = require(
            "google.adk.models.llm_request", adapter="google_adk", pip="google-adk>=2"
        )
        lead = instructions(messages)
        told = Originals[Any](back=_back)
        made = gemini_contents.contents(types, messages, start=lead)
        asked = request.LlmRequest(
            contents=[told.enter(content, *group) for content, group in made]
        )
        before = "\n\n".join(plain_text(message) for message in messages[:lead])
        if lead:
            asked.config.system_instruction = before
        answer = await plugin.before_model_callback(callback_context=None, llm_request=asked)
        if answer is not None:
            raise PolicyError(
                f"adapt.google_adk: {type(plugin).__name__} answered in the model's place, so "
                "there is no request to check. Remedy: adapt a plugin that only changes requests"
            )
        now = asked.config.system_instruction
        first = messages[:lead] if now == (before if lead else None) else _instructed(now)
        return [*first, *told.restore(asked.contents, messages)]

    adapted.__qualname__ = "adapt.google_adk"
    return adapted


def _back(content: Any) -> Sequence[Message]:
    if not hasattr(content, "parts") or not hasattr(content, "role"):
        raise unknown(content, adapter="google_adk")
    return gemini_contents.back(content)


def _instructed(instruction: Any) -> list[Message]:
    if instruction is None:
        return []
    if isinstance(instruction, str):
        return [{"role": "system", "content": instruction}]
    if hasattr(instruction, "parts"):
        return [{**_back(instruction)[0], "role": "system"}]
    raise unknown(instruction, adapter="google_adk")
