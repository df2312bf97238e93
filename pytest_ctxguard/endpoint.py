"""A backend over any chat-completions endpoint: a served model that many processes share."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_ctxguard.backend import (
    GREEDY,
    Completion,
    Message,
    Sampling,
    ToolCall,
    ToolChoice,
    Watch,
)
from pytest_ctxguard.errors import BackendError, PromptTooLong, UsageError

if TYPE_CHECKING:
    import httpx2

LOOPBACK = ("127.0.0.1", "localhost", "::1")
BUSY = (429, 503, 529)
RETRIES = 4
LONGEST_WAIT = 30.0  # seconds, of one Retry-After
JSON_HEADERS = {"content-type": "application/json"}
SHOWN = 300  # characters of a refusal
# The sentences in which OpenAI, and servers after its model, say how long prompt and window are.
LIMIT = re.compile(r"maximum context length (?:is|of) (\d+)")
TOKENS = re.compile(r"(?:resulted in|requested|contains(?: at least)?|has) (\d+)")


class EndpointBackend:
    """Asks a server that speaks OpenAI's chat completions.

    Args:
        url: the base URL that OpenAI clients take; a bare ``http://host:port`` gets ``/v1``.
        model: the model to ask for; needed only where the server has several.
        key: sent as bearer token; it never stands in an error's text.
        timeout: seconds to wait for an answer.
        sleep: waits so many seconds before a request that met a busy server is sent again.

    Raises:
        UsageError: the URL is none, or carries a user name or password.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        key: str | None = None,
        timeout: float = 600.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = base_url(url)
        self._model, self._key = model, key
        self._timeout, self._sleep = timeout, sleep

    @cached_property
    def identity(self) -> Mapping[str, str]:
        """What the answers depend on.

        A server of ours says what its own backend says, so that results through it and in
        process are comparable; of others only the model's name is known.
        """
        own = self._described.get("ctxguard")
        if isinstance(own, dict) and all(isinstance(value, str) for value in own.values()):
            return own
        return {"model": self._name, "numerics": "endpoint"}

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: ToolChoice = "auto",
        max_tokens: int = 48,
        stop: Sequence[str] = (),
        sampling: Sampling = GREEDY,
        watch: Watch | None = None,
    ) -> Completion:
        """Answer one request; ``watch`` is told the text whole, once it is there.

        Raises:
            PromptTooLong: the server says so, with both figures.
            BackendError: it refused, could not be reached, or sent what is no answer.
        """
        body: dict[str, Any] = {
            "model": self._name,
            "messages": list(messages),
            "max_tokens": max_tokens,
            "temperature": sampling.temperature,
        }
        if tools:
            body["tools"] = list(tools)
        if tools or tool_choice == "required":  # which without tools is the server's to refuse
            body["tool_choice"] = tool_choice
        if stop:
            body["stop"] = list(stop)
        if sampling.temperature:
            body |= {"top_p": sampling.top_p, "seed": sampling.seed}
        data = self._send("POST", "/chat/completions", body=body)
        try:
            completion = _completion(data)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise self._error(f"sent what is no chat completion ({error!r})") from error
        if watch is not None:
            watch(completion.text)
        return completion

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        client = self.__dict__.pop("_client", None)
        if client is not None:
            client.close()

    @cached_property
    def _client(self) -> httpx2.Client:
        import httpx2

        host = urlsplit(self.url).hostname
        headers = {} if self._key is None else {"authorization": f"Bearer {self._key}"}
        return httpx2.Client(
            headers=headers, timeout=self._timeout, trust_env=host not in LOOPBACK
        )  # a proxy of the environment's has no business on loopback

    @cached_property
    def _described(self) -> Mapping[str, Any]:
        """What ``GET /v1/models`` says of the model asked for; empty if it says nothing."""
        try:
            listed = self._send("GET", "/models").get("data")
        except BackendError:
            if self._model is None:
                raise
            return {}  # not every server lists its models
        models = [row for row in listed or () if isinstance(row, dict) and row.get("id")]
        if self._model is not None:
            return next((row for row in models if row["id"] == self._model), {})
        if len(models) != 1:
            names = ", ".join(str(row["id"]) for row in models[:8]) or "none"
            raise self._error(f"serves {len(models)} models ({names}); name the one to ask")
        return models[0]

    @property
    def _name(self) -> str:
        return self._model if self._model is not None else str(self._described["id"])

    def _send(self, method: str, path: str, *, body: Any = None) -> Mapping[str, Any]:
        """Send one request, again while the server is busy, and return its JSON object."""
        import httpx2

        # ASCII-only JSON carries any text, half a surrogate pair included.
        content = None if body is None else json.dumps(body)
        for attempt in range(RETRIES + 1):
            try:
                response = self._client.request(
                    method, self.url + path, content=content, headers=JSON_HEADERS
                )
            except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
                what = str(error) or type(error).__name__
                if isinstance(error, httpx2.TimeoutException):
                    what = f"no answer within {self._timeout:g} seconds"
                raise self._error(f"cannot be asked: {what}") from None
            wait = _retry_after(response.headers.get("retry-after", ""))
            if response.status_code not in BUSY or wait is None or attempt == RETRIES:
                break
            self._sleep(wait)
        try:
            data = response.json()
        except (ValueError, RecursionError):
            data = None
        if response.status_code != 200:
            raise self._refusal(response.status_code, data, response.text)
        if not isinstance(data, dict):
            raise self._error(f"sent what is no JSON object: {_first_line(response.text)}")
        return data

    def _refusal(self, status: int, data: Any, text: str) -> BackendError:
        error = data.get("error") if isinstance(data, dict) else None
        error = error if isinstance(error, dict) else {}
        message = error.get("message")
        message = message if isinstance(message, str) else text
        if status == 400 and (figures := _too_long(error, message)):
            return PromptTooLong(*figures)
        return self._error(f"answered {status}: {_first_line(message)}")

    def _error(self, what: str) -> BackendError:
        text = f"{self.url} {what}"
        return BackendError(text if not self._key else text.replace(self._key, "***"))


