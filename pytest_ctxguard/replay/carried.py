"""Whether a fact's value stands in a request, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.replay.origin import Origin
from pytest_ctxguard.transcript.messages import Message, content_text, full_text, is_instruction
from pytest_ctxguard.transcript.model import Fact

Source = Literal["original", "restated", "echoed", "tool result", "pinned", "summary"]
SOURCES: tuple[Source, ...] = (
    "original", "restated", "echoed", "tool result", "pinned", "summary",
)  # fmt: skip
"""The message that planted it; another user message; the assistant; a tool; a copy the policy
put in (a system message, or the planting text word for word); other text the policy put in."""

Where = Literal["probe", "every"]


@dataclass(frozen=True, slots=True)
class Sighting:
    """A message of a request that carries the value."""

    message: int
    source: Source


@dataclass(frozen=True, slots=True)
class Carried:
    """Where a fact's value stood.

    Attributes:
        fact: its name.
        probes: for each wording's request, the messages that carry it.
        calls: the same for each call from planting on.
    """

    fact: str
    probes: tuple[tuple[Sighting, ...], ...]
    calls: tuple[tuple[Sighting, ...], ...]

    def at(self, where: Where) -> bool:
        """Tell whether it is carried in every probe request, or at every call since planted."""
        return all(self.requests(where))

    def requests(self, where: Where) -> tuple[tuple[Sighting, ...], ...]:
        """Return the sightings per request: of the probes, or of every call since planted.

        Raises:
            UsageError: ``where`` is neither ``"probe"`` nor ``"every"``.
        """
        if where not in ("probe", "every"):
            raise UsageError(f"at={where!r}: a fact is looked for at 'probe' or at 'every' call")
        return self.probes if where == "probe" else self.calls

    def __bool__(self) -> bool:
        """Tell whether every probe request carries it."""
        return self.at("probe")

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where the value comes from in the probe requests, most direct first."""
        found = {sighting.source for request in self.probes for sighting in request}
        return tuple(source for source in SOURCES if source in found)


def sightings(
    fact: Fact,
    messages: Sequence[Message],
    *,
    origins: Sequence[Origin],
    planted: Message,
    known: dict[int, bool] | None = None,
) -> tuple[Sighting, ...]:
    """Return the messages of a request that carry a fact's value, with its source.

    Content and tool-call arguments both count: a model reads either.

    Args:
        fact: what is looked for.
        messages: the request.
        origins: where each comes from.
        planted: the message that planted the fact.
        known: by the ``id`` of message objects, whether they carry the value; what is found is
            added. Requests of one replay have most objects in common: each is read once.
    """
    known = {} if known is None else known
    found = []
    for index, message in enumerate(messages):
        carries = known.get(id(message))
        if carries is None:
            carries = known[id(message)] = fact.mentions(full_text(message))
        if carries:
            source = _source(fact, message, origin=origins[index], planted=planted)
            found.append(Sighting(index, source))
    return tuple(found)


def _source(fact: Fact, message: Message, *, origin: Origin, planted: Message) -> Source:
    role = message.get("role")
    if origin.index == fact.planted_at:
        return "original"
    if origin.index is None or (origin.edited and role != "tool"):
        copied = content_text(planted).strip()
        pinned = is_instruction(message) or (copied and copied in content_text(message))
        return "pinned" if pinned else "summary"
    by_role: dict[object, Source] = {"assistant": "echoed", "tool": "tool result"}
    return by_role.get(role, "restated")
