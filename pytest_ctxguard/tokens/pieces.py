"""Between text and ids, piece by piece: control tokens apart from the text around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def encode_plain(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the token ids of plain text.

    Half a surrogate pair has no bytes; it is counted as U+FFFD, which decoders put there.
    """
    whole = LONE_SURROGATE.sub("\ufffd", text)
    return list(tokenizer.encode(whole, add_special_tokens=False).ids)


def encode_pieces(
    pieces: Iterable[tuple[str, str]],
    *,
    encode: Callable[[str], Iterable[int]],
    control: Mapping[str, int],
) -> list[int]:
    """Join the ids of pieces, each a text and the control token after it, or none.

    Args:
        pieces: as ``Masker.pieces`` gives them.
        encode: returns the ids of plain text.
        control: the control tokens: text -> id.
    """
    ids: list[int] = []
    for text, token in pieces:
        ids += encode(text)
        if token:
            ids.append(control[token])
    return ids


def decode_spelled(
    ids: Sequence[int], *, spelled: Mapping[int, str], decode: Callable[[Sequence[int]], str]
) -> str:
    """Return the text of ids, those in ``spelled`` (id -> text) spelled out, the rest decoded."""
    text, start = "", 0
    for index, id_ in enumerate(ids):
        if id_ in spelled:
            text += decode(ids[start:index]) + spelled[id_]
            start = index + 1
    return text + decode(ids[start:])
