"""How our figures agree with those a provider recorded, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from pytest_ctxguard.errors import ModelMissing
from pytest_ctxguard.tokens.recorded import (
    CountAgreement,
    Counted,
    Kind,
    agreement,
    counted,
    growth_agreement,
)
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.reuse import (
    KEPT_SECONDS,
    SLACK,
    Reuse,
    ReuseAgreement,
    reuse,
    reuse_agreement,
)

SHOWN = 20
KINDS: Mapping[Kind, str] = {
    "tool_free": "tool-free chats (published rule)",
    "tools": "chats with tools (approximate)",
    "other": "all else (part of it not seen here)",
}


@dataclass(frozen=True, slots=True)
class Checked:
    """The truth checks of one file.

    Attributes:
        counts: every call of an OpenAI model whose input tokens were recorded.
        skipped: why they were not counted; empty where they were.
        reused: every call that could have read the prompt of the one before it from a cache.
    """

    counts: tuple[Counted, ...]
    skipped: str
    reused: tuple[Reuse, ...]

    def of_kind(self, kind: Kind) -> CountAgreement:
        """Return how the counts of one kind of request agree."""
        return agreement([row for row in self.counts if row.kind == kind])

    def as_json(self) -> dict[str, Any]:
        """Return the documented keys."""
        kinds = {kind: _counts_json(self.of_kind(kind)) for kind in KINDS}
        growth = _counts_json(growth_agreement(self.counts))
        return {
            "openai": {**kinds, "growth": growth, "skipped": self.skipped or None},
            "cached_prefix": reused_json(self.reused),
        }


def reused_json(rows: Sequence[Reuse]) -> dict[str, Any]:
    """Return the documented keys of what was read from a provider's cache, and what was not."""
    return {
        **asdict(reuse_agreement(rows)),
        "calls": [_reuse_json(row) for row in rows if _tells(row)],
    }


def check(runs: Sequence[Transcript]) -> Checked:
    """Run the truth checks over the sessions of one file."""
    try:
        counts, skipped = counted(runs), ""
    except ModelMissing as error:
        counts, skipped = (), str(error)
    return Checked(counts, skipped, reuse(runs))


def render_checks(checked: Checked) -> Iterator[Table | Text]:
    """Yield what ``transcript show --check`` prints, in order."""
    yield Text()
    yield Text("our count against the provider's prompt_tokens", style="bold")
    if checked.skipped:
        yield Text(f"  not checked: {checked.skipped}")
    elif not checked.counts:
        yield Text("  no call of an OpenAI model has prompt_tokens here")
    else:
        yield _counts_table(checked)
    yield from render_reused(checked.reused)


def render_reused(rows: Sequence[Reuse]) -> Iterator[Table | Text]:
    """Yield how predicted prefix breaks and recorded cache reads agree."""
    yield Text()
    yield Text("predicted prefix breaks against recorded cache reads", style="bold")
    if not rows:
        yield Text("  no two calls here tell what was cached and what was read")
        return
    yield _reuse_table(reuse_agreement(rows))
    told = [row for row in rows if _tells(row) and row.why != "pause"]
    for row in told[:SHOWN]:
        yield Text(f"  run {row.run}, message {row.history}: {_sentence(row)}")
    if len(told) > SHOWN:
        yield Text(f"  … and {len(told) - SHOWN:,} more; all with --json")


def _tells(row: Reuse) -> bool:
    return row.dropped or row.predicted is not None


def _counts_json(found: CountAgreement) -> dict[str, Any]:
    return {**asdict(found), "ratio": found.ratio}


def _reuse_json(row: Reuse) -> dict[str, Any]:
    told = asdict(row)
    return {**told, "dropped": row.dropped, "why": row.why if row.dropped else None}


def _counts_table(checked: Checked) -> Table:
    table = Table(box=None, header_style="bold")
    table.add_column("requests", overflow="fold")
    for head in ("calls", "exact", "furthest off", "ours/billed"):
        table.add_column(head, justify="right")
    rows = [(name, checked.of_kind(kind)) for kind, name in KINDS.items()]
    rows.append(("what each call added to the last", growth_agreement(checked.counts)))
    for name, found in rows:
        ratio = "-" if found.ratio is None else f"{found.ratio:.3f}"
        largest = f"{found.largest:+,}" if found.calls else "-"
        table.add_row(name, f"{found.calls:,}", f"{found.exact:,}", largest, ratio)
    return table


def _reuse_table(found: ReuseAgreement) -> Table:
    table = Table(box=None, show_header=False)
    table.add_column("what", overflow="fold")
    table.add_column("calls", justify="right")
    rows = (
        ("calls compared with the one before them", found.compared),
        ("  read exactly what that one left in the cache", found.to_the_token),
        ("  prediction and record agree", found.agreed),
        (f"drops recorded (more than {SLACK} tokens not read again)", found.drops),
        ("prefix breaks predicted from the messages", found.breaks),
        ("  both", found.both),
        (f"  drop after a pause of more than {KEPT_SECONDS / 60:.0f} minutes", found.pause),
        ("  drop, and fewer tokens sent than before: edited outside the record", found.shrunk),
        ("  drop to nothing, system prompt or tools not recorded", found.unrecorded),
        ("  drop unexplained", found.unexplained),
    )
    for what, number in rows:
        table.add_row(what, f"{number:,}")
    return table


def _sentence(row: Reuse) -> str:
    what = f"{row.cached:,} of {row.kept:,} tokens read"
    if row.predicted is not None:
        return f"{what}; predicted: {row.predicted} changed" + ("" if row.dropped else "; no drop")
    return f"{what}; {row.why}"
