"""Answer a chat request: faults, refusals, the backend, the record, the response."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from pytest_ctxguard.backend import Completion
from pytest_ctxguard.server.ask import Answered, Ask
from pytest_ctxguard.server.jobs import Desk, Job
from pytest_ctxguard.server.recording import Recorder
from pytest_ctxguard.server.refusals import Refusal, TooLong, refused
from pytest_ctxguard.server.responses import (
    BrokenOff,
    EventStream,
    HalfResponse,
    json_response,
)
from pytest_ctxguard.server.script import Fault
from pytest_ctxguard.server.shape import Shape, Stream
from pytest_ctxguard.server.tokenizing import Encoder

NO_FAULT = Fault()
T = TypeVar("T")
Faults = Mapping[int, Fault] | Callable[[int, Mapping[str, Any]], Fault | None]


@dataclass(frozen=True, slots=True)
class Received:
    """A chat request as it came in.

    Attributes:
        path: ``/v1/chat/completions`` or ``/v1/messages``.
        body: its JSON body.
        status: HTTP status it was answered with; None until it is answered.
        prompt_tokens: its size, where it was counted: not where a fault came first.
    """

    path: str
    body: Mapping[str, Any]
    status: int | None = None
    prompt_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a server was told to do.

    Attributes:
        limit: tokens a prompt may have; None: no limit but the backend's own.
        strict: refuse messages the provider refuses.
        faults: what happens to a chat request, by its number, or asked with number and body.
        body_limit: bytes a request's body may have.
    """

    limit: int | None
    strict: bool
    faults: Faults
    body_limit: int

    def fault(self, number: int, body: Mapping[str, Any]) -> Fault:
        """Return what happens to a chat request."""
        found = self.faults(number, body) if callable(self.faults) else self.faults.get(number)
        return found or NO_FAULT


class Chat:
    """Answers chat requests, in whatever shape."""

    def __init__(
        self, desk: Desk, encoder: Encoder, *, rules: Rules, recorder: Recorder | None, keep: bool
    ) -> None:
        self.desk, self.rules, self.recorder = desk, rules, recorder
        self._encoder, self._keep = encoder, keep
        self.received: list[Received] = []
        self._count = 0

    async def answer(self, request: Request, body: Mapping[str, Any], shape: Shape) -> Response:
        """Answer one request, or raise a refusal."""
        self._count += 1
        number = self._count
        if self._keep:
            self.received.append(Received(request.url.path, body))
        try:
            response = await self._answer(request, body, shape, number=number)
        except Exception as error:
            self._note(number, status=refused(error).status)
            raise
        self._note(number, status=response.status_code)
        return response

    def _note(self, number: int, **known: Any) -> None:
        """Keep what has become known of a request."""
        if self._keep:
            self.received[number - 1] = replace(self.received[number - 1], **known)

    async def _answer(
        self, request: Request, body: Mapping[str, Any], shape: Shape, *, number: int
    ) -> Response:
        fault = self.rules.fault(number, body)
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.status is not None:
            return _fault_response(fault, shape)
        ask = shape.read(body, strict=self.rules.strict)
        prompt_tokens = await self.count(ask)
        self._note(number, prompt_tokens=prompt_tokens)
        if self.rules.limit is not None and prompt_tokens > self.rules.limit:
            raise TooLong(prompt_tokens, self.rules.limit)
        turn = _Turn(self, ask, shape, number=number, prompt_tokens=prompt_tokens)
        gone = asyncio.create_task(_when_gone(request, turn.job.give_up))
        if ask.stream:
            return await turn.stream(gone, drop_after=fault.drop_after)
        try:
            answered = await turn.answered()
        finally:
            gone.cancel()
            self.desk.end(turn.job)
        data = shape.answer(answered)
        if fault.drop_after is not None:
            return HalfResponse(json.dumps(data), media_type="application/json")
        return json_response(data, headers=_headers(number))

    async def count(self, ask: Ask) -> int:
        """Return the number of tokens of a request's prompt."""
        return await self._clerk(lambda: len(self._encoder.encode(ask.messages, tools=ask.offered)))

    async def complete(self, turn: _Turn, completion: Completion) -> Answered:
        """Return a turn's answer with its counts and ids, recorded."""
        ask = turn.ask
        if ask.one_call:
            completion = replace(completion, tool_calls=completion.tool_calls[:1])
        answered = Answered(
            ask=ask,
            completion=completion,
            number=turn.number,
            call_ids=tuple(
                f"{turn.shape.call_prefix}{turn.number}_{index}"
                for index, _ in enumerate(completion.tool_calls, 1)
            ),
            prompt_tokens=completion.prompt_tokens or turn.prompt_tokens,
            completion_tokens=completion.completion_tokens
            or await self._clerk(lambda: self._length(completion)),
        )
        if self.recorder is not None and not turn.job.given_up:
            recorder = self.recorder
            await self._clerk(lambda: recorder.add(answered))
        return answered

    def _length(self, completion: Completion) -> int:
        texts = [completion.text, *(f"{c.name}{c.arguments}" for c in completion.tool_calls)]
        return sum(len(self._encoder.encode_text(text)) for text in texts)

    async def _clerk(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.desk.clerk, work)


