"""Read the JSON of a chat completion."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_ctxguard.backend import Completion, ToolCall

# vLLM's and SGLang's ``abort``, and a filter's stop, end what the model has not ended.
ENDS = ("stop", "length", "tool_calls", "function_call", None)
# Where no parser is set, a model's reasoning stands in the text, closed or cut off.
THOUGHT = re.compile(r"\s*<think>.*?(?:</think>\s*|\Z)", re.DOTALL)


def read_answer(data: Mapping[str, Any]) -> Completion:
    """Return the first choice of a chat completion.

    Reasoning is no part of the answer: a value that stands in it was not told to anyone. It is
    in ``reasoning_content`` (llama.cpp, SGLang) or ``reasoning`` (vLLM, Ollama), or in the text.

    Raises:
        ValueError: it is none, or the model gave no answer; the text goes on after ``sent``.
    """
    try:
        choice = data["choices"][0]
        message = choice["message"]
        calls = tuple(_call(call["function"]) for call in message.get("tool_calls") or ())
        content = message.get("content") or ""
        inline = THOUGHT.match(content)
        text = content[inline.end() :] if inline else content
        usage = data.get("usage") or {}
        details = usage.get("prompt_tokens_details") or {}
        reason = choice.get("finish_reason")
        thought = inline or message.get("reasoning_content") or message.get("reasoning")
        written = _count(usage.get("completion_tokens"))
        prompt, cached = _count(usage.get("prompt_tokens")), _count(details.get("cached_tokens"))
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"what is no chat completion ({error!r})") from error
    if reason not in ENDS:
        raise ValueError(f"an answer that ended by {json.dumps(reason)}, not by the model")
    if thought and not text and not calls:
        raise ValueError(
            f"reasoning and no answer ({written} tokens, ended by "
            f"{json.dumps(reason)}). Switch the model's thinking off in the server's options"
        )
    return Completion(
        text=text,
        tool_calls=calls,
        finish_reason="tool_calls" if calls else "length" if reason == "length" else "stop",
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=written,
    )


def _call(function: Mapping[str, Any]) -> ToolCall:
    arguments = function["arguments"]
    if not isinstance(arguments, str):  # an object, where the server has parsed it
        arguments = json.dumps(arguments)
    return ToolCall(name=function["name"], arguments=arguments)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
