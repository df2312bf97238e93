"""Answer chat requests with a local model: the engine's side of ``backend.Backend``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from pytest_ctxguard.backend import Completion, Message, ToolChoice
from pytest_ctxguard.engine.numerics import numerics
from pytest_ctxguard.engine.runner import Generated
from pytest_ctxguard.engine.toolcalls import (
    CLOSE,
    OPEN,
    REQUIRED_OPENING,
    balanced_end,
    parse,
    parse_required,
)
from pytest_ctxguard.errors import BackendError


class Encoder(Protocol):
    """Turns requests into token ids and ids into text."""

    @property
    def control(self) -> Mapping[str, int]:
        """The control tokens: text -> id."""
        ...

    @property
    def stop_ids(self) -> Sequence[int]:
        """The ids that end an answer."""
        ...

    def encode(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> list[int]:
        """Return the ids of a request, ready for the answer."""
        ...

    def encode_text(self, text: str) -> list[int]:
        """Return the ids of plain text."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, control tokens left out."""
        ...


class Generator(Protocol):
    """Continues token ids; ``runner.Runner`` is one."""

    def generate(
        self,
        prompt: Sequence[int],
        *,
        max_tokens: int,
        stop: Collection[int] = (),
        done: Callable[[Sequence[int]], bool] | None = None,
    ) -> Generated:
        """Continue a prompt until a stop id, ``done``, or ``max_tokens``."""
        ...


class EngineBackend:
    """A local model behind the backend protocol."""

    def __init__(self, runner: Generator, encoder: Encoder, *, model: str) -> None:
        self._runner, self._encoder = runner, encoder
        self._tags = {encoder.control[tag]: tag for tag in (OPEN, CLOSE) if tag in encoder.control}
        self._identity = {"model": model, "numerics": numerics()}

    @property
    def identity(self) -> Mapping[str, str]:
        """What the answers depend on."""
        return dict(self._identity)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: ToolChoice = "auto",
        max_tokens: int = 48,
    ) -> Completion:
        """Answer one request greedily; see ``backend.Backend.complete``."""
        if tool_choice == "required":
            return self._call(messages, tools=tools, max_tokens=max_tokens)
        offered = () if tool_choice == "none" else tools
        prompt = self._encoder.encode(messages, tools=offered)
        result = self._runner.generate(prompt, max_tokens=max_tokens, stop=self._encoder.stop_ids)
        text = self._text(result.tokens)
        if not offered:
            return _completion(result, text=text)
        parsed = parse(text, tools={tool_name(tool) for tool in offered})
        return _completion(result, text=parsed.text, calls=parsed.calls)

    def _call(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]],
        max_tokens: int,
    ) -> Completion:
        """Answer with one tool call: the reply is opened, and ends with the first whole object."""
        if not tools:
            raise BackendError('tool_choice="required" needs tools; the request offers none')
        prompt = self._encoder.encode(messages, tools=tools)
        opening = [id_ for id_, tag in self._tags.items() if tag == OPEN]
        prompt += [
            *(opening or self._encoder.encode_text(OPEN)),
            *self._encoder.encode_text(REQUIRED_OPENING),
        ]

        def whole(tokens: Sequence[int]) -> bool:
            return balanced_end(REQUIRED_OPENING + self._text(tokens), 1) is not None

        result = self._runner.generate(
            prompt, max_tokens=max_tokens, stop=self._encoder.stop_ids, done=whole
        )
        reply = self._text(result.tokens)
        call = parse_required(reply)
        if call is None:
            return _completion(result, text=f"{OPEN}{REQUIRED_OPENING}{reply}")
        return _completion(result, text="", calls=(call,))

    def _text(self, tokens: Sequence[int]) -> str:
        """Decode, spelling out the tool-call tags, which are control tokens."""
        text, start = "", 0
        for index, token in enumerate(tokens):
            if token in self._tags:
                text += self._encoder.decode(tokens[start:index]) + self._tags[token]
                start = index + 1
        return text + self._encoder.decode(tokens[start:])


def tool_name(tool: Mapping[str, Any]) -> str:
    """Return the name of a tool definition."""
    return str((tool.get("function") or {}).get("name", ""))


def _completion(result: Generated, *, text: str, calls: tuple[Any, ...] = ()) -> Completion:
    return Completion(
        text=text,
        tool_calls=calls,
        finish_reason="tool_calls" if calls else result.finish_reason,
        prompt_tokens=result.prompt_tokens,
        cached_tokens=result.cached_tokens,
        completion_tokens=len(result.tokens),
    )
