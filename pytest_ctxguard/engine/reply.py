"""An answer while it is decoded: its text so far, where it must stop, what is surely text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from pytest_ctxguard.backend import Watch
from pytest_ctxguard.engine.toolcalls import OBJECT_START, OPEN, Parsed, find_objects, parse

HALF = "\ufffd"  # what decoders put where bytes are no character, or not yet one
Spell = Callable[[Sequence[int]], str]

_TAG_BEGUN = "|".join(re.escape(OPEN[:length]) for length in range(len(OPEN), 0, -1))
# What may turn out to go with a call that follows: white space, a code fence, the tag.
UNDECIDED = re.compile(rf"\s*(?:`{{1,2}}|```\w*\s*)?(?:(?:{_TAG_BEGUN})\s*)?\Z")


class Reply:
    """Follows one answer from token to token.

    Args:
        spell: returns the text of token ids.
        stop: texts the answer ends before.
        watch: told each new piece of text, at every step even if it is empty, so that it can
            end the answer at any step.
        tools: names of the tools on offer; None: nothing is looked for but text.
    """

    def __init__(
        self,
        spell: Spell,
        *,
        stop: Sequence[str] = (),
        watch: Watch | None = None,
        tools: Collection[str] | None = None,
    ) -> None:
        self._spell, self._tools = spell, tools
        self._stop = tuple(text for text in stop if text)
        self._watch = watch
        self._text, self._told = "", 0
        self._context, self._read = 0, 0
        self._after, self._call_at = 0, -1  # where the next call may begin; where one does
        self.stopped_by: str | None = None

    @property
    def done(self) -> Callable[[Sequence[int]], bool] | None:
        """What the runner asks after each token; None when nothing depends on it."""
        return self.take if self._stop or self._watch is not None else None

    def take(self, tokens: Sequence[int]) -> bool:
        """Read the newest token; return whether the answer ends here."""
        piece = self._next(tokens)
        self._text += piece
        if piece and self._find_stop(since=len(self._text) - len(piece)):
            return True
        return self._watch is not None and self._tell(self._text[: self._sure(piece)])

    def finish(self, tokens: Sequence[int], *, cut: bool) -> Parsed:
        """Return the whole answer taken apart, and tell the watcher what it was not yet told.

        Args:
            tokens: all of the answer.
            cut: ``max_tokens`` ended it; half a character at its end is then left out.
        """
        text = self._spell(tokens)
        if cut:
            text = text.removesuffix(HALF)
        self._text = text
        self._find_stop(since=0)
        parsed = Parsed(self._text, ())
        if self._tools is not None:
            parsed = parse(self._text, tools=self._tools)
        if parsed.text[self._told :]:
            self._tell(parsed.text)
        return parsed

    def _next(self, tokens: Sequence[int]) -> str:
        """Return the text of the tokens not yet read, once they are whole characters.

        They are decoded together with those before them, since some decoders look back.
        """
        known = self._spell(tokens[self._context : self._read])
        text = self._spell(tokens[self._context :])
        if text.endswith(HALF):
            return ""
        self._context, self._read = self._read, len(tokens)
        return text[len(known) :]

    def _find_stop(self, *, since: int) -> bool:
        """Cut the text before the stop text that is complete first; tell whether there is one."""
        found = []
        for stop in self._stop:
            start = self._text.find(stop, max(0, since - len(stop) + 1))
            if start >= 0:
                found.append((start + len(stop), start, stop))
        if found:
            _, start, self.stopped_by = min(found)
            self._text = self._text[:start]
        return bool(found)

    def _sure(self, piece: str) -> int:
        """Return how much of the text will stay text, whatever follows."""
        end = len(self._text) - self._stop_begun()
        if self._tools is None:
            return end
        if self._call_at < 0 and "}" in piece:
            for found in find_objects(self._text, tools=self._tools, start=self._after):
                self._after = found.end
                if found.call is not None:
                    self._call_at = found.start
                    break
        start = self._call_at
        if start < 0:
            begun = OBJECT_START.search(self._text, self._after)
            start = begun.start() if begun else end
        end = min(start, end)
        undecided = UNDECIDED.search(self._text, self._told, max(end, self._told))
        return undecided.start() if undecided else end

    def _stop_begun(self) -> int:
        """Return the length of what may be the beginning of a stop text, at the text's end."""
        return max(
            (
                length
                for stop in self._stop
                for length in range(1, len(stop))
                if self._text.endswith(stop[:length])
            ),
            default=0,
        )

    def _tell(self, text: str) -> bool:
        """Tell the watcher what is new; return whether it wants no more."""
        if self._watch is None:
            return False
        piece, self._told = text[self._told :], max(self._told, len(text))
        if self._watch(piece):
            return False
        self._watch = None
        return True
