"""The application: routes, the gate before them, and the words for what went wrong."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pytest_ctxguard.server.anthropic_in import read_request as read_messages
from pytest_ctxguard.server.anthropic_out import AnthropicShape
from pytest_ctxguard.server.chat import Chat
from pytest_ctxguard.server.openai_out import OpenAIShape
from pytest_ctxguard.server.refusals import Refusal, refused
from pytest_ctxguard.server.responses import json_response
from pytest_ctxguard.server.shape import Shape
from pytest_ctxguard.server.tokenizing import Encoder, Tokenizing

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
OPENAI, ANTHROPIC = OpenAIShape(), AnthropicShape()
Handler = Callable[[Request], Awaitable[Response]]


class App:
    """The routes of one server.

    Args:
        chat: answers chat requests.
        encoder: tokenizer and chat template.
        identity: what the answers depend on.
        key: what clients must send as bearer token or ``x-api-key``; None: anything goes.
    """

    def __init__(
        self, chat: Chat, encoder: Encoder, *, identity: Mapping[str, str], key: str | None
    ) -> None:
        self._chat, self._identity, self._key = chat, identity, key
        self._tokenizing = Tokenizing(encoder, limit=chat.rules.limit)
        tokenizing = {
            "/tokenize": self._tokenizing.tokenize,
            "/detokenize": self._tokenizing.detokenize,
            "/apply-template": self._tokenizing.apply_template,
        }
        routes = [
            self._route("/v1/chat/completions", self._chat_in(OPENAI), OPENAI),
            self._route("/v1/messages", self._chat_in(ANTHROPIC), ANTHROPIC),
            self._route("/v1/messages/count_tokens", self._count_tokens, ANTHROPIC),
            *(self._route(path, self._plain(work), OPENAI) for path, work in tokenizing.items()),
            self._route("/v1/models", self._models, OPENAI, method="GET"),
            self._route("/v1/models/{model:path}", self._model, OPENAI, method="GET"),
            Route("/health", self._health, methods=["GET"]),
        ]
        self.asgi = Starlette(routes=routes, exception_handlers={HTTPException: _not_here})

    def _route(self, path: str, handler: Handler, shape: Shape, *, method: str = "POST") -> Route:
        async def guarded(request: Request) -> Response:
            try:
                self._check(request)
                return await handler(request)
            except Exception as error:  # whatever it is, the client gets its provider's shape
                refusal = refused(error)
                body = shape.refusal(refusal)
                return json_response(body, status=refusal.status, headers=refusal.headers)

        return Route(path, guarded, methods=[method])

    def _check(self, request: Request) -> None:
        """Let in only who asked for loopback by name, and knows the key."""
        host = request.headers.get("host", "").rsplit(":", 1)[0]
        if host not in LOOPBACK:  # a page in a browser reaches loopback under a name of its own
            raise Refusal(403, "this server answers to 127.0.0.1 and localhost only")
        if self._key is None:
            return
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        given = bearer or request.headers.get("x-api-key", "")
        if not hmac.compare_digest(given.encode(), self._key.encode()):
            anthropic = request.url.path.startswith("/v1/messages")
            raise Refusal(401, "invalid x-api-key" if anthropic else "Incorrect API key provided.")

    def _chat_in(self, shape: Shape) -> Handler:
        async def handler(request: Request) -> Response:
            return await self._chat.answer(request, await self._body(request), shape)

        return handler

    def _plain(self, work: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Handler:
        async def handler(request: Request) -> Response:
            body = await self._body(request)
            loop = asyncio.get_running_loop()
            return json_response(
                await loop.run_in_executor(self._chat.desk.clerk, lambda: work(body))
            )

        return handler

    async def _count_tokens(self, request: Request) -> Response:
        body = await self._body(request)
        ask = read_messages(body, strict=self._chat.rules.strict, counting=True)
        return json_response({"input_tokens": await self._chat.count(ask)})

    async def _models(self, request: Request) -> Response:
        """List the one model, in a shape that both providers' clients read."""
        model = self._described()
        ends = {"first_id": model["id"], "last_id": model["id"], "has_more": False}
        return json_response({"object": "list", "data": [model], **ends})

    async def _model(self, request: Request) -> Response:
        if request.path_params["model"] != self._identity["model"]:
            raise Refusal(404, "The model does not exist.", code="model_not_found", param="model")
        return json_response(self._described())

    def _described(self) -> dict[str, Any]:
        name = self._identity["model"]
        return {
            "id": name,
            "object": "model",
            "created": 0,
            "owned_by": "pytest-ctxguard",
            "type": "model",
            "display_name": name,
            "created_at": "1970-01-01T00:00:00Z",
            "max_model_len": self._chat.rules.limit,
            "ctxguard": dict(self._identity),
        }

    async def _health(self, request: Request) -> Response:
        return json_response({"status": "ok"})

    async def _body(self, request: Request) -> dict[str, Any]:
        """Read a JSON object, of bounded size."""
        limit = self._chat.rules.body_limit
        data = bytearray()
        if int(request.headers.get("content-length") or 0) <= limit:
            async for chunk in request.stream():
                data += chunk
                if len(data) > limit:
                    break
            else:
                return _object(bytes(data))
        raise Refusal(413, f"Request exceeds the maximum size of {limit} bytes.")


def _object(data: bytes) -> dict[str, Any]:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise Refusal(400, "We could not parse the JSON body of your request.")
    return body


async def _not_here(request: Request, error: Exception) -> Response:
    """Answer for a path or method there is none of."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    shape: Shape = ANTHROPIC if request.url.path.startswith("/v1/messages") else OPENAI
    message = f"Invalid URL ({request.method} {request.url.path})"
    return json_response(shape.refusal(Refusal(status, message)), status=status)
