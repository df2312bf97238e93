"""``ctx_catalogue``: the tools that are called are there, and those that are there are called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, is_count, require
from pytest_ctxguard.tokens.catalogue import Catalogue, audit, definitions_sent
from pytest_ctxguard.tokens.exactness import approximate_note


@dataclass(frozen=True, slots=True)
class CatalogueAudit:
    """The session calls no tool that does not exist, and its definitions are worth their tokens.

    Attributes:
        max_unknown_calls: how many calls may name a tool that does not exist.
        max_never_called: how many tools may never be called; ``None``: any number.
        max_share: the most that the definitions may be of all input tokens billed, a ratio;
            ``None``: any.
    """

    max_unknown_calls: int = 0
    max_never_called: int | None = None
    max_share: float | None = None

    marker: ClassVar[str] = "ctx_catalogue"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = "ctx_catalogue(max_unknown_calls=0, max_never_called=2, max_share=0.5)"

    def __post_init__(self) -> None:
        for name in ("max_unknown_calls", "max_never_called"):
            value = getattr(self, name)
            allowed = is_count(value) or (value is None and name == "max_never_called")
            require(allowed, self, f"{name}={value!r} is not a number of 0 or more")
        share = self.max_share
        is_number = isinstance(share, int | float) and not isinstance(share, bool)
        require(
            share is None or (is_number and 0 < share < 1),
            self,
            f"max_share={share!r} is not a ratio between 0 and 1",
        )

    @property
    def subject(self) -> str:
        """One such promise per test."""
        return ""

    def judge(self, case: Case) -> Judgement:
        """Audit the transcript's tools; at most one finding for each argument.

        Raises:
            UsageError: the transcript has no tool definitions.
        """
        replay = case.replay
        catalogue = audit(replay.transcript, counter=replay.counter)
        offered = [step.request.offered(replay.transcript) for step in replay.steps]
        sent = definitions_sent(replay.transcript, offered, counter=replay.counter)
        share = sent / replay.tokens.billed
        summary = (
            f"{len(catalogue.tools)} tools, {catalogue.definitions:,} tokens a request, "
            f"{share:.0%} of what is billed; {len(catalogue.never_called)} never called; "
            f"{catalogue.unknown_calls} calls of tools that do not exist"
        )
        summary += approximate_note(replay.counter)
        return Judgement(describe(self), summary, tuple(self._findings(case, catalogue, sent)))

    def _findings(self, case: Case, catalogue: Catalogue, sent: int) -> Iterator[Finding]:
        idle = catalogue.never_called
        if catalogue.unknown_calls > self.max_unknown_calls:
            yield self._unknown(case, catalogue)
        if self.max_never_called is not None and len(idle) > self.max_never_called:
            yield self._never_called(case, catalogue)
        if self.max_share is not None and sent / case.replay.tokens.billed > self.max_share:
            yield self._too_much(case, catalogue, sent)

    def _unknown(self, case: Case, catalogue: Catalogue) -> Finding:
        calls = catalogue.unknown_calls
        return Finding(
            rule=f"{self.marker}.unknown",
            what=f"{calls} calls of tools that do not exist",
            where=case.place("; ".join(map(str, catalogue.unknown))),
            measured=f"{calls} calls",
            allowed=f"{self.max_unknown_calls}, of {len(catalogue.tools)} tools there are",
            why="each costs a call that answers with an error, and the model may give up",
            remedy="name the tool as the model calls it, or say in the nearest one's description "
            "what it is for",
        )

    def _never_called(self, case: Case, catalogue: Catalogue) -> Finding:
        idle, tokens = catalogue.never_called, catalogue.idle_tokens
        return Finding(
            rule=f"{self.marker}.never-called",
            what=f"{len(idle)} of {len(catalogue.tools)} tools are never called",
            where=case.place(", ".join(f"{tool.name!r} {tool.tokens:,} tokens" for tool in idle)),
            measured=f"{len(idle)} tools; {tokens:,} tokens a request, "
            f"{catalogue.over_run(tokens):,} over {catalogue.requests} calls",
            allowed=f"{self.max_never_called} tools",
            why="their definitions are paid for at every call, and are there to be confused with",
            remedy="offer them where they are needed, or take them out",
        )

    def _too_much(self, case: Case, catalogue: Catalogue, sent: int) -> Finding:
        tokens, trimmed = catalogue.definitions, catalogue.trimmed
        billed = case.replay.tokens.billed
        dearest = max(catalogue.tools, key=lambda tool: tool.tokens)
        return Finding(
            rule=f"{self.marker}.share",
            what=f"the tool definitions are {sent / billed:.1%} of all input tokens billed",
            where=case.place(f"the dearest is {dearest.name!r} with {dearest.tokens:,} tokens"),
            measured=f"{tokens:,} tokens a request, {sent:,} of "
            f"{billed:,} over {len(case.replay.steps)} calls",
            allowed=f"{self.max_share:.1%}",
            why="they are sent again at every call, whatever is asked",
            remedy=f"descriptions of one sentence and none of parameters: {trimmed.short:,} tokens "
            f"a request; only tools that were called: {trimmed.called:,}; both: {trimmed.both:,}",
        )
