"""A chat model of LangChain's whose answers are a plain function's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pytest_ctxguard.policies.adapters.framework import require
from pytest_ctxguard.policies.adapters.langchain_messages import CORE, conversion
from pytest_ctxguard.transcript.messages import Message


def langchain_model(answer: Callable[[list[Message]], str], *, name: str = "ctxguard") -> Any:
    """Make a LangChain chat model that answers with a function; for summarisers under test.

    Args:
        answer: takes the request as OpenAI-format messages and returns the text, or raises; what
            it keeps of its requests is what the summariser was shown.
        name: its ``_llm_type``, by which LangChain chooses a token counter.

    Raises:
        FrameworkMissing: langchain-core is not installed.
    """
    adapter = "langchain_model"
    core = require("langchain_core.messages", adapter=adapter, pip=CORE)
    models = require("langchain_core.language_models.chat_models", adapter=adapter, pip=CORE)
    outputs = require("langchain_core.outputs", adapter=adapter, pip=CORE)

    table = conversion(adapter).table()

    class AnsweringModel(models.BaseChatModel):  # type: ignore[name-defined,misc]
        """Answers with a function."""

        @property
        def _llm_type(self) -> str:
            return name

        def _generate(self, messages: Sequence[Any], *args: Any, **options: Any) -> Any:
            text = answer(table.restored(messages, ()))
            generation = outputs.ChatGeneration(message=core.AIMessage(content=text))
            return outputs.ChatResult(generations=[generation])

    return AnsweringModel()
