"""The history a policy is handed: uncut, or what it left of it at the call before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.replay.origin import Index, Origin, Values
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.tokens.growing import growing
from pytest_ctxguard.tokens.known import KnownMessages
from pytest_ctxguard.transcript.messages import Message, copy_json
from pytest_ctxguard.transcript.model import Transcript


@dataclass(frozen=True, slots=True)
class View:
    """What a policy is to see.

    Attributes:
        messages: as values that nobody changes.
        origins: where each comes from in the uncut history.
        own: how many of the first are the transcript's first.
    """

    messages: tuple[Message, ...]
    origins: tuple[Origin, ...]
    own: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """What an agent has stored that writes its policy's cut back into its history.

    Attributes:
        view: what the policy returned last.
        upto: how many messages of the transcript that stands for.
    """

    view: View = View((), ())
    upto: int = 0


class Originals:
    """A transcript's messages, and the copies of them that policies are handed.

    A copy is handed out at every call, as an agent hands out its own stored messages, and made
    anew only when a policy has changed it: copying every history at every call would take the
    square of the session's length. For the same reason requests are counted here.

    Attributes:
        value: copies what a policy made.
        count: gives the exact tokens of a request that nobody changes.
        handed: gives them where a policy counts what it was handed, and may have changed.
    """

    def __init__(self, transcript: Transcript, counter: Counter) -> None:
        self._messages = transcript.messages
        self._whole = growing(counter, tools=transcript.tools)
        self.count = growing(counter, tools=transcript.tools)
        self._sizes: dict[int, int] = {}
        self._origins = tuple(Origin(i) for i in range(len(self._messages) + 1))
        self._copies: list[dict[str, Any]] = []
        self.handed = KnownMessages(counter, tools=transcript.tools)
        self.value = Values(transcript.messages)
        self._index = Index(self.value.key)

    def tokens(self, length: int) -> int:
        """Return the exact tokens of the request that the transcript's first messages make."""
        if length not in self._sizes:
            self._sizes[length] = self._whole(self._messages[:length])
        return self._sizes[length]

    def view(self, history: Sequence[Message], stored: Stored | None) -> View:
        """Return what a policy sees of an uncut history; ``stored``: it persists its cuts."""
        if stored is None:
            own = len(history)
            if own > len(self._messages) or history[-1] is not self._messages[own - 1]:
                own -= 1  # a probe's question comes last
            return View(tuple(history), self._origins[: len(history)], own)
        return View(
            (*stored.view.messages, *history[stored.upto :]),
            (*stored.view.origins, *self._origins[stored.upto : len(history)]),
        )

    def hand(self, view: View) -> list[dict[str, Any]]:
        """Return copies of a view's messages."""
        own = view.own
        others = zip(view.messages[own:], view.origins[own:], strict=True)
        self._copy_first(own)
        return [*self._copies[:own], *(self._copy(m, o) for m, o in others)]

    def changed(self, view: View, given: list[dict[str, Any]]) -> tuple[int, ...]:
        """Return which of the copies a policy changed; none of those is handed out again."""
        if given == list(view.messages):
            return ()
        pairs = enumerate(zip(given, view.messages, strict=True))
        changed = tuple(i for i, (copy, message) in pairs if copy != message)
        for i in changed:
            place = _place(view.origins[i])
            if 0 <= place < len(self._copies):
                fresh = copy_json(self._messages[place])
                self.handed.replace(self._copies[place], fresh)
                self._copies[place] = fresh
        return changed

    def index(self, view: View) -> Index:
        """Return the index of a view's messages."""
        own = view.own == len(view.messages)
        return (self._index if own else Index(self.value.key)).of(view.messages)

    def _copy(self, message: Message, origin: Origin) -> dict[str, Any]:
        place = _place(origin)
        if not 0 <= place < len(self._messages) or message is not self._messages[place]:
            return copy_json(message)  # type: ignore[no-any-return]  # of a dict, a dict
        self._copy_first(place + 1)
        return self._copies[place]

    def _copy_first(self, length: int) -> None:
        """Copy the transcript's first messages, unless they are."""
        new = self._messages[len(self._copies) : length]
        copies = [copy_json(message) for message in new]
        for copy, message in zip(copies, new, strict=True):
            self.handed.add(copy, message)
        self._copies += copies


def _place(origin: Origin) -> int:
    return -1 if origin.index is None else origin.index
