"""What goes back over the wire: JSON, a stream of events, and connections that break off."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

Headers = Mapping[str, str]


def json_response(data: Any, *, status: int = 200, headers: Headers | None = None) -> Response:
    """Return a JSON response; ASCII only, so that it carries half a surrogate pair, too."""
    text = data if isinstance(data, str) else json.dumps(data)
    kind = "text/plain" if isinstance(data, str) else "application/json"
    return Response(text, status_code=status, headers=dict(headers or {}), media_type=kind)


class EventStream(Response):
    """A stream of server-sent events.

    ``events`` that end by :class:`BrokenOff`, and ``broken`` ones, leave the response without an
    end, and the server closes the connection. ``events`` is closed in any case, also when the
    client is gone.
    """

    media_type = "text/event-stream"

    def __init__(
        self, events: AsyncGenerator[bytes, None], *, headers: Headers, broken: bool = False
    ) -> None:
        self.status_code, self.background = 200, None
        self._events, self._broken = events, broken
        self.init_headers({"cache-control": "no-cache", **headers})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events as they come."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        try:
            async for event in self._events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
        except BrokenOff:
            self._broken = True
        finally:
            await self._events.aclose()
        if not self._broken:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class BrokenOff(Exception):
    """A scripted fault: the connection closes here."""


class HalfResponse(Response):
    """A response that promises more than it sends, so that the connection breaks off within it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send half of the body and no end."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        half = self.body[: len(self.body) // 2]
        await send({"type": "http.response.body", "body": bytes(half), "more_body": True})
