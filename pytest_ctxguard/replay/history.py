"""The history a policy is handed: uncut, or what it left of it at the call before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.replay.origin import Origin, Values, message_key
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.tokens.growing import growing
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
    square of the session's length. For the same reason uncut histories are counted here.
    """

    def __init__(self, transcript: Transcript, counter: Counter) -> None:
        self._messages = transcript.messages
        self._size = growing(counter, transcript.messages, tools=transcript.tools)
        self._sizes: dict[int, int] = {}
        self._origins = tuple(Origin(i) for i in range(len(self._messages) + 1))
        self._copies: list[dict[str, Any]] = []
        self._keys: dict[int, str] = {}
        self.value = Values()

    def tokens(self, length: int) -> int:
        """Return the exact tokens of the request that the transcript's first messages make."""
        if length not in self._sizes:
            self._sizes[length] = self._size(length)
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
                self._copies[place] = copy_json(self._messages[place])
        return changed

    def key(self, message: Message) -> str:
        """Return what equal messages have in common; remembered for the transcript's own."""
        if not self._keys:
            self._keys = {id(m): "" for m in self._messages}
        known = self._keys.get(id(message))
        if known is None:
            return message_key(message)
        if not known:
            known = self._keys[id(message)] = message_key(message)
        return known

    def _copy(self, message: Message, origin: Origin) -> dict[str, Any]:
        place = _place(origin)
        if not 0 <= place < len(self._messages) or message is not self._messages[place]:
            return copy_json(message)  # type: ignore[no-any-return]  # of a dict, a dict
        self._copy_first(place + 1)
        return self._copies[place]

    def _copy_first(self, length: int) -> None:
        """Copy the transcript's first messages, unless they are."""
        new = self._messages[len(self._copies) : length]
        self._copies += [copy_json(message) for message in new]


def _place(origin: Origin) -> int:
    return -1 if origin.index is None else origin.index
