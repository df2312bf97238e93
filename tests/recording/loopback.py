"""A small server on loopback whose answers are awkward to record, and clients that ask it."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import httpx
import httpx2
import requests
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

EVENTS = ('data: {"delta": "Hel"}\n\n', 'data: {"delta": "lo"}\n\n', "data: [DONE]\n\n")
BINARY = bytes(range(206, 256))  # 50 bytes that are no text
PACKED = {"text": "grüß " * 40}


@dataclass
class Loopback:
    """A running server: its URL, and the bodies it was sent."""

    url: str = ""
    seen: list[tuple[str, bytes]] = field(default_factory=list)

    async def answer(self, request: Request) -> Response:
        """Note a request and answer it by its path."""
        body = await request.body()
        path = request.url.path
        self.seen.append((path, body))
        if path == "/events":
            return StreamingResponse(_slowly(EVENTS), media_type="text/event-stream")
        if path == "/binary":
            tens = [BINARY[i : i + 10] for i in range(0, 50, 10)]
            return StreamingResponse(_slowly(tens), media_type="application/octet-stream")
        if path == "/gzip":
            data = gzip.compress(json.dumps(PACKED, ensure_ascii=False).encode(), mtime=0)
            return Response(data, headers={"content-encoding": "gzip"}, media_type="text/json")
        if path == "/from":
            return RedirectResponse("/to", status_code=303)
        if path == "/broken":
            return JSONResponse({"error": "no"}, status_code=418)
        return JSONResponse({"number": len(self.seen), "path": path})


async def _slowly(parts: Any) -> Any:
    for part in parts:
        yield part
        await asyncio.sleep(0.005)


@contextmanager
def loopback() -> Iterator[Loopback]:
    """Serve on a free port of loopback."""
    served = Loopback()
    app = Starlette(routes=[Route("/{path:path}", served.answer, methods=["GET", "POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
        assert thread.is_alive()
    port = server.servers[0].sockets[0].getsockname()[1]
    served.url = f"http://127.0.0.1:{port}"
    try:
        yield served
    finally:
        server.should_exit = True
        thread.join(10)


@dataclass(frozen=True)
class Seen:
    """What a caller saw of an answer, in chunks of 10 bytes."""

    status: int
    kind: str
    chunks: tuple[bytes, ...]

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.chunks)


Ask = Callable[..., Seen]
KIND = "content-type"


def by_httpx(method: str, url: str, *, data: bytes = b"", headers: Any = None) -> Seen:
    return _by_client(httpx, method, url, data, headers)


def by_httpx2(method: str, url: str, *, data: bytes = b"", headers: Any = None) -> Seen:
    return _by_client(httpx2, method, url, data, headers)


def _by_client(module: Any, method: str, url: str, data: bytes, headers: Any) -> Seen:
    with (
        module.Client(verify=False, follow_redirects=True) as client,
        client.stream(method, url, content=data, headers=headers) as answer,
    ):
        return Seen(answer.status_code, answer.headers[KIND], tuple(answer.iter_bytes(10)))


def by_async_httpx(method: str, url: str, *, data: bytes = b"", headers: Any = None) -> Seen:
    return asyncio.run(_by_async_client(httpx, method, url, data, headers))


def by_async_httpx2(method: str, url: str, *, data: bytes = b"", headers: Any = None) -> Seen:
    return asyncio.run(_by_async_client(httpx2, method, url, data, headers))


async def _by_async_client(module: Any, method: str, url: str, data: bytes, headers: Any) -> Seen:
    async with (
        module.AsyncClient(verify=False, follow_redirects=True) as client,
        client.stream(method, url, content=data, headers=headers) as answer,
    ):
        chunks = [chunk async for chunk in answer.aiter_bytes(10)]
        return Seen(answer.status_code, answer.headers[KIND], tuple(chunks))


def by_requests(method: str, url: str, *, data: bytes = b"", headers: Any = None) -> Seen:
    with (
        requests.Session() as session,
        session.request(method, url, data=data, headers=headers, stream=True) as answer,
    ):
        chunks = tuple(answer.iter_content(10))
        return Seen(answer.status_code, answer.headers[KIND], chunks)


def by_aiohttp(method: str, url: str, *, data: bytes = b"", headers: Any = None) -> Seen:
    return asyncio.run(_by_aiohttp(method, url, data, headers))


async def _by_aiohttp(method: str, url: str, data: bytes, headers: Any) -> Seen:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url, data=data, headers=headers) as answer,
    ):
        chunks = [chunk async for chunk in answer.content.iter_chunked(10)]
        return Seen(answer.status, answer.headers[KIND], tuple(chunks))


CLIENTS: Mapping[str, Ask] = {
    "httpx": by_httpx,
    "httpx-async": by_async_httpx,
    "httpx2": by_httpx2,
    "httpx2-async": by_async_httpx2,
    "requests": by_requests,
    "aiohttp": by_aiohttp,
}
