"""Send requests to a server, again where that may help, and within a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_ctxguard.endpoint.address import is_loopback, server_url
from pytest_ctxguard.endpoint.refusing import error_of, first_line, refusal, too_long
from pytest_ctxguard.endpoint.retrying import LATER, Patience, named_wait
from pytest_ctxguard.errors import BackendError, PromptTooLong

if TYPE_CHECKING:
    import httpx2

JSON_HEADERS = {"content-type": "application/json"}
LOOK_SECONDS = 10.0  # for what is asked beside the questions, and to be connected


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one try.

    Attributes:
        status: of the response; 0 where there was none.
        text: of its body, or why there was none.
        headers: of the response, names in lower case.
        later: whether another try may fare better.
    """

    status: int
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)
    later: bool = False

    @property
    def data(self) -> Any:
        """The body's JSON; None where it is none."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None


class Sender:
    """Sends requests to one server, for many threads.

    Attributes:
        lost: whether nobody answered the last request, however often it was sent.

    Args:
        url: the base URL.
        key: sent as bearer token; it never stands in an error's text.
        timeout: seconds of one try.
        patience: how often, and how long in all.
        clock: seconds.
        sleep: waits so many.
        chance: draws from 0 to 1.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str,
        timeout: float,
        patience: Patience,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        chance: Callable[[], float],
    ) -> None:
        self.url, self._key, self._timeout = url, key, timeout
        self._patience, self._clock, self._sleep, self._chance = patience, clock, sleep, chance
        self.lost = False

    def ask(self, method: str, path: str, *, body: Any = None) -> Mapping[str, Any]:
        """Send one request and return the JSON object of its answer.

        Once nobody has answered a request in all its tries, a later one is only sent if anybody
        answers at all: the many questions of a run would wait as long, one after the other.

        Raises:
            PromptTooLong: the server says so, with both figures.
            BackendError: it refused, could not be reached, or sent what is no JSON object.
        """
        if self.lost and self._try("GET", self.url + "/models", limit=LOOK_SECONDS).status == 0:
            raise self.error("cannot be asked: it no longer answers. See its log.")
        self.lost = False
        until, tried = self._clock() + self._patience.total, 0
        while True:
            left = until - self._clock()
            reply = self._try(
                method, self.url + path, body=body, limit=min(self._timeout, max(left, 0.001))
            )
            tried += 1
            wait = self._wait(reply, tried) if reply.later else None
            if wait is None or self._clock() + wait >= until:
                return self._read(reply, tried=tried)
            self._sleep(wait)

    def look(self, path: str, *, body: Any = None) -> Mapping[str, Any]:
        """Return what a route of the server's own says; empty, whatever kept it from that."""
        method = "GET" if body is None else "POST"
        reply = self._try(method, server_url(self.url) + path, body=body, limit=LOOK_SECONDS)
        data = reply.data if reply.status == 200 else None
        return data if isinstance(data, dict) else {}

    def error(self, what: str) -> BackendError:
        """Return an error of this server, without the key."""
        return BackendError(f"{self.url} {self._hidden(what)}")

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        client = self.__dict__.pop("_client", None)
        if client is not None:
            client.close()

    @cached_property
    def _client(self) -> httpx2.Client:
        import httpx2

        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        return httpx2.Client(
            headers=headers,
            limits=httpx2.Limits(),  # the threads that ask are the limit
            trust_env=not is_loopback(self.url),
        )

    def _try(self, method: str, url: str, *, limit: float, body: Any = None) -> Reply:
        """Send a request once; ``limit`` is in seconds, from first to last byte."""
        import httpx2

        # ASCII-only JSON carries any text, half a surrogate pair included.
        content = None if body is None else json.dumps(body)
        late = Reply(0, f"no answer within {limit:g} seconds", later=True)
        timeout = httpx2.Timeout(limit, connect=min(limit, LOOK_SECONDS))
        until = self._clock() + limit
        try:
            with self._client.stream(
                method, url, content=content, headers=JSON_HEADERS, timeout=timeout
            ) as response:
                parts = []
                for part in response.iter_bytes():
                    parts.append(part)
                    if self._clock() > until:  # it trickles
                        return late
        except httpx2.TimeoutException:
            return late
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            later = isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError)
            return Reply(0, str(error) or type(error).__name__, later=later)
        status = response.status_code
        text = b"".join(parts).decode("utf-8", "replace")
        return Reply(status, text, response.headers, later=status in LATER)

    def _wait(self, reply: Reply, tried: int) -> float | None:
        named = named_wait(reply.headers)
        return self._patience.wait(tried, chance=self._chance(), named=named)

    def _read(self, reply: Reply, *, tried: int) -> Mapping[str, Any]:
        """Return the JSON object of a reply, or raise what it says instead."""
        if reply.status == 0:
            self.lost = reply.later
            times = f" ({tried} tries)" if tried > 1 else ""
            raise self.error(
                f"cannot be asked: {first_line(self._hidden(reply.text))}{times}. "
                "Start the server, or mend the URL."
            )
        data = reply.data
        error = error_of(data)
        if reply.status != 200 or error:  # gateways send an error with status 200, too
            message = error.get("message")
            message = message if isinstance(message, str) else reply.text
            if reply.status in (200, 400) and (figures := too_long(error, message)):
                raise PromptTooLong(*figures)
            raise self.error(refusal(reply.status, self._hidden(message), tried=tried))
        if not isinstance(data, dict):
            raise self.error(
                f"sent what is no JSON object: {first_line(self._hidden(reply.text))}. "
                "Mend the URL: it is the one that OpenAI's clients take."
            )
        return data

    def _hidden(self, text: str) -> str:
        """Return a text without the key; before it is cut, or a part would remain."""
        if not self._key:
            return text
        escaped = json.dumps(self._key)[1:-1]  # as a body has it that is shown as it came
        return text.replace(self._key, "***").replace(escaped, "***")
