"""Mistral's tokens: the tekken vocabulary that the PyPI package ``mistral-common`` carries.

It is read as data; the package is never imported. ``tiktoken`` encodes, as in Mistral's own code.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pytest_ctxguard.tokens.counters.functions import definitions
from pytest_ctxguard.tokens.packaged import PackagedFile
from pytest_ctxguard.tokens.seen import parse_or_keep, see
from pytest_ctxguard.tokens.tiktoken_runtime import encoding_type
from pytest_ctxguard.transcript.messages import Message, tool_calls

if TYPE_CHECKING:
    from tiktoken import Encoding

FILE = PackagedFile(
    package="mistral-common==1.13.1",
    path="mistral_common/data/tekken_240911.json",
    sha256="1948e2d48b0e7377f1bb5f1210f1ae5f984934e75713fc07e2452729b8365316",
    install="'pytest-ctxguard[mistral-tokens]'",
    holds="Mistral's vocabulary",
)
REMEMBERED_TEXTS = 1 << 16


class MistralCounter:
    """Counts requests as models with Mistral's tekken tokenizer, version 3, read them.

    The request begins with a token; a user message stands between two, and so do a tool's result
    and the definitions; an assistant message ends with one, and calls begin with one. The system
    message is text before the last user message. Messages of user or assistant that follow each
    other are one. Special-token literals in content are data.

    Attributes:
        name: runtime, vocabulary and framing.
        exact: whether the numbers are the server's.
        why: what is not known.
    """

    name = "mistral tekken 240911 (tiktoken runtime, instruct framing v3)"
    exact = False
    why = (
        "exact for models of the v3 format (Mistral Nemo, Pixtral 12B) and for histories that "
        "Mistral accepts; later models frame system messages and calls otherwise"
    )

    def __init__(self) -> None:
        self._encoding = load_tekken()
        self.count_text = lru_cache(maxsize=REMEMBERED_TEXTS)(self._count_text)

    def count(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> int:
        """Return the tokens of a request: tools, template and messages.

        Raises:
            PolicyError: a message has a role that no chat template renders.
        """
        total = 1 + (2 + self.count_text(definitions(_as_sent(tools))) if tools else 0)
        parts = list(_joined(messages))
        instructions = "\n\n".join(text for role, text, _ in parts if role == "system" and text)
        users = [at for at, (role, _, _) in enumerate(parts) if role == "user"]
        for at, (role, text, calls) in enumerate(parts):
            if role == "user":
                last = at == users[-1] and instructions
                total += 2 + self.count_text(f"{instructions}\n\n{text}" if last else text)
            elif role == "tool":
                total += 2 + self.count_text(text)
            elif role == "assistant":
                total += self.count_text(text.rstrip(" ")) + 1
                total += 1 + self.count_text(calls) if calls else 0
        if instructions and not users:
            total += self.count_text(instructions)
        return total

    def _count_text(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))


def _joined(messages: Sequence[Message]) -> Iterator[tuple[str, str, str]]:
    """Yield role, text and calls as JSON; neighbours of one role, but for results, are joined."""
    seen = [(see(message, index), message) for index, message in enumerate(messages)]
    for role, run in groupby(seen, key=lambda pair: pair[0].role):
        if role == "tool":
            for one, message in run:
                call_id = message.get("tool_call_id")
                result = {"content": parse_or_keep(one.text), "call_id": call_id}
                yield role, json.dumps(result, ensure_ascii=False), ""
            continue
        group = list(run)
        calls = [
            {"name": name, "arguments": parse_or_keep(arguments), "id": call.get("id")}
            for one, message in group
            for call, (name, arguments) in zip(tool_calls(message), one.calls, strict=True)
        ]
        text = "\n\n".join(one.text for one, _ in group if one.text)
        yield role, text, json.dumps(calls, ensure_ascii=False) if calls else ""


def _as_sent(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return definitions with the fields that Mistral writes, in its order."""
    functions = (tool.get("function") or {} for tool in tools)
    return [
        {
            "type": "function",
            "function": {
                "name": function.get("name", ""),
                "description": function.get("description") or "",
                "parameters": function.get("parameters") or {},
            },
        }
        for function in functions
    ]


def load_tekken() -> Encoding:
    """Return the vocabulary in its runtime, without control tokens.

    Raises:
        ModelMissing: ``tiktoken``, or the package that carries the vocabulary, is not installed.
        ModelCorrupt: its file is another one.
    """
    data = json.loads(FILE.read())
    encoding = encoding_type("Mistral's", install=FILE.install)
    settings = data["config"]
    size = settings["default_vocab_size"] - settings["default_num_special_tokens"]
    ranks = {base64.b64decode(row["token_bytes"]): row["rank"] for row in data["vocab"][:size]}
    return encoding("tekken", pat_str=settings["pattern"], mergeable_ranks=ranks, special_tokens={})