def base_url(url: str) -> str:
    """Return the base URL of an endpoint, without a slash at its end.

    Raises:
        UsageError: it is no http URL, or carries a user name or password.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("an endpoint is a URL such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            f"the endpoint's URL for {parts.hostname} has a user name, password, query or "
            "fragment; give scheme, host, port and path only, and the key by environment variable"
        )
    return url.rstrip("/") + ("" if parts.path.strip("/") else "/v1")


def _completion(data: Mapping[str, Any]) -> Completion:
    choice = data["choices"][0]
    message = choice["message"]
    usage = data.get("usage") or {}
    calls = tuple(
        ToolCall(name=call["function"]["name"], arguments=call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    )
    reason = choice.get("finish_reason")
    return Completion(
        text=message.get("content") or "",
        tool_calls=calls,
        finish_reason="tool_calls" if calls else "length" if reason == "length" else "stop",
        prompt_tokens=usage.get("prompt_tokens") or 0,
        cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
        completion_tokens=usage.get("completion_tokens") or 0,
    )


def _too_long(error: Mapping[str, Any], message: str) -> tuple[int, int] | None:
    """Return length and limit of a prompt that a server refuses as too long; else None."""
    tokens, limit = error.get("n_prompt_tokens"), error.get("n_ctx")  # llama.cpp's server
    if isinstance(tokens, int) and isinstance(limit, int):
        return tokens, limit
    window, length = LIMIT.search(message), TOKENS.search(message)
    return (int(length[1]), int(window[1])) if window and length else None


def _retry_after(header: str) -> float | None:
    """Return the seconds of a ``Retry-After`` header, bounded; None if it names none."""
    try:
        seconds = float(header)
    except ValueError:  # a date, or nothing
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT)


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "(empty)")
    return json.dumps(line[:SHOWN], ensure_ascii=True)[1:-1]
