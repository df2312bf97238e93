"""Token ids of whole requests, exact and incremental.

A request is rendered and encoded in units: the head (system message and tools), then each
message, with a run of tool results as one unit because the template wraps it as one. Every
unit starts with a control token, and a control token always splits the pre-tokenizer, so the
units' ids joined are the ids of the whole prompt. A unit is encoded once and remembered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pytest_ctxguard.tokens.chat_template import compile_template, qwen_template
from pytest_ctxguard.tokens.growing import Units
from pytest_ctxguard.tokens.masking import NOTES, Masker, SpecialTokens
from pytest_ctxguard.tokens.pieces import encode_pieces, encode_plain
from pytest_ctxguard.tokens.seen import Seen, parse_or_keep, see
from pytest_ctxguard.tokens.vocabulary import load_tokenizer
from pytest_ctxguard.transcript.messages import Message

if TYPE_CHECKING:
    from tokenizers import Tokenizer

REMEMBERED_UNITS = 1 << 16
END_TOKENS = ("<|endoftext|>", "<|im_end|>")  # what Qwen2.5 ends an answer with

EMPTY_SYSTEM = Seen("system", "")
EMPTY_USER = Seen("user", "")


class RequestEncoder:
    """Encodes requests for Qwen2.5 models.

    Special-token literals inside content are data: they are spelled out and never act. With
    ``special_tokens="parse"`` they become the control tokens they spell, as in servers that
    encode the rendered prompt whole.
    """

    exact = True
    why = "Qwen2.5's tokenizer, verified by hash, and its chat template"

    def __init__(
        self, tokenizer: Tokenizer | None = None, *, special_tokens: SpecialTokens = "data"
    ) -> None:
        self.name = f"qwen2.5 (tokenizers runtime, Qwen2.5 chat template{NOTES[special_tokens]})"
        self.tokenizer = tokenizer or load_tokenizer()
        self._template = compile_template(qwen_template())
        vocabulary = self.tokenizer.get_added_tokens_decoder()
        self.control = {token.content: id_ for id_, token in vocabulary.items()}
        self.special_tokens = special_tokens
        self._masker = Masker(self.control, special_tokens)
        self.stop_ids = tuple(self.control[token] for token in END_TOKENS)
        remember = lru_cache(maxsize=REMEMBERED_UNITS)
        self._unit_ids = remember(self._encode_unit)
        self._head_ids = remember(self._encode_head)
        self._before_unit = self._render((EMPTY_SYSTEM,))
        self._generation = self._encode(
            self._render((EMPTY_SYSTEM,), generation_prompt=True)[len(self._before_unit) :]
        )

    def encode(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> list[int]:
        """Return the token ids of a request, as the model receives it.

        Raises:
            PolicyError: a message has a role that no chat template renders.
        """
        return [
            token
            for piece in self._pieces(messages, tools=tools, generation_prompt=generation_prompt)
            for token in piece
        ]

    def count(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> int:
        """Return the number of tokens of a request: tools, template and messages."""
        return sum(
            map(len, self._pieces(messages, tools=tools, generation_prompt=generation_prompt))
        )

    def units(self, *, tools: Sequence[Mapping[str, Any]] = ()) -> Units:
        """Return what the tokens of requests with these tools are the sum of."""
        definitions = json.dumps(list(tools), ensure_ascii=False)
        return Units(
            head=lambda system: len(self._head_ids(system, definitions)),
            unit=lambda unit: len(self._unit_ids(unit)),
            tail=len(self._generation),
        )

    def render(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> str:
        """Return the prompt as text, content unmasked; for people and for comparisons."""
        seen = tuple(see(message, index) for index, message in enumerate(messages))
        text = self._render(
            seen, tools=json.dumps(list(tools)), generation_prompt=generation_prompt
        )
        return self._masker.unmask(text)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids; control tokens are left out."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def encode_text(self, text: str) -> list[int]:
        """Return the token ids of plain text; special-token literals in it are spelled out.

        Half a surrogate pair has no bytes; it is counted as U+FFFD, which decoders put there.
        """
        return encode_plain(self.tokenizer, text)

    def _pieces(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]],
        generation_prompt: bool,
    ) -> Iterator[Sequence[int]]:
        seen = [see(message, index) for index, message in enumerate(messages)]
        first = 1 if seen and seen[0].role == "system" else 0
        system = seen[0].text if first else None
        yield self._head_ids(system, json.dumps(list(tools), ensure_ascii=False))
        for is_tool, run in groupby(seen[first:], key=lambda message: message.role == "tool"):
            if is_tool:
                yield self._unit_ids(tuple(run))
            else:
                for message in run:
                    yield self._unit_ids((message,))
        if generation_prompt:
            yield self._generation

    def _encode_unit(self, unit: tuple[Seen, ...]) -> tuple[int, ...]:
        text = self._render((EMPTY_SYSTEM, *unit))
        return self._encode(text[len(self._before_unit) :])

    def _encode_head(self, system: str | None, tools: str) -> tuple[int, ...]:
        if system is not None:
            return self._encode(self._render((Seen("system", system),), tools=tools))
        after = len(self._render((EMPTY_SYSTEM, EMPTY_USER))) - len(self._before_unit)
        return self._encode(self._render((EMPTY_USER,), tools=tools)[:-after])

    def _render(
        self, seen: Sequence[Seen], *, tools: str = "[]", generation_prompt: bool = False
    ) -> str:
        return self._template(
            messages=[self._template_message(message) for message in seen],
            tools=self._masker.masked(json.loads(tools)),
            add_generation_prompt=generation_prompt,
        )

    def _template_message(self, seen: Seen) -> dict[str, Any]:
        """Return the dict a chat template expects, content masked."""
        mask, masked = self._masker.mask, self._masker.masked
        calls = [
            {"function": {"name": mask(name), "arguments": masked(parse_or_keep(arguments))}}
            for name, arguments in seen.calls
        ]
        return {"role": seen.role, "content": mask(seen.text), "tool_calls": calls}

    def _encode(self, rendered: str) -> tuple[int, ...]:
        pieces = self._masker.pieces(rendered)
        return tuple(encode_pieces(pieces, encode=self.encode_text, control=self.control))