class _Turn:
    """One request on its way to its answer."""

    def __init__(
        self, chat: Chat, ask: Ask, shape: Shape, *, number: int, prompt_tokens: int
    ) -> None:
        self.chat, self.ask, self.shape = chat, ask, shape
        self.number, self.prompt_tokens = number, prompt_tokens
        self.job: Job = chat.desk.start(ask)

    async def answered(self) -> Answered:
        """Return the whole answer."""
        return await self.chat.complete(self, await self.job.completion())

    async def stream(self, gone: asyncio.Task[None], *, drop_after: int | None) -> Response:
        """Return a stream of the answer; what fails before its first text is still a refusal."""
        events = self._events(gone, drop_after=drop_after)
        try:
            first = await anext(events)
        except BrokenOff:
            return EventStream(events, headers=_headers(self.number), broken=True)
        except BaseException:
            await events.aclose()
            raise
        return EventStream(_chain(first, events), headers=_headers(self.number))

    async def _events(
        self, gone: asyncio.Task[None], *, drop_after: int | None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the events; nothing before the backend has shown that it can answer."""
        writer = self.shape.stream(self.ask, number=self.number, prompt_tokens=self.prompt_tokens)
        sent = 0
        try:
            async for event in self._written(writer):
                if sent == drop_after:
                    raise BrokenOff
                yield event
                sent += 1
        finally:
            gone.cancel()
            self.chat.desk.end(self.job)

    async def _written(self, writer: Stream) -> AsyncGenerator[bytes, None]:
        begun = False
        try:
            async for piece in self.job.pieces():
                for event in (*(() if begun else writer.opening()), *writer.piece(piece)):
                    yield event
                begun = True
            answered = await self.answered()
        except Exception as error:
            if not begun:
                raise
            for event in writer.failure(refused(error)):
                yield event
            return
        for event in (*(() if begun else writer.opening()), *writer.closing(answered)):
            yield event


async def _chain(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes]:
    try:
        yield first
        async for event in rest:
            yield event
    finally:
        await rest.aclose()


async def _when_gone(request: Request, give_up: Callable[[], None]) -> None:
    """Wait until the client has gone; then give its answer up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    give_up()


def _fault_response(fault: Fault, shape: Shape) -> Response:
    status = fault.status or 500
    refusal = Refusal(status, f"a scripted fault: status {status}", retry_after=fault.retry_after)
    body = shape.refusal(refusal) if fault.body is None else fault.body
    return json_response(body, status=status, headers=refusal.headers)


def _headers(number: int) -> dict[str, str]:
    return {"x-request-id": f"req_{number}", "request-id": f"req_{number}"}
