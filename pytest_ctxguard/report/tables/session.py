"""Recorded traffic: its prefixes and cost beside what the provider told, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from pytest_ctxguard.prefix.changes import Change, changes
from pytest_ctxguard.prefix.cost import Cost
from pytest_ctxguard.prefix.recorded import recorded_calls, recorded_requests
from pytest_ctxguard.prefix.rules import Rule
from pytest_ctxguard.prefix.simulate import CachedCall, simulate
from pytest_ctxguard.report.printable import printable
from pytest_ctxguard.report.tables.agreement import render_reused, reused_json
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.transcript.model import Call, Transcript
from pytest_ctxguard.transcript.reuse import Reuse, reuse
from pytest_ctxguard.transcript.summary import tokens_of

SHOWN = 20  # breaks on a screen; JSON has all
TOLD = ("prompt_tokens", "cached_tokens", "cache_written_tokens", "completion_tokens")


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the provider told, and what the simulation has for the same calls.

    Attributes:
        calls: those that tell how many tokens were read from the cache, each simulated.
        told: key of a recording -> its sum over all calls that tell it; ``None``: none does.
        reused: each call that could have read the request before it.
    """

    calls: tuple[tuple[Call, CachedCall], ...]
    told: dict[str, int | None]
    reused: tuple[Reuse, ...]

    @property
    def simulated(self) -> int:
        """Tokens that the simulation reads at these calls."""
        return sum(ours.read for _, ours in self.calls)

    @property
    def alike(self) -> int:
        """At how many of them both read something, or neither does."""
        return sum(
            bool(tokens_of(call.recorded, "cached_tokens")) == bool(ours.read)
            for call, ours in self.calls
        )

    def as_json(self) -> dict[str, Any]:
        """Return the documented keys."""
        return {
            **self.told,
            "calls": len(self.calls),
            "simulated_read": self.simulated if self.calls else None,
            "alike": self.alike,
            "cached_prefix": reused_json(self.reused),
        }


@dataclass(frozen=True, slots=True)
class Session:
    """Recorded traffic, measured.

    Attributes:
        billed: input tokens of all requests, each in full.
        changes: from each request to the next.
        cost: with the provider's cache.
        recorded: what the provider told.
        counter: name of what counted the tokens.
    """

    billed: int
    changes: tuple[Change, ...]
    cost: Cost
    recorded: Recorded
    counter: str

    @property
    def breaks(self) -> tuple[Change, ...]:
        """The requests that do not begin as the one before them."""
        return tuple(change for change in self.changes if change.breaks)

    @property
    def reused(self) -> int:
        """Tokens that the request before each had sent, too."""
        return sum(change.shared_tokens for change in self.changes)

    def as_json(self) -> dict[str, Any]:
        """Return the documented keys."""
        cost, simulation = self.cost, self.cost.simulation
        return {
            "provider": simulation.rule.name,
            "rules": simulation.rule.dated.isoformat(),
            "counter": self.counter,
            "level": simulation.level,
            "times": simulation.times,
            "calls": len(simulation.calls),
            "billed_input_tokens": self.billed,
            "reused_tokens": self.reused,
            "breaks": [_break_json(change) for change in self.breaks],
            "cost": {
                "plain": cost.plain,
                "written": cost.written,
                "read": cost.read,
                "weighted": float(cost.weighted),
            },
            "recorded": self.recorded.as_json(),
        }


def measure_session(runs: Sequence[Transcript], *, rule: Rule, counter: Counter) -> Session:
    """Measure the recorded requests of a file by a provider's rules.

    Args:
        runs: the sessions of the file, or one of them.
        rule: the provider's rules.
        counter: exact counter of requests.

    Raises:
        UsageError: there is no call.
    """
    requests = recorded_requests(runs, counter=counter)
    cost = Cost(simulate(requests, rule=rule, counter=counter))
    calls = tuple(call for _, call in recorded_calls(runs))
    return Session(
        billed=sum(sent.tokens for sent in requests),
        changes=changes(requests, counter=counter, order=rule.order),
        cost=cost,
        recorded=Recorded(
            calls=tuple(
                (call, ours)
                for call, ours in zip(calls, cost.simulation.calls, strict=True)
                if tokens_of(call.recorded, "cached_tokens") is not None
            ),
            told={key: _sum(calls, key) for key in TOLD},
            reused=reuse(runs),
        ),
        counter=counter.name,
    )


def render_session(session: Session, *, title: str) -> Iterator[Table | Text]:
    """Yield what ``pytest-ctxguard session`` prints, in order."""
    cost = session.cost
    yield Text(printable(title), style="bold")
    yield Text(f"{len(cost.simulation.calls):,} calls; tokens: {session.counter}")
    yield _figures(session)
    yield Text(str(cost))
    if session.breaks:
        yield Text()
        yield _breaks(session.breaks[:SHOWN])
    if len(session.breaks) > SHOWN:
        yield Text(f"  … and {len(session.breaks) - SHOWN:,} more; all with --json")
    yield from _recorded(session.recorded)


def _sum(calls: Sequence[Call], key: str) -> int | None:
    told = [n for call in calls if (n := tokens_of(call.recorded, key)) is not None]
    return sum(told) if told else None


def _break_json(change: Change) -> dict[str, Any]:
    return {
        "call": change.call,
        "section": change.section,
        "where": change.where or change.kind,
        "before": change.before,
        "after": change.after,
        "cause": change.why,
    }


def _figures(session: Session) -> Table:
    table = Table(box=None, show_header=False)
    table.add_column("what")
    table.add_column("tokens", justify="right")
    compared = sum(change.tokens for change in session.changes)
    share = f" ({session.reused / compared:.1%} of those after the first call)" if compared else ""
    table.add_row("input tokens billed", f"{session.billed:,}")
    table.add_row(f"sent by the call before, too{share}", f"{session.reused:,}")
    table.add_row("breaks of the prefix", f"{len(session.breaks):,}")
    return table


def _breaks(found: Sequence[Change]) -> Table:
    table = Table(box=None, header_style="bold")
    table.add_column("call", justify="right")
    for head in ("where it breaks", "before", "after", "cause"):
        table.add_column(head, overflow="fold")
    for change in found:
        cells = (change.where or change.kind, change.before, change.after, change.why)
        table.add_row(str(change.call), *(Text(printable(cell)) for cell in cells))
    return table


def _recorded(recorded: Recorded) -> Iterator[Table | Text]:
    yield Text()
    yield Text("what the provider told", style="bold")
    if not recorded.calls:
        yield Text("  no call here tells what was read from a cache")
        return
    table = Table(box=None, show_header=False)
    table.add_column("what", overflow="fold")
    table.add_column("tokens", justify="right")
    for key, tokens in recorded.told.items():
        if tokens is not None:
            table.add_row(key.replace("_", " "), f"{tokens:,}")
    table.add_row("read in the simulation, at the same calls", f"{recorded.simulated:,}")
    table.add_row(
        "calls at which both read something, or neither does",
        f"{recorded.alike:,} of {len(recorded.calls):,}",
    )
    yield table
    yield from render_reused(recorded.reused)
