"""Whether a fact's value stands in a request, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.replay.origin import Origin
from pytest_ctxguard.transcript.messages import Message, content_text, full_text, is_instruction
from pytest_ctxguard.transcript.model import Fact, Transcript

if TYPE_CHECKING:  # a replay says what it carries, so that module imports this one
    from pytest_ctxguard.replay.values import Request

Source = Literal["original", "restated", "echoed", "tool result", "pinned", "summary"]
SOURCES: tuple[Source, ...] = (
    "original", "restated", "echoed", "tool result", "pinned", "summary",
)  # fmt: skip
"""The message that planted it; another user message; the assistant; a tool; a copy the policy
put in (a system message, or the planting text word for word); other text the policy put in."""

Where = Literal["probe", "every", "later"]
WHERE: tuple[Where, ...] = ("probe", "every", "later")


@dataclass(frozen=True, slots=True)
class Sighting:
    """A message of a request that carries the value."""

    message: int
    source: Source


Seen = tuple[tuple[Sighting, ...], ...]  # for each request, the messages that carry a value


@dataclass(frozen=True, slots=True)
class Carried:
    """Where a fact's value stood.

    Attributes:
        fact: its name.
        probes: for each wording's request, the messages that carry it.
        calls: the same for each call from planting on; of one with links, since all are planted.
        own_turn: how many of these calls belong to the turn that plants it.
        links: the same requests, looked through for each other fact that it needs.
        older: and for the values it supersedes: the messages that state one, and not the newer.
    """

    fact: str
    probes: Seen
    calls: Seen
    own_turn: int = 0
    links: tuple[Carried, ...] = ()
    older: Carried | None = None

    @property
    def own(self) -> Carried:
        """The same of its own value alone, whatever others it needs."""
        return replace(self, links=())

    def at(self, where: Where) -> bool:
        """Tell whether it is carried in every probe request, or at every call since planted."""
        return all(self.requests(where))

    def requests(self, where: Where) -> Seen:
        """Return the sightings per request: of the probes, or of every call since planted.

        A request that lacks the value of another fact that this one needs does not carry it. At
        ``"later"``: of the calls after the turn that plants it, then of the probes.

        Raises:
            UsageError: ``where`` is none of these.
        """
        if where not in WHERE:
            raise UsageError(f"at={where!r}: a fact is looked for at 'probe' or at 'every' call")
        if where == "later":
            return (*self.requests("every")[self.own_turn :], *self.requests("probe"))
        own = self.probes if where == "probe" else self.calls
        needed = [link.requests(where) for link in self.links]
        return tuple(
            seen if all(link[number] for link in needed) else () for number, seen in enumerate(own)
        )

    def __bool__(self) -> bool:
        """Tell whether every probe request carries it."""
        return self.at("probe")

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where the value comes from in the probe requests, most direct first."""
        return self.sources_at("probe")

    def sources_at(self, where: Where) -> tuple[Source, ...]:
        """Return where the value comes from in the requests, most direct first."""
        found = {sighting.source for request in self.requests(where) for sighting in request}
        return tuple(source for source in SOURCES if source in found)


def carried(
    fact: Fact,
    transcript: Transcript,
    *,
    probes: Sequence[Request],
    calls: Sequence[tuple[int, Request]],
) -> Carried:
    """Look for a fact of a transcript, and for all it needs or supersedes.

    Args:
        fact: what is looked for.
        transcript: what was replayed.
        probes: the requests of its probes.
        calls: of every call, how many messages its history has, and the request.
    """
    needed = _linked(fact, transcript)
    since = max(other.planted_at for other in (fact, *needed))
    after = [(length, request) for length, request in calls if length > since]
    end = next((turn.start for turn in transcript.turns if turn.start > since), None)
    own_turn = sum(end is None or length <= end for length, _ in after)

    def look(other: Fact, stands: Callable[[str], bool]) -> Carried:
        planted = transcript.messages[other.planted_at]
        known: dict[int, bool] = {}  # the messages live as long as this

        def seen(requests: Iterable[Request]) -> Seen:
            return tuple(
                _sightings(other, request, stands=stands, planted=planted, known=known)
                for request in requests
            )

        return Carried(other.name, seen(probes), seen(r for _, r in after), own_turn)

    return replace(
        look(fact, fact.mentions),
        links=tuple(look(other, other.mentions) for other in needed),
        older=look(fact, partial(_states_older, fact)) if fact.supersedes else None,
    )


def _linked(fact: Fact, transcript: Transcript) -> tuple[Fact, ...]:
    """Return all other facts that one needs, those that these need among them."""
    found: dict[str, Fact] = {}
    waiting = list(fact.links)
    while waiting:
        name = waiting.pop(0)
        if name != fact.name and name not in found:
            found[name] = transcript.fact(name)
            waiting += found[name].links
    return tuple(found.values())


def _states_older(fact: Fact, text: str) -> bool:
    return not fact.mentions(text) and any(fact.finds(older, text) for older in fact.supersedes)


def _sightings(
    fact: Fact,
    request: Request,
    *,
    stands: Callable[[str], bool],
    planted: Message,
    known: dict[int, bool],
) -> tuple[Sighting, ...]:
    """Return the messages of a request that carry a value, with its source.

    Content and tool-call arguments both count: a model reads either. What is known by the ``id``
    of message objects is not read again: requests of one replay have most objects in common.
    """
    found = []
    for index, (message, origin) in enumerate(zip(request.messages, request.origins, strict=True)):
        carries = known.get(id(message))
        if carries is None:
            carries = known[id(message)] = stands(full_text(message))
        if carries:
            found.append(Sighting(index, _source(fact, message, origin=origin, planted=planted)))
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
