"""What was read of a recording, as tables for 80 columns and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from pytest_ctxguard.report.printable import printable
from pytest_ctxguard.tokens.buckets import EMPTY, PUT_IN, Buckets, Counter, buckets
from pytest_ctxguard.tokens.images import images
from pytest_ctxguard.tokens.openai import OpenAICounter
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.reading import Reading
from pytest_ctxguard.transcript.summary import (
    Summary,
    parts_without_text,
    summarise,
    summarise_runs,
)

SHOWN = 20  # rows of a list on a screen; JSON has all
WORDS = {
    "tool_rounds": "tool rounds",
    "tool_calls": "tool calls",
    "tool_results": "tool results",
    "unanswered_calls": "unanswered calls",
    "orphan_results": "orphan results",
    "opaque_parts": "opaque parts",
    "usage_rows": "calls with usage",
}
"""Field of a summary -> what people read; others are words already."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One session, or all of a file together.

    Attributes:
        name: of the session.
        summary: its counts.
        tokens: of its whole history, counted once.
    """

    name: str
    summary: Summary
    tokens: Buckets

    def as_json(self) -> dict[str, Any]:
        """Return the documented keys."""
        counts = asdict(self.summary)
        del counts["runs"]
        return {**counts, "models": list(self.summary.models), "tokens": _recorded(self.tokens)}


@dataclass(frozen=True, slots=True)
class Shown:
    """A reading, measured.

    Attributes:
        total: all of its sessions together.
        runs: each of them.
        reading: what was read.
        without_text: parts that no counter counts, by type.
    """

    total: Measured
    runs: tuple[Measured, ...]
    reading: Reading
    without_text: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """Return the documented keys."""
        runs = [{"name": run.name, **run.as_json()} for run in self.runs]
        for run in runs:
            del run["format"]
        return {
            **self.total.as_json(),
            "runs": runs,
            "passed_over": dict(self.reading.passed_over),
            "notes": [asdict(note) for note in self.reading.notes],
        }


def measure(reading: Reading, *, counter: Counter) -> Shown:
    """Count the messages and tokens of every session of a reading."""
    runs = tuple(_measure(run, format=reading.format, counter=counter) for run in reading.runs)
    tokens = sum((run.tokens for run in runs), start=EMPTY)
    messages = [message for run in reading.runs for message in run.messages]
    without_text = parts_without_text(messages)
    if isinstance(counter, OpenAICounter):
        sized = sum(size is not None for message in messages for size, _ in images(message))
        without_text["image_url"] = without_text.get("image_url", 0) - sized
    return Shown(
        total=Measured("", summarise_runs(reading), tokens),
        runs=runs,
        reading=reading,
        without_text={kind: number for kind, number in without_text.items() if number},
    )


def _measure(run: Transcript, *, format: str, counter: Counter) -> Measured:
    tokens = buckets(counter, run.messages, tools=run.tools)
    return Measured(run.name, summarise(run, format=format), tokens)


def render(shown: Shown, *, title: str, counter: str) -> Iterator[Table | Text]:
    """Yield what ``transcript show`` prints, in order."""
    yield Text(printable(title), style="bold")
    yield _totals(shown.total)
    if len(shown.runs) > 1:
        yield _runs(shown.runs)
        yield from _more(len(shown.runs))
    yield Text(f"tokens: {counter}; the history counted once")
    if shown.without_text:
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(shown.without_text.items()))
        yield Text(f"parts counted as 0 tokens: {printable(kinds)}")
    if shown.reading.passed_over:
        yield Text("passed over, part of no message:")
        found = sorted(shown.reading.passed_over.items(), key=lambda item: (-item[1], item[0]))
        for kind, number in found[:SHOWN]:
            yield Text(f"  {number:>6,}  {printable(kind)}")
        yield from _more(len(found))
    if shown.reading.notes:
        yield Text("notes:")
        for note in shown.reading.notes[:SHOWN]:
            place = "" if note.line is None else f"line {note.line}: "
            yield Text(f"  {place}{printable(note.what)}")
        yield from _more(len(shown.reading.notes))


def _recorded(tokens: Buckets) -> dict[str, int]:
    """Return the buckets that a recording has: no policy put anything in."""
    return {name: n for name, n in asdict(tokens).items() if name not in PUT_IN}


def _more(number: int) -> Iterator[Text]:
    if number > SHOWN:
        yield Text(f"  … and {number - SHOWN:,} more; all with --json")


def _totals(total: Measured) -> Table:
    table = Table(show_header=False, box=None)
    table.add_column("what")
    table.add_column("how many", overflow="fold")
    for field, value in asdict(total.summary).items():
        shown = ", ".join(value) or "not told" if field == "models" else value
        text = f"{shown:,}" if isinstance(shown, int) else printable(str(shown))
        table.add_row(WORDS.get(field, field), Text(text))
    for bucket, tokens in _recorded(total.tokens).items():
        table.add_row(f"tokens: {bucket.replace('_', ' ')}", f"{tokens:,}")
    table.add_row("tokens: all", f"{total.tokens.total:,}")
    return table


def _runs(runs: Sequence[Measured]) -> Table:
    table = Table(box=None, header_style="bold")
    table.add_column("run", justify="right")
    heads = ("calls", "turns", "tool calls", "results", "unanswered", "orphans", "opaque")
    for head in (*heads, "tokens"):
        table.add_column(head, justify="right", overflow="fold")  # an ellipsis would eat digits
    for number, run in enumerate(runs[:SHOWN]):
        counts = run.summary
        cells = (
            counts.calls,
            counts.turns,
            counts.tool_calls,
            counts.tool_results,
            counts.unanswered_calls,
            counts.orphan_results,
            counts.opaque_parts,
            run.tokens.total,
        )
        table.add_row(str(number), *(f"{cell:,}" for cell in cells))
    return table
