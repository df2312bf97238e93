"""``ctx_prefix_stable`` and ``ctx_prefix_moves``: each request begins as the one before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, is_count, require
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.prefix.changes import Change, changes
from pytest_ctxguard.prefix.rules import find_rule
from pytest_ctxguard.prefix.sent import SECTIONS

SHOWN = 5  # breaks that become findings of their own


@dataclass(frozen=True, slots=True)
class PrefixMoves:
    """The prefix breaks on purpose: at most so often, in one section, for a stated reason.

    Such breaks are left out of ``ctx_prefix_stable``.

    Attributes:
        reason: why; the report shows it.
        at_most: how many breaks.
        section: where: ``tools``, ``system`` or ``messages``; empty: anywhere.
    """

    reason: str
    at_most: int = 1
    section: str = ""

    marker: ClassVar[str] = "ctx_prefix_moves"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = 'ctx_prefix_moves(reason="the plan is rewritten once", at_most=1)'

    def __post_init__(self) -> None:
        stated = isinstance(self.reason, str) and bool(self.reason.strip())
        require(stated, self, f"reason={self.reason!r} states no reason")
        ok = is_count(self.at_most, least=1)
        require(ok, self, f"at_most={self.at_most!r} is not a number of 1 or more")
        allowed = ("", *SECTIONS)
        require(self.section in allowed, self, f"section={self.section!r} is not one of {allowed}")

    @property
    def subject(self) -> str:
        """The section; moves in other sections stack."""
        return self.section

    def judge(self, case: Case) -> Judgement:
        """Count the breaks; a finding for each beyond those allowed.

        Raises:
            UsageError: there are fewer than two calls to compare.
        """
        found = compared(case, marker=self.marker)
        moved = [change for change in found if self.covers(change)]
        summary = f"{len(moved)} of {self.at_most} moves: {self.reason}"
        if len(moved) <= self.at_most:
            return Judgement(describe(self), summary, requests=len(case.replay.steps))
        allowed = f"{self.at_most} of {len(moved)}, because {self.reason}"
        findings = tuple(
            _finding(case, f"{self.marker}.more", change, stands_for=number, allowed=allowed)
            for change, number in _shown(moved[self.at_most :])
        )
        return Judgement(describe(self), summary, findings, requests=len(case.replay.steps))

    def covers(self, change: Change) -> bool:
        """Tell whether a change is a break in the section."""
        return change.breaks and self.section in ("", change.section or "messages")


@dataclass(frozen=True, slots=True)
class PrefixStable:
    """Where the prefix breaks, enough of it was in the request before all the same.

    Attributes:
        min_reuse: share of the tokens sent, calls after the first, that the call before had sent.
        provider: name of cache rules, whose order of sections is used.
    """

    min_reuse: float = 0.8
    provider: str = ""

    marker: ClassVar[str] = "ctx_prefix_stable"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = "ctx_prefix_stable(min_reuse=0.8)"

    def __post_init__(self) -> None:
        ok = isinstance(self.min_reuse, int | float) and not isinstance(self.min_reuse, bool)
        require(
            ok and 0 < self.min_reuse <= 1,
            self,
            f"min_reuse={self.min_reuse!r} is not a share above 0 and up to 1",
        )
        require(isinstance(self.provider, str), self, f"provider={self.provider!r} is not a name")

    @property
    def subject(self) -> str:
        """The provider, if any."""
        return self.provider

    def judge(self, case: Case) -> Judgement:
        """Add up what is reused, without the moves that are allowed; a finding for each break.

        Raises:
            UsageError: there are fewer than two calls to compare, or no rules of this name.
        """
        found = compared(case, marker=self.marker, provider=self.provider)
        counted = _unexcused(found, case)
        breaks = [change for change in counted if change.breaks]
        shared = sum(change.shared_tokens for change in counted)
        sent = sum(change.tokens for change in counted)
        by = "" if found[0].level == "tokens" else ", whole messages compared"
        summary = (
            f"{shared:,} of {sent:,} tokens were in the request before{by}; "
            f"{len(breaks)} breaks in {len(found)} changes"
        )
        if len(counted) < len(found):
            summary += f", {len(found) - len(counted)} more allowed"
        if not breaks or shared >= self.min_reuse * sent:
            return Judgement(describe(self), summary, requests=len(case.replay.steps))
        allowed = f"{self.min_reuse:.1%} of the tokens reused, or no break; {shared / sent:.1%} are"
        findings = tuple(
            _finding(case, f"{self.marker}.breaks", change, stands_for=number, allowed=allowed)
            for change, number in _shown(breaks)
        )
        return Judgement(describe(self), summary, findings, requests=len(case.replay.steps))


def compared(case: Case, *, marker: str, provider: str = "") -> tuple[Change, ...]:
    """Return the changes of a replay, in a provider's order of sections.

    Raises:
        UsageError: there are fewer than two calls, or no rules of this name.
    """
    replay = case.replay
    if len(replay.steps) < 2:
        raise UsageError(
            f"{marker} compares each call with the one before, and transcript "
            f"{replay.transcript.name!r} has one call"
        )
    if not provider:
        return replay.changes
    order = find_rule(case.rules(), provider).order
    return changes(replay.sent, counter=replay.counter, order=order)


def _unexcused(found: Sequence[Change], case: Case) -> list[Change]:
    """Return the changes that no move of this test allows; of each, the first so many."""
    left = {move: move.at_most for move in case.promises if isinstance(move, PrefixMoves)}
    counted = []
    for change in found:
        move = next((m for m, number in left.items() if number and m.covers(change)), None)
        if move is None:
            counted.append(change)
        else:
            left[move] -= 1
    return counted


def _shown(breaks: Sequence[Change]) -> Iterator[tuple[Change, int]]:
    """Yield the first breaks, each with the number of breaks that its finding stands for."""
    for change in breaks[:SHOWN]:
        last = change is breaks[:SHOWN][-1]
        yield change, max(1, len(breaks) - SHOWN + 1) if last else 1


def _finding(case: Case, rule: str, change: Change, *, stands_for: int, allowed: str) -> Finding:
    why = f": {change.why}" if change.why else ""
    more = f" (and {stands_for - 1} more calls)" if stands_for > 1 else ""
    texts = f"{change.before!r} became {change.after!r}; " if change.where else ""
    by = "" if change.level == "tokens" else ", whole messages compared"
    return Finding(
        rule=rule,
        what=f"the prefix breaks at call {change.call}{why}{more}",
        where=case.place(f"call {change.call}", change.where or "its end"),
        measured=f"{texts}{change.shared_tokens:,} of {change.tokens:,} tokens reused{by}",
        allowed=allowed,
        why="a cache reads only what begins as before; all else is billed in full, or dearer",
        remedy="append instead of editing, cut rarely and deep, put what changes at the end; "
        "breaks on purpose are marked ctx_prefix_moves(reason=…, at_most=…)",
        requests=stands_for,
    )
