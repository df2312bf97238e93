"""Token ids of whole requests for any model that brings tokenizer and chat template."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_ctxguard.errors import ModelCorrupt, ModelError, UsageError
from pytest_ctxguard.tokens.chat_template import compile_template
from pytest_ctxguard.tokens.masking import NOTES, Masker, SpecialTokens
from pytest_ctxguard.tokens.pieces import encode_pieces, encode_plain
from pytest_ctxguard.tokens.seen import parse_or_keep, see
from pytest_ctxguard.tokens.tokenizer_files import TokenizerFiles, parse_tokenizer
from pytest_ctxguard.transcript.messages import Message, tool_calls

if TYPE_CHECKING:
    from tokenizers import Tokenizer

REMEMBERED_PIECES = 1 << 16
TAG = re.compile(r"<[^\s<>]+>|\[[^\s\[\]]+\]")


class ModelEncoder:
    """Encodes requests as a model's own files say.

    The whole template is rendered each time; pieces between control tokens are encoded once
    and remembered. Control tokens are the tokens marked special, and added tokens spelled as a
    tag, such as ``<think>``. Their literals in content are data, or act, as in
    :class:`~pytest_ctxguard.tokens.request.RequestEncoder`.

    Attributes:
        name: the model, how requests are encoded, and a hash of the files that decide it.
        control: the control tokens: text -> id.
        stop_ids: the ids that end an answer.
        exact: whether its template is the one that the model's server uses.
        why: what makes it so, or what is not known.

    Args:
        files: tokenizer and template.
        name: the model's.
        special_tokens: what special-token literals in content are.
        template: what its name calls the template.
        why_not: why the template may not be the server's; empty: it is.
    """

    def __init__(
        self,
        files: TokenizerFiles,
        *,
        name: str,
        special_tokens: SpecialTokens = "data",
        template: str = "its own chat template",
        why_not: str = "",
    ) -> None:
        self.exact, self.why = not why_not, why_not or "the model's own tokenizer and chat template"
        text = files.tokenizer_json + files.chat_template
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        note = NOTES[special_tokens]
        self.name = f"{name} (tokenizers runtime, {template} {digest}{note})"
        self.stop_ids = files.stop_ids
        self._template = _compile(files.chat_template)
        whole = _load(files.tokenizer_json)
        added = parse_tokenizer(files.tokenizer_json)["added_tokens"]
        self._hidden = {token["id"] for token in added if token.get("special")}
        self.tokenizer = _spelling(files.tokenizer_json)
        self.control = {token["content"]: token["id"] for token in added if _is_control(token)}
        self._masker = Masker(self.control, special_tokens)
        self._piece = lru_cache(maxsize=REMEMBERED_PIECES)(self._encode_piece)
        self._check(whole)

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
            UsageError: the template refuses this request, or reads control tokens in content.
        """
        return self._encode(
            self._render(messages, tools=tools, generation_prompt=generation_prompt)
        )

    def count(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> int:
        """Return the number of tokens of a request: tools, template and messages."""
        return len(self.encode(messages, tools=tools, generation_prompt=generation_prompt))

    def render(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> str:
        """Return the prompt as text, content unmasked; for people and for comparisons."""
        return self._masker.unmask(
            self._render(messages, tools=tools, generation_prompt=generation_prompt)
        )

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids; special tokens are left out, tags are spelled."""
        said = [id_ for id_ in ids if id_ not in self._hidden]
        return str(self.tokenizer.decode(said, skip_special_tokens=False))

    def encode_text(self, text: str) -> list[int]:
        """Return the token ids of plain text; special-token literals in it are spelled out."""
        return list(self._piece(text))

    def _encode_piece(self, text: str) -> tuple[int, ...]:
        return tuple(encode_plain(self.tokenizer, text))

    def _encode(self, rendered: str) -> list[int]:
        pieces = self._masker.pieces(rendered)
        return encode_pieces(pieces, encode=self._piece, control=self.control)

    def _render(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]],
        generation_prompt: bool,
    ) -> str:
        """Render with content masked, and check that the mask changed nothing else."""
        plain = [_template_message(message, index) for index, message in enumerate(messages)]
        masked, masked_tools = self._masker.masked(plain), self._masker.masked(list(tools))
        text = self._fill(masked, tools=masked_tools, generation_prompt=generation_prompt)
        if masked == plain and masked_tools == list(tools):
            return text
        bare = self._fill(plain, tools=list(tools), generation_prompt=generation_prompt)
        if self._masker.unmask(text) != bare:
            raise UsageError(
                "a message spells a control token that the model's chat template looks for in "
                "content, so it cannot be both data and read. Take it out of the content, or "
                'use special_tokens="parse".'
            )
        return text

    def _fill(self, messages: Any, *, tools: Any, generation_prompt: bool) -> str:
        from jinja2 import TemplateError

        try:
            text: str = self._template(
                messages=messages, tools=tools or None, add_generation_prompt=generation_prompt
            )
        except (TemplateError, TypeError, ValueError, LookupError) as error:
            raise UsageError(
                f"the model's chat template cannot render this request ({error})."
            ) from error
        return text

    def _check(self, whole: Tokenizer) -> None:
        """Compare encoding between control tokens with encoding a prompt whole."""
        for token, id_ in self.control.items():
            probe = f"a {token} b{token}\n c"
            pieces = self._encode(probe)
            if whole.encode(probe, add_special_tokens=False).ids != pieces:
                raise ModelError(
                    f"the model's tokenizer does not keep the text beside {token} apart from it; "
                    "this package needs control tokens that always split the text."
                )
            if id_ in self._piece(token):
                raise ModelError(
                    f"the model's tokenizer has no way to spell {token} as text; this package "
                    "needs control tokens that content cannot forge."
                )


def _template_message(message: Message, index: int) -> dict[str, Any]:
    """Return the dict a chat template expects; templates ask whether a key is there."""
    seen = see(message, index)
    rendered: dict[str, Any] = {"role": seen.role, "content": seen.text}
    if seen.calls:
        rendered["tool_calls"] = [
            {
                **{key: call[key] for key in ("id",) if key in call},
                "type": "function",
                "function": {"name": name, "arguments": parse_or_keep(arguments)},
            }
            for call, (name, arguments) in zip(tool_calls(message), seen.calls, strict=True)
        ]
    for key in ("name", "tool_call_id"):
        if isinstance(message.get(key), str):
            rendered[key] = message[key]
    return rendered


def _compile(template: str) -> Any:
    from jinja2 import TemplateError

    try:
        return compile_template(template)
    except TemplateError as error:
        raise ModelError(
            f"the model's chat template cannot be compiled ({error}). This package runs "
            "templates in plain Jinja2 with loop controls."
        ) from error


def _is_control(token: Mapping[str, Any]) -> bool:
    """Tell control tokens from added tokens that are plain text, such as a run of blanks."""
    return bool(token.get("special") or TAG.fullmatch(token["content"]))


def _load(text: str) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_str(text)
    except Exception as error:  # the runtime raises bare Exception for a broken file
        raise ModelCorrupt(
            f"the model's tokenizer.json is not one ({error}). Fetch the model again."
        ) from error


def _spelling(text: str) -> Tokenizer:
    """Load the tokenizer so that no control token is ever found in text."""
    data = parse_tokenizer(text)
    for token in data["added_tokens"]:
        token["special"] = _is_control(token)
    tokenizer = _load(json.dumps(data))
    tokenizer.encode_special_tokens = True
    return tokenizer
