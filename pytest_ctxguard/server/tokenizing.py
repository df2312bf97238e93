"""Tokens over HTTP, in the shapes of vLLM and of llama.cpp's server.

- ``POST /tokenize``: vLLM's ``{"prompt": …}`` or ``{"messages": …, "tools": …,
  "add_generation_prompt": …}`` with ``return_token_strs``, answered by ``tokens``, ``count``,
  ``max_model_len`` and ``token_strs``; or llama.cpp's ``{"content": …}`` with ``with_pieces``,
  answered by ``tokens``.
- ``POST /detokenize``: both send ``{"tokens": […]}``; vLLM reads ``prompt`` of the answer,
  llama.cpp ``content``; it has both.
- ``POST /apply-template``: llama.cpp's ``{"messages": …}``, answered by ``prompt``; ``tools``
  and ``add_generation_prompt`` are taken, too.

As on those servers, what spells a control token in ``prompt`` or ``content`` is that token
(llama.cpp's ``parse_special: false`` turns it off); in ``messages`` it is data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pytest_ctxguard.server.fields import Fields
from pytest_ctxguard.server.openai_in import fields_of
from pytest_ctxguard.server.refusals import Refusal
from pytest_ctxguard.tokens.masking import Masker
from pytest_ctxguard.tokens.pieces import decode_spelled, encode_pieces
from pytest_ctxguard.tokens.vocabulary import byte_letters
from pytest_ctxguard.transcript.messages import Message


class Encoder(Protocol):
    """A tokenizer with its chat template; ``tokens.request.RequestEncoder`` is one."""

    @property
    def tokenizer(self) -> Any:
        """The byte-level ``tokenizers.Tokenizer``."""
        ...

    @property
    def control(self) -> Mapping[str, int]:
        """The control tokens: text -> id."""
        ...

    def encode(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> list[int]:
        """Return the ids of a request."""
        ...

    def render(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> str:
        """Return a request's prompt as text."""
        ...

    def encode_text(self, text: str) -> list[int]:
        """Return the ids of plain text."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, control tokens left out."""
        ...


class Tokenizing:
    """Answers the tokenising requests; every method takes a body and returns one."""

    def __init__(self, encoder: Encoder, *, limit: int | None) -> None:
        self._encoder, self._limit = encoder, limit
        self._letters = {letter: byte for byte, letter in enumerate(byte_letters())}
        self._spelled = {id_: text for text, id_ in encoder.control.items()}
        self._masker = Masker(encoder.control, "parse")

    def tokenize(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer ``POST /tokenize``."""
        fields = fields_of(body)
        content = fields.text("content")
        if content is not None:
            parsed = fields.flag("parse_special", default=True)
            ids = self._encode(content) if parsed else self._encoder.encode_text(content)
            pieces = fields.flag("with_pieces")
            return {"tokens": [self._piece(i) for i in ids] if pieces else ids}
        prompt = fields.text("prompt")
        if prompt is not None:
            ids = self._encode(prompt)
        elif body.get("messages") is None:
            raise Refusal(400, "send `prompt` or `messages` (as to vLLM), or `content` (llama.cpp)")
        else:
            messages, tools, generation = self._request(fields)
            ids = self._encoder.encode(messages, tools=tools, generation_prompt=generation)
        answer: dict[str, Any] = {
            "count": len(ids),
            "max_model_len": self._limit,
            "tokens": ids,
            "token_strs": None,
        }
        if fields.flag("return_token_strs"):
            answer["token_strs"] = [self._encoder.tokenizer.id_to_token(id_) for id_ in ids]
        return answer

    def detokenize(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer ``POST /detokenize``; control tokens are spelled out."""
        ids = fields_of(body).array("tokens", required=True) or []
        for id_ in ids:
            known = isinstance(id_, int) and not isinstance(id_, bool) and 0 <= id_ < 2**32
            if not known or self._encoder.tokenizer.id_to_token(id_) is None:
                raise Refusal(400, f"{id_!r} is no token of this model", param="tokens")
        text = decode_spelled(ids, spelled=self._spelled, decode=self._encoder.decode)
        return {"prompt": text, "content": text}

    def apply_template(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer ``POST /apply-template``."""
        messages, tools, generation = self._request(fields_of(body))
        return {"prompt": self._encoder.render(messages, tools=tools, generation_prompt=generation)}

    def _request(self, fields: Fields) -> tuple[list[Any], list[Any], bool]:
        messages = fields.array("messages", required=True) or []
        tools = fields.array("tools") or []
        for name, rows in (("messages", messages), ("tools", tools)):
            for index, row in enumerate(rows):
                fields.at(f"{name}[{index}]", row)
        return messages, tools, fields.flag("add_generation_prompt", default=True)

    def _encode(self, text: str) -> list[int]:
        encoder = self._encoder
        pieces = self._masker.pieces(text)
        return encode_pieces(pieces, encode=encoder.encode_text, control=encoder.control)

    def _piece(self, id_: int) -> dict[str, Any]:
        """Return a token with its text, or with its bytes where they are no whole characters."""
        if id_ in self._spelled:
            return {"id": id_, "piece": self._spelled[id_]}
        data = bytes(self._letters[letter] for letter in self._encoder.tokenizer.id_to_token(id_))
        try:
            return {"id": id_, "piece": data.decode()}
        except UnicodeDecodeError:
            return {"id": id_, "piece": list(data)}
