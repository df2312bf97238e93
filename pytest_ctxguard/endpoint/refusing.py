"""What a server says when it refuses, and what can be done about it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

SHOWN = 300  # characters of a refusal
# In words: OpenAI's, with vLLM's and llama-cpp-python's after them; SGLang's; llama.cpp's.
LIMITS = (
    r"maximum context length (?:is|of) (\d+)",
    r"context length \((\d+) tokens\)",
    r"maximum allowed length \((\d+) tokens\)",
    r"available context size \((\d+) tokens\)",
)
# Where a sentence has several figures, the sum of prompt and answer comes first.
LENGTHS = (
    r"for a total of (?:at least )?(\d+)",
    r"requested a total of (\d+)",
    r"requested (\d+) tokens",
    r"(?:messages|prompt) (?:resulted in|contains|has) (?:at least )?(\d+) (?:input )?tokens",
    r"(?:input|request|Input length) \((\d+) tokens\)",
)
COUNTED_IN_CHARACTERS = re.compile(r"prompt contains \d+ characters \(more than")
REMEDIES = {
    401: "Set CTXGUARD_ENDPOINT_KEY to a key that it takes",
    403: "Set CTXGUARD_ENDPOINT_KEY to a key that may use this model",
    404: "Name a model that it serves (--ctxguard-model), and mend the URL if it is wrong",
    413: "Allow larger requests in the server or the proxy before it",
    429: "Ask for less at once (ini ctxguard_endpoint_requests)",
}


def refusal(status: int, message: str, *, tried: int) -> str:
    """Return a refusal in words: what, how often it was met, and the remedy.

    Args:
        status: of the response.
        message: what the server said.
        tried: how often the request was sent.
    """
    remedy = REMEDIES.get(
        status,
        "See its log" if status >= 500 else "Mend the request, or the options of the server",
    )
    times = f" to {tried} tries" if tried > 1 else ""
    return f"answered {status}{times}: {first_line(message).rstrip('.')}. {remedy}."


def error_of(data: Any) -> Mapping[str, Any]:
    """Return the error in a response's JSON; empty where there is none.

    Most have it under ``error``; SGLang and older vLLM are it (``"object": "error"``); Ollama
    has llama.cpp's own as text, in its message.
    """
    if not isinstance(data, dict):
        return {}
    error = data.get("error")
    if error is None and data.get("object") == "error":
        error = data
    if error is None and "detail" in data:  # FastAPI's own refusals
        error = data["detail"]
    if isinstance(error, str):
        error = {"message": error}
    if error is not None and not isinstance(error, dict):
        error = {"message": json.dumps(error)}
    return _unwrapped(error or {})


def _unwrapped(error: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the error that another server's message carries as JSON, or the error itself."""
    message = error.get("message")
    if not (isinstance(message, str) and message.startswith("{")):
        return error
    try:
        inner = json.loads(message).get("error")
    except (ValueError, RecursionError):
        return error
    return inner if isinstance(inner, dict) else error


def too_long(error: Mapping[str, Any], message: str) -> tuple[int, int] | None:
    """Return length and limit of a request that is refused as too long, in tokens; else None.

    The length is of prompt and answer together where the server counts so. Where it counted
    characters only, it is the least that it can be.
    """
    tokens, limit = error.get("n_prompt_tokens"), error.get("n_ctx")  # llama.cpp's server
    if isinstance(tokens, int) and isinstance(limit, int):
        return tokens, limit
    window, length = _first(LIMITS, message), _first(LENGTHS, message)
    if window is not None and COUNTED_IN_CHARACTERS.search(message):
        return window + 1, window
    return (length, window) if window is not None and length is not None else None


def first_line(text: str) -> str:
    """Return the first line of a text that has something on it, printable and cut."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "(empty)")
    return json.dumps(line[:SHOWN], ensure_ascii=True)[1:-1]


def _first(patterns: tuple[str, ...], text: str) -> int | None:
    found = (re.search(pattern, text) for pattern in patterns)
    return next((int(match[1]) for match in found if match), None)
