"""Tell what a chat template places from what content says, where both spell control tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

SpecialTokens = Literal["data", "parse"]
"""What special-token literals in content are: data, spelled out; or parsed, as servers do."""

NOTES: dict[SpecialTokens, str] = {"data": "", "parse": ", special-token literals parsed"}
"""What an encoder's name says of it; the default says nothing."""

# Content that spells a control token is masked while the template runs, so that what the
# template placed can be told from what the content says. U+FDD0 is a noncharacter; where
# content has it all the same, it is masked too.
MASK, UNMASK = "\ufdd0", "\ufdd1"
MASKED = re.compile(f"{MASK}(\\d+){UNMASK}")


class Masker:
    """Masks the control tokens of one vocabulary in content, and finds them in rendered text.

    With ``special_tokens="parse"`` it masks nothing: content's literals act.
    """

    def __init__(self, control: Iterable[str], special_tokens: SpecialTokens = "data") -> None:
        # the longest first, so that a token that starts another never hides it
        literals = sorted(control, key=lambda token: (-len(token), token))
        self._literals = (*literals, MASK)
        self._index = {literal: number for number, literal in enumerate(self._literals)}
        self._literal = re.compile("|".join(map(re.escape, self._literals)))
        self._control = re.compile("|".join(map(re.escape, literals)) or "(?!)")
        self._acts = special_tokens == "parse"

    def mask(self, text: str) -> str:
        """Replace what spells a control token by a marker no content has."""
        if self._acts:
            return text
        return self._literal.sub(lambda m: f"{MASK}{self._index[m.group()]}{UNMASK}", text)

    def masked(self, value: Any) -> Any:
        """Mask every text of a JSON value; after parsing, since JSON can escape such a text."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, list):
            return [self.masked(item) for item in value]
        if isinstance(value, dict):
            return {self.mask(key): self.masked(item) for key, item in value.items()}
        return value

    def unmask(self, text: str) -> str:
        """Undo :meth:`mask`."""
        if self._acts:
            return text
        return MASKED.sub(lambda match: self._literals[int(match.group(1))], text)

    def pieces(self, rendered: str) -> Iterator[tuple[str, str]]:
        """Split rendered text into pairs: text, unmasked, and the control token after it.

        The last pair's token is empty.
        """
        end = 0
        for match in self._control.finditer(rendered):
            yield self.unmask(rendered[end : match.start()]), match.group()
            end = match.end()
        yield self.unmask(rendered[end:]), ""

    def spelled(self, text: str) -> Iterator[str]:
        """Yield the control tokens that a text spells, in order."""
        return (match.group() for match in self._control.finditer(text))
