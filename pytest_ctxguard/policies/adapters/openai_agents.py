"""Input filters and sessions of the OpenAI Agents SDK."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from types import ModuleType
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.adapters.framework import require, then, unknown
from pytest_ctxguard.policies.adapters.response_items import Items
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.transcript.messages import Message, is_instruction, turn_starts

FILTER, SESSION = "openai_agents", "openai_session"


def openai_agents(call_model_input_filter: Callable[[Any], Any]) -> Policy:
    """Adapt what ``RunConfig.call_model_input_filter`` takes, such as ``ToolOutputTrimmer``.

    The runner calls it before each model call with all items, so it sees the whole history. The
    first system message is the ``instructions``.

    Args:
        call_model_input_filter: the filter, sync or async.

    Raises:
        FrameworkMissing: openai-agents is not installed (when the policy runs).
    """

    def adapted(messages: list[dict[str, Any]]) -> list[Message] | Awaitable[list[Message]]:
        run = _sdk("agents.run", FILTER)
        text = _instructions(messages)
        items = Items(messages, range(0 if text is None else 1, len(messages)))
        data = run.ModelInputData(input=items.between(0, len(messages)), instructions=text)
        agent = _sdk("agents", FILTER).Agent(name="agent", instructions=text)
        returned = call_model_input_filter(
            run.CallModelData(model_data=data, agent=agent, context=None)
        )
        return then(returned, partial(_filtered, messages, items))

    adapted.__qualname__ = f"adapt.{FILTER}"
    return adapted


def openai_session(make: Callable[[], Any], *, run_config: Any = None) -> Policy:
    """Adapt a session, with what a run is configured to take of it.

    A real ``Runner`` asks a model that only listens. The session holds what came before the
    current turn, the run begins with the turn's user message, and what the model was asked is the
    request: so the limit cuts only earlier turns, and the runner's own pruning has its say.

    Args:
        make: makes an empty session, for example ``lambda: SQLiteSession("x")``; it is called
            before each model call.
        run_config: ``RunConfig``, for example with ``session_settings=SessionSettings(limit=10)``;
            its model is not asked and nothing is traced.

    Raises:
        UsageError: ``make`` is no factory, or a session is not empty (when the policy runs).
        FrameworkMissing: openai-agents is not installed (when the policy runs).
    """
    if not callable(make):
        raise UsageError(
            f"adapt.{SESSION} takes a factory, because each call needs an empty session. "
            f'Remedy: adapt.{SESSION}(lambda: SQLiteSession("x"))'
        )

    async def adapted(messages: list[dict[str, Any]]) -> list[Message]:
        agents = _sdk("agents", SESSION)
        text = _instructions(messages)
        first = 0 if text is None else 1
        items = Items(messages, range(first, len(messages)))
        turn = max((first, *turn_starts(messages)))
        session = make()
        if await session.get_items(limit=1):
            raise UsageError(
                f"adapt.{SESSION}: the session has items already. Remedy: give a factory of "
                'empty ones, in memory: lambda: SQLiteSession("x")'
            )
        await session.add_items(items.between(first, turn))
        model = _listener(agents)
        config = run_config or agents.RunConfig()
        await agents.Runner.run(
            agents.Agent(name="agent", instructions=text),
            items.between(turn, len(messages)),
            session=session,
            run_config=dataclasses.replace(config, model=model, tracing_disabled=True),
        )
        heard = model.heard
        return _with_instructions(messages, heard[0], items.restore(heard[1], adapter=SESSION))

    adapted.__qualname__ = f"adapt.{SESSION}"
    return adapted


def _sdk(module: str, adapter: str) -> ModuleType:
    return require(module, adapter=adapter, pip="openai-agents>=0.24")


def _instructions(messages: Sequence[Message]) -> str | None:
    """Return the text of a first message that instructs the model and is plain text."""
    if messages and is_instruction(messages[0]):
        content = messages[0].get("content")
        return content if isinstance(content, str) and content else None
    return None


def _filtered(messages: Sequence[Message], items: Items, returned: Any) -> list[Message]:
    if not (hasattr(returned, "input") and hasattr(returned, "instructions")):
        raise unknown(returned, adapter=FILTER)
    sent = items.restore(list(returned.input), adapter=FILTER)
    return _with_instructions(messages, returned.instructions, sent)


def _with_instructions(
    messages: Sequence[Message], text: str | None, sent: list[Message]
) -> list[Message]:
    before = _instructions(messages)
    if text == before:
        return [*messages[: 0 if before is None else 1], *sent]
    if text is None:
        return sent
    first = {"role": "system"} if before is None else messages[0]
    return [{**first, "content": text}, *sent]


def _listener(agents: ModuleType) -> Any:
    """Return a model that keeps what it is asked, and answers with an empty message."""
    types = require("openai.types.responses", adapter=SESSION, pip="openai-agents>=0.24")

    base: Any = agents.Model

    class Listener(base):  # type: ignore[misc]  # its module is imported late
        heard: tuple[str | None, Sequence[Any]] = (None, ())

        async def get_response(
            self, system_instructions: str | None, input: Any, *_: Any, **__: Any
        ) -> Any:
            self.heard = (system_instructions, list(input))
            text = types.ResponseOutputText(annotations=[], text="", type="output_text")
            answer = types.ResponseOutputMessage(
                id="answer", content=[text], role="assistant", status="completed", type="message"
            )
            return agents.ModelResponse(output=[answer], usage=agents.Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError  # Runner.run does not stream

    return Listener()
