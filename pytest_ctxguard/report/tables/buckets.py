"""What fills the requests of a replay, as tables for 80 columns and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.report.printable import printable
from pytest_ctxguard.report.tables.small_table import small_table
from pytest_ctxguard.tokens.bucket_use import BucketUse, By
from pytest_ctxguard.tokens.buckets import BUCKETS, Buckets

SHOWN = 50  # rows on a screen; JSON has all


def buckets_json(replay: Replay) -> dict[str, Any]:
    """Return what ``buckets --json`` prints."""
    use = replay.bucket_use
    return {
        "transcript": replay.transcript.name,
        "policy": replay.label,
        "budget": replay.budget,
        "counter": replay.counter.name,
        "billed_input_tokens": use.billed.total,
        "billed": asdict(use.billed),
        "resent": {"tokens": use.resent, "share": round(use.growth, 4)},
        "overtakings": [asdict(each) for each in use.overtakings],
        "calls": [{**asdict(call), "total": call.tokens.total} for call in use.calls],
    }


def render_buckets(replay: Replay, *, by: By | None = None) -> Iterator[Table | Text]:
    """Yield what ``buckets`` prints, in order.

    Args:
        replay: the replay; its label is the policy's name.
        by: a row per turn or per call; ``None``: per turn, of a session that has more than one.
    """
    use = replay.bucket_use
    budget = "" if replay.budget is None else f", budget {replay.budget:,} tokens"
    name = printable(replay.transcript.name)
    yield Text(f"{name} under {replay.label}{budget}; tokens: {replay.counter.name}", style="bold")
    used = [bucket for bucket in BUCKETS if getattr(use.billed, bucket)]
    turns = use.turns
    if by == "call" or (by is None and len(turns) == 1):
        yield from _rows("call", [BucketUse((call,)) for call in use.calls], used)
    else:
        yield from _rows("turn", turns, used)
    yield _totals(use, used)
    yield Text(
        f"\n{use.resent:,} of {use.billed.total:,} billed tokens ({use.growth:.0%}) were resent: "
        "definitions and messages that the call before had, byte for byte"
    )
    for each in use.overtakings:
        if each.other == "system":  # that is soon done, and says nothing
            continue
        yield Text(
            f"{_words(each.bucket)} overtook {_words(each.other)} at turn {each.turn} "
            f"(call {each.call})"
        )


def _rows(by: By, parts: Sequence[BucketUse], used: Sequence[str]) -> Iterator[Table | Text]:
    each = "each request" if by == "call" else "the last request of each turn, and of all its calls"
    table = small_table(f"\ntokens of {each}", by)
    ends = ("all", "resent") if by == "call" else ("all", "calls", "billed", "resent")
    for head in (*map(_words, used), *ends):
        table.add_column(head, justify="right", overflow="fold")  # an ellipsis would eat digits
    for part in parts[:SHOWN]:
        last = part.calls[-1]
        cells = [f"{getattr(last.tokens, bucket):,}" for bucket in used]
        billed = [f"{len(part.calls)}", f"{part.billed.total:,}"] if by == "turn" else []
        place = last.turn if by == "turn" else last.call
        table.add_row(f"{place}", *cells, f"{last.tokens.total:,}", *billed, f"{part.growth:.0%}")
    yield table
    if len(parts) > SHOWN:
        yield Text(f"  … and {len(parts) - SHOWN:,} more; all with --json")


def _totals(use: BucketUse, used: Sequence[str]) -> Table:
    first, last, billed = use.calls[0].tokens, use.calls[-1].tokens, use.billed
    table = small_table("\ntokens by what they carry", "bucket")
    for head in ("first request", "", "last request", "", "all calls, billed", ""):
        table.add_column(head, justify="right", min_width=5)
    for bucket in used:
        cells = (cell for each in (first, last, billed) for cell in _share(bucket, each))
        table.add_row(_words(bucket), *cells)
    every = (cell for each in (first, last, billed) for cell in (f"{each.total:,}", ""))
    table.add_row("all", *every)
    return table


def _share(bucket: str, tokens: Buckets) -> tuple[str, str]:
    own = getattr(tokens, bucket)
    return f"{own:,}", f"{own / tokens.total:.0%}"


def _words(bucket: str) -> str:
    return bucket.replace("_", " ")
