"""What became of a fact when summaries took the place of the message that planted it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_ctxguard.replay.origin import Origin
from pytest_ctxguard.transcript.messages import Message, content_text, full_text
from pytest_ctxguard.transcript.model import Fact

if TYPE_CHECKING:  # a replay tells the fate of its facts, so that module imports this one
    from pytest_ctxguard.replay.values import Request

FateState = Literal["never shown", "shown and dropped", "kept"]


@dataclass(frozen=True, slots=True)
class Told:
    """A summary made of a fact's message, of the value elsewhere, or of an earlier such summary.

    Attributes:
        place: ``call 12``, or ``probe 3``.
        state: ``never shown``: the value was not, or no longer, in what the summariser was shown.
    """

    place: str
    state: FateState


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a fact.

    Attributes:
        fact: its name.
        summaries: those that stand for its message, in order.
        state: how it ended, seen from the probes: ``kept``: a summary's text still carries the
            value; ``shown and dropped``: none does, though a summariser was shown it;
            ``never shown``: the message was gone, and no summariser had been shown the value.
            ``None``: its message is still sent, or nothing was summarised.
    """

    fact: str
    summaries: tuple[Told, ...]
    state: FateState | None


def fate(
    fact: Fact,
    source: Message,
    *,
    calls: Sequence[tuple[int, Request]],
    probes: Sequence[Request],
) -> Fate:
    """Follow a fact through the summaries of a replay.

    Args:
        fact: what is followed.
        source: the message that plants it.
        calls: index and request of the calls from planting up to the probes.
        probes: the requests of its probes.
    """
    trace = _Trace(fact, source)
    for index, request in calls:
        trace.read(f"call {index}", request)
    behind = trace.copied()
    ends = []
    for number, request in enumerate(probes, 1):
        own = behind.copied()
        own.read(f"probe {number}", request)
        trace.told += own.told[len(behind.told) :]
        ends.append(own.end(request))
    order: tuple[FateState, ...] = ("never shown", "shown and dropped", "kept")
    state = next((state for state in order if state in ends), None)  # the worst of the wordings
    return Fate(fact.name, tuple(trace.told), state)


class _Trace:
    """What was asked of the summariser so far, and the texts that stand for a fact's message.

    The message's own comes first, then a line of each summary of it that was sent.
    """

    def __init__(self, fact: Fact, source: Message) -> None:
        self.fact = fact
        self.texts = [text for text in [content_text(source).strip()] if text]
        self.told: list[Told] = []
        self.asked = False

    def copied(self) -> _Trace:
        twin = _Trace(self.fact, {})
        twin.texts, twin.told, twin.asked = [*self.texts], [*self.told], self.asked
        return twin

    def read(self, place: str, request: Request) -> None:
        """Take in the summaries of one request."""
        inserted = "\n".join(_inserted(request))
        for summary in request.summaries:
            self.asked = self.asked or not summary.failed
            if summary.failed or _sent_still(self.fact, request):
                continue
            shown = "\n".join(full_text(message) for message in summary.shown)
            has_it = self.fact.mentions(shown)
            if not has_it and not any(text in shown for text in self.texts):
                continue
            text = str(summary.text).strip()
            kept = has_it and self.fact.mentions(text)
            line = text.splitlines()[0]  # a policy may take no more of it
            if line in inserted:
                self.texts.append(line)
            state: FateState = "kept" if kept else "shown and dropped" if has_it else "never shown"
            self.told.append(Told(place, state))

    def end(self, probe: Request) -> FateState | None:
        """Say how the fact stands in the request of a probe."""
        if not self.asked or _sent_still(self.fact, probe):
            return None
        states = {told.state for told in self.told}
        if "kept" in states and self.fact.mentions("\n".join(_inserted(probe))):
            return "kept"
        return "shown and dropped" if states & {"kept", "shown and dropped"} else "never shown"


def _sent_still(fact: Fact, request: Request) -> bool:
    return Origin(fact.planted_at) in request.origins


def _inserted(request: Request) -> Iterable[str]:
    """Return the texts that the policy put in, or changed."""
    return (
        full_text(message)
        for message, origin in zip(request.messages, request.origins, strict=True)
        if origin.index is None or origin.edited
    )
