"""A counter that asks a server's tokenize route: vLLM's, llama.cpp's, or our own server's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_ctxguard.errors import BackendError, UsageError
from pytest_ctxguard.transcript.messages import Message

if TYPE_CHECKING:
    import httpx2

LOOPBACK = ("127.0.0.1", "localhost", "::1")
REMEMBERED_REQUESTS = 1 << 14
SHOWN = 300  # characters of a refusal


class ServedCounter:
    """Counts requests by the server that runs the model; each is asked for once.

    vLLM's ``POST /tokenize`` takes messages and tools. llama.cpp's takes text, so that its
    ``POST /apply-template`` is asked first; which of the two a server is, its answer tells.

    Args:
        url: the server, with or without ``/v1``.
        key: sent as bearer token; it never stands in an error's text.
        timeout: seconds to wait for an answer.

    Raises:
        UsageError: the URL is none, or carries a user name or password.
    """

    exact = True
    why = "said by the server"

    def __init__(self, url: str, *, key: str | None = None, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"counter {url!r}: a server is a URL such as http://127.0.0.1:8000")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise UsageError(
                f"the counter's URL for {parts.hostname} has a user name, password, query or "
                "fragment; give scheme, host, port and path only"
            )
        self.url = url.rstrip("/").removesuffix("/v1").rstrip("/")
        self._key, self._timeout = key, timeout
        self._ask = lru_cache(maxsize=REMEMBERED_REQUESTS)(self._asked)

    @cached_property
    def name(self) -> str:
        """The model that the server lists, or its address, and the route that counts.

        Raises:
            BackendError: the server cannot be asked.
        """
        try:
            rows = self._send("GET", "/v1/models").get("data")
        except BackendError:
            rows = None  # not every server lists its models
        ids = [row["id"] for row in rows or () if isinstance(row, dict) and "id" in row]
        what = str(ids[0]) if len(ids) == 1 else self.url.partition("://")[2]
        route = "/tokenize" if self._takes_messages else "/apply-template and /tokenize"
        return f"{what} (its server's runtime and chat template, {route})"

    def count(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> int:
        """Return the tokens of a request, as the server counts it.

        Raises:
            BackendError: the server refused, could not be reached, or sent no count.
        """
        body: dict[str, Any] = {
            "messages": list(messages),
            "add_generation_prompt": generation_prompt,
        }
        if tools:
            body["tools"] = list(tools)
        return self._ask(json.dumps(body))

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        client = self.__dict__.pop("_client", None)
        if client is not None:
            client.close()

    @cached_property
    def _takes_messages(self) -> bool:
        """Whether the route takes messages: llama.cpp's answers without a count."""
        body = {"messages": [{"role": "user", "content": "a"}], "add_generation_prompt": True}
        return "count" in self._send("POST", "/tokenize", content=json.dumps(body))

    def _asked(self, content: str) -> int:
        if self._takes_messages:
            count = self._send("POST", "/tokenize", content=content).get("count")
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise self._error(f"/tokenize sent the count {count!r}")
            return count
        prompt = self._send("POST", "/apply-template", content=content).get("prompt")
        if not isinstance(prompt, str):
            raise self._error("/apply-template sent no prompt")
        body = {"content": prompt, "add_special": True, "parse_special": True}
        tokens = self._send("POST", "/tokenize", content=json.dumps(body)).get("tokens")
        if not isinstance(tokens, list):
            raise self._error("/tokenize sent neither count nor tokens")
        return len(tokens)

    @cached_property
    def _client(self) -> httpx2.Client:
        import httpx2

        headers = {"content-type": "application/json"}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key}"
        host = urlsplit(self.url).hostname
        return httpx2.Client(
            headers=headers, timeout=self._timeout, trust_env=host not in LOOPBACK
        )  # a proxy of the environment's has no business on loopback

    def _send(self, method: str, path: str, *, content: str | None = None) -> Mapping[str, Any]:
        import httpx2

        try:
            response = self._client.request(method, self.url + path, content=content)
        except httpx2.TimeoutException:
            raise self._error(f"{path}: no answer within {self._timeout:g} seconds") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            what = str(error) or type(error).__name__
            raise self._error(f"{path} cannot be asked: {what}") from None
        if response.status_code != 200:
            said = json.dumps(response.text[:SHOWN])
            raise self._error(f"{path} answered {response.status_code}: {said}")
        try:
            data = response.json()
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise self._error(f"{path} sent what is no JSON object")
        return data

    def _error(self, what: str) -> BackendError:
        text = f"counter {self.url}: {what}"
        return BackendError(text if not self._key else text.replace(self._key, "***"))
