"""Answer chat requests with a local model: the engine's side of ``backend.Backend``."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from pytest_ctxguard.backend import GREEDY, Completion, Message, Sampling, ToolChoice, Watch
from pytest_ctxguard.engine.answer import Choose, Done, Generated
from pytest_ctxguard.engine.numerics import numerics
from pytest_ctxguard.engine.reply import Reply
from pytest_ctxguard.engine.sampling import Sampler
from pytest_ctxguard.engine.toolcalls import (
    CLOSE,
    OPEN,
    Parsed,
    balanced_end,
    parse_required,
    required_opening,
)
from pytest_ctxguard.errors import BackendError
from pytest_ctxguard.tokens.pieces import decode_spelled


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
        done: Done | None = None,
        choose: Choose | None = None,
    ) -> Generated:
        """Continue a prompt until a stop id, ``done``, or ``max_tokens``.

        ``choose`` picks the next token from the logits [vocab]; None takes the likeliest.
        """
        ...

    def generate_many(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        max_tokens: int,
        stop: Collection[int] = (),
        done: Done | None = None,
    ) -> list[Generated | BackendError]:
        """Continue each prompt as ``generate`` would; an error takes its answer's place."""
        ...


class EngineBackend:
    """A local model behind the backend protocol; threads that ask it wait their turn.

    Attributes:
        encoder: the model's tokenizer and chat template.
        window: the context window, in tokens; None where it is not known.
        fingerprint: see ``backend.fingerprint``.
    """

    def __init__(
        self,
        runner: Generator,
        encoder: Encoder,
        *,
        model: str,
        window: int | None = None,
        fingerprint: str | None = None,
    ) -> None:
        self._runner, self.encoder, self.window = runner, encoder, window
        self.fingerprint = fingerprint
        self._turn = threading.Lock()
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
        stop: Sequence[str] = (),
        sampling: Sampling = GREEDY,
        watch: Watch | None = None,
    ) -> Completion:
        """Answer one request; see ``backend.Backend.complete``.

        ``watch`` is told something at every step, often the empty text, so that it can end the
        answer at any of them. A required call is held back whole and no ``stop`` text cuts it.
        """
        choose = None if sampling.temperature == 0 else Sampler(sampling).choose
        if tool_choice == "required":
            return self._call(
                messages, tools=tools, max_tokens=max_tokens, choose=choose, watch=watch
            )
        offered = () if tool_choice == "none" else tools
        names = {tool_name(tool) for tool in offered} if offered else None
        reply = Reply(self._text, stop=stop, watch=watch, tools=names)
        prompt = self.encoder.encode(messages, tools=offered)
        result = self._generate(prompt, max_tokens=max_tokens, done=reply.done, choose=choose)
        parsed = reply.finish(result.tokens, cut=result.finish_reason == "length")
        return _completion(result, parsed, stopped_by=reply.stopped_by)

    def complete_many(
        self,
        requests: Sequence[Sequence[Message]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: ToolChoice = "auto",
        max_tokens: int = 48,
    ) -> tuple[Completion | BackendError, ...]:
        """Answer many requests greedily; see ``backend.BatchBackend.complete_many``."""
        if tool_choice == "required":
            return self._calls(requests, tools=tools, max_tokens=max_tokens)
        offered = () if tool_choice == "none" else tools
        names = {tool_name(tool) for tool in offered} if offered else None
        prompts = [self.encoder.encode(messages, tools=offered) for messages in requests]
        answers: list[Completion | BackendError] = []
        for result in self._generate_many(prompts, max_tokens=max_tokens):
            if isinstance(result, BackendError):
                answers.append(result)
            else:
                reply = Reply(self._text, tools=names)
                cut = result.finish_reason == "length"
                answers.append(_completion(result, reply.finish(result.tokens, cut=cut)))
        return tuple(answers)

    def _call(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]],
        max_tokens: int,
        choose: Choose | None,
        watch: Watch | None,
    ) -> Completion:
        """Answer with one tool call: the reply is opened, and ends with the first whole object."""
        opening = _opening(tools)
        prompt = self._opened(messages, tools=tools, opening=opening)
        wanted = True

        def done(tokens: Sequence[int]) -> bool:
            nonlocal wanted
            wanted = watch is None or watch("")
            return not wanted or self._whole(opening, tokens)

        result = self._generate(prompt, max_tokens=max_tokens, done=done, choose=choose)
        completion = self._called(result, opening=opening)
        if watch is not None and wanted and not completion.tool_calls:
            watch(completion.text)
        return completion

    def _calls(
        self,
        requests: Sequence[Sequence[Message]],
        *,
        tools: Sequence[Mapping[str, Any]],
        max_tokens: int,
    ) -> tuple[Completion | BackendError, ...]:
        """Answer each request with one tool call, greedily."""
        try:
            opening = _opening(tools)
        except BackendError as error:
            return (error,) * len(requests)
        prompts = [self._opened(messages, tools=tools, opening=opening) for messages in requests]
        results = self._generate_many(
            prompts, max_tokens=max_tokens, done=lambda tokens: self._whole(opening, tokens)
        )
        return tuple(
            result if isinstance(result, BackendError) else self._called(result, opening=opening)
            for result in results
        )

    def _opened(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]], opening: str
    ) -> list[int]:
        """Return the prompt whose reply has been opened as a tool call."""
        tag = [id_ for id_, tag in self._tags.items() if tag == OPEN]
        return [
            *self.encoder.encode(messages, tools=tools),
            *(tag or self.encoder.encode_text(OPEN)),
            *self.encoder.encode_text(opening),
        ]

    def _whole(self, opening: str, tokens: Sequence[int]) -> bool:
        """Tell whether a call that has been opened is whole."""
        return balanced_end(opening + self._text(tokens), 1) is not None

    def _called(self, result: Generated, *, opening: str) -> Completion:
        """Return a reply that has been opened: a call, or where it is none its text."""
        reply = self._text(result.tokens)
        call = parse_required(reply, opening=opening)
        parsed = Parsed(f"{OPEN}{opening}{reply}", ()) if call is None else Parsed("", (call,))
        return _completion(result, parsed)

    def _generate(
        self,
        prompt: Sequence[int],
        *,
        max_tokens: int,
        done: Done | None,
        choose: Choose | None,
    ) -> Generated:
        with self._turn:
            return self._runner.generate(
                prompt,
                max_tokens=max_tokens,
                stop=self.encoder.stop_ids,
                done=done,
                choose=choose,
            )

    def _generate_many(
        self, prompts: Sequence[Sequence[int]], *, max_tokens: int, done: Done | None = None
    ) -> list[Generated | BackendError]:
        with self._turn:
            return self._runner.generate_many(
                prompts, max_tokens=max_tokens, stop=self.encoder.stop_ids, done=done
            )

    def _text(self, tokens: Sequence[int]) -> str:
        """Decode, spelling out the tool-call tags, which are control tokens."""
        return decode_spelled(tokens, spelled=self._tags, decode=self.encoder.decode)


def _opening(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return how a required call begins, after its tag."""
    if not tools:
        raise BackendError('tool_choice="required" needs tools; the request offers none')
    return required_opening([tool_name(tool) for tool in tools])


def tool_name(tool: Mapping[str, Any]) -> str:
    """Return the name of a tool definition."""
    return str((tool.get("function") or {}).get("name", ""))


def _completion(result: Generated, parsed: Parsed, *, stopped_by: str | None = None) -> Completion:
    return Completion(
        text=parsed.text,
        tool_calls=parsed.calls,
        finish_reason="tool_calls" if parsed.calls else result.finish_reason,
        prompt_tokens=result.prompt_tokens,
        cached_tokens=result.cached_tokens,
        completion_tokens=len(result.tokens),
        stopped_by=stopped_by,
    )
