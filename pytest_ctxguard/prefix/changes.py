"""What changed from one request to the next, as the provider's cache sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from pytest_ctxguard.prefix.causes import likely_cause
from pytest_ctxguard.prefix.differing import Difference, common, first_difference
from pytest_ctxguard.prefix.meaning import same_meaning
from pytest_ctxguard.prefix.prompts import Level, Prompter
from pytest_ctxguard.prefix.sent import SECTIONS, Part, Parts, Section, Sent, serialised
from pytest_ctxguard.tokens.buckets import Counter

Kind = Literal["identical", "extended", "truncated", "diverged", "new session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One request against the one before it.

    Attributes:
        call: the later call's number.
        kind: ``identical``; ``extended``: it begins with all of the one before; ``truncated``: it
            is a beginning of it; ``diverged``; ``new session``: they have no message in common.
        section: where they part, if they diverge.
        message: index of the message there; of a tool definition, its place among the tools.
        path: to the value within it that differs.
        character: within that value.
        before: the text there, as it was sent.
        after: as it is sent now.
        same_meaning: the ways in which both differ although they mean the same; empty: they do not.
        cause: why, where the text tells and they do not mean the same.
        shared_bytes: how many bytes the requests begin with alike, serialised as JSON.
        shared_tokens: how many tokens.
        before_tokens: size of the request before.
        tokens: size of this one.
        level: whether tokens are compared, or messages as a whole.
    """

    call: int
    kind: Kind
    section: Section | None = None
    message: int | None = None
    path: str = ""
    character: int | None = None
    before: str = ""
    after: str = ""
    same_meaning: tuple[str, ...] = ()
    cause: str = ""
    shared_bytes: int
    shared_tokens: int
    before_tokens: int
    tokens: int
    level: Level

    @property
    def breaks(self) -> bool:
        """Whether the request does not begin with all of the one before it."""
        return self.kind not in ("identical", "extended")

    @property
    def where(self) -> str:
        """The place in words; empty unless they diverge."""
        if self.section is None:
            return ""
        one = "tool" if self.section == "tools" else "message"
        path = f", {self.path}" if self.path else ""
        return f"{self.section}, {one} {self.message}{path}, character {self.character}"

    @property
    def why(self) -> str:
        """The cause in words; empty where the text does not tell."""
        if self.same_meaning:
            return f"same meaning, different bytes ({', '.join(self.same_meaning)})"
        return self.cause


def changes(
    requests: Sequence[Sent],
    *,
    counter: Counter,
    order: Sequence[Section] = SECTIONS,
) -> tuple[Change, ...]:
    """Compare each request with the one before it.

    Args:
        requests: in the order in which they were sent.
        counter: exact counter; one that encodes compares token by token.
        order: the provider's order of sections.

    Returns:
        One change for each request after the first.
    """
    parts, prompter = Parts(), Prompter(counter, order=order)
    split = [parts.of(sent, order=order) for sent in requests]
    return tuple(compare(requests, split, prompter=prompter))


def compare(
    requests: Sequence[Sent], split: Sequence[Sequence[Part]], *, prompter: Prompter
) -> Iterator[Change]:
    """Yield what :func:`changes` returns; the requests' parts are given."""
    for call, (one, other) in enumerate(pairwise(zip(requests, split, strict=True)), 1):
        ids = prompter.ids(one[0]), prompter.ids(other[0])
        sizes = (len(ids[0]), len(ids[1]), common(*ids))
        known = one[0].session is not None and one[0].session == other[0].session
        yield _change(
            one[1], other[1], call=call, ids=sizes, level=prompter.level, one_session=known
        )


def _change(
    before: Sequence[Part],
    after: Sequence[Part],
    *,
    call: int,
    ids: tuple[int, int, int],
    level: Level,
    one_session: bool,
) -> Change:
    one, other = [part.text for part in before], [part.text for part in after]
    at = common(one, other)
    diverged = at < min(len(one), len(other))
    if not diverged and at == len(one):
        kind: Kind = "identical" if at == len(other) else "extended"
    else:
        kind = "diverged" if diverged else "truncated"
    texts = serialised(before).encode(), serialised(after).encode()
    measured = Change(
        call=call,
        kind=kind,
        shared_bytes=len(texts[0]) if kind == "identical" else common(*texts),
        shared_tokens=ids[2],
        before_tokens=ids[0],
        tokens=ids[1],
        level=level,
    )
    if kind != "diverged":
        return measured
    placed = _placed(measured, before, after, at)
    if not one_session and _strangers(before, after) and not _recognised(placed):
        return replace(measured, kind="new session")
    return placed


def _recognised(change: Change) -> bool:
    """Tell whether a message that differs is known to be the one before, edited."""
    edited = change.same_meaning or change.cause not in ("", "history edited")
    return bool(edited) and change.section == "messages"


def _placed(change: Change, before: Sequence[Part], after: Sequence[Part], at: int) -> Change:
    one, other = before[at], after[at]
    if one.section == other.section:
        diff = first_difference(one.value, other.value)
    else:
        diff = Difference("", 0, one.text, other.text)
    shown = diff.excerpts
    same = same_meaning(one.value, other.value)
    place = min((one, other), key=lambda part: SECTIONS.index(part.section))
    return replace(
        change,
        section=place.section,
        message=place.index,
        path=diff.path,
        character=diff.character,
        before=shown[0],
        after=shown[1],
        same_meaning=same,
        cause="" if same else likely_cause(before, after, at=at, diff=diff),
    )


def _strangers(before: Sequence[Part], after: Sequence[Part]) -> bool:
    """Tell whether no message of one request, instructions apart, is in the other."""
    sent = {part.text for part in before if part.section == "messages"}
    return not any(part.text in sent for part in after if part.section == "messages")
