"""The policy table as text: several small tables, so that each fits a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from pytest_ctxguard.recall.answers import Answers
from pytest_ctxguard.replay.calls import SummaryUse
from pytest_ctxguard.report.tables.small_table import answered, small_table
from pytest_ctxguard.report.tables.table import PolicyTable, Row
from pytest_ctxguard.tokens.buckets import BUCKETS, PUT_IN

ABOUT_COST = (
    "billed: over all calls; summary: what the summariser was shown at the calls, and total: both "
    "together; share: of the dearest; over: what the largest request has beyond the budget; own "
    "estimate: the largest request as the policy itself estimated it."
)
ABOUT_FACTS = (
    "carried: the value stands in every probe request, and where it comes from. answered: of the "
    "usable wordings, those answered with the fact alone and never without it. score: of what can "
    "be won between without it (0) and restated at the end (1), over all wordings."
)


def render_table(table: PolicyTable) -> RenderableType:
    """Return the table for a terminal."""
    facts = list(table.rows[0].facts)
    parts: list[RenderableType] = [
        _head(table),
        _cost(table),
        _buckets(table),
        *(_fact(table, name) for name in facts),
    ]
    notes = [ABOUT_COST, *([ABOUT_FACTS] if facts else []), *_notes(table)]
    return Group(*parts, "", *(escape(note) for note in notes))


def _head(table: PolicyTable) -> str:
    by = f"answered by {table.model}" if table.model else "structure tier, no model asked"
    head = f"{table.transcript}, budget {table.budget:,} tokens; {by}; tokens: {table.counter}"
    return f"[bold]{escape(head)}[/bold]"


def _cost(table: PolicyTable) -> Table:
    dearest = max(row.total for row in table.rows)
    columns: dict[str, Callable[[Row], str]] = {
        "billed": lambda row: f"{row.billed:,}",
        "summary": lambda row: "" if row.summariser is None else f"{row.summaries.input:,}",
        "total": lambda row: f"{row.total:,}",
        "share": lambda row: f"{row.total / dearest:.0%}",
        "largest": lambda row: f"{row.largest:,}",
        "over": lambda row: _over(row.largest, table.budget),
        "own estimate": lambda row: "" if row.own_estimate is None else f"{row.own_estimate:,}",
    }
    idle = set()
    if all(row.summariser is None for row in table.rows):
        idle |= {"summary", "total"}
    if all(row.own_estimate is None for row in table.rows):
        idle.add("own estimate")
    used = [name for name in columns if name not in idle]
    shown = _numbers("input tokens", used)
    for row in table.rows:
        shown.add_row(escape(row.policy), *(columns[name](row) for name in used))
    return shown


def _numbers(title: str, heads: Sequence[str]) -> Table:
    table = small_table(f"\n{title}", "policy")
    for head in heads:
        table.add_column(head, justify="right", overflow="fold")  # an ellipsis would eat digits
    return table


def _over(tokens: int, budget: int) -> str:
    return f"+{tokens - budget:,}" if tokens > budget else ""


def _buckets(table: PolicyTable) -> Table:
    parts = [asdict(row.buckets) for row in table.rows]
    used = [name for name in BUCKETS if name not in PUT_IN or any(part[name] for part in parts)]
    heads = [name.replace("_", " ") for name in used]
    shown = _numbers("tokens of the last request", [*heads, "all"])
    for row, part in zip(table.rows, parts, strict=True):
        numbers = (*(part[name] for name in used), row.final)
        shown.add_row(escape(row.policy), *(f"{number:,}" for number in numbers))
    return shown


def _fact(table: PolicyTable, name: str) -> Table:
    summarised = any(row.facts[name].fate.state for row in table.rows)
    shown = small_table(f"\n{name}", "policy")
    heads = ["carried", *(["answered", "score", "otherwise"] if table.model else [])]
    for head in [*heads, *(["in summaries"] if summarised else [])]:
        shown.add_column(head, overflow="fold")
    for row in table.rows:
        cell = row.facts[name]
        cells = [", ".join(cell.origin) if cell.carried else "dropped"]
        if cell.answers is not None:
            hits, otherwise = answered(cell.answers)
            cells += [hits, _score(cell.answers), otherwise]
        cells += [cell.fate.state or ""] if summarised else ()
        shown.add_row(escape(row.policy), *cells)
    return shown


def _score(answers: Answers) -> str:
    return "" if answers.normalised is None else f"{answers.normalised:.2f}"


def _controls(name: str, answers: Answers) -> str:
    """Say what the controls of a fact came to; they are the same for every policy."""
    hits = answers.controls
    parts = [
        f"{hits.full} with the full history",
        f"{hits.alone} with the fact alone",
        f"{hits.without} without it",
        f"{hits.restated} restated at the end",
        f"{hits.unstable} other when asked again",
    ]
    return f"{name}, controls: of {hits.of} wordings {', '.join(parts)}"


def _notes(table: PolicyTable) -> list[str]:
    first = table.rows[0].facts.items()
    notes = [_controls(name, cell.answers) for name, cell in first if cell.answers is not None]
    notes += [_summarising(row) for row in table.rows if row.summariser is not None]
    if table.left_out:
        names = ", ".join(table.left_out)
        notes.append(f"left out, as they need a summariser and no model is asked: {names}")
    if table.spent is not None:
        spent = table.spent
        notes.append(
            f"{spent.asked:,} questions asked, {spent.kept:,} answered by an earlier run; prompt "
            f"tokens {spent.prompt_tokens:,} billed, {spent.computed_tokens:,} computed; "
            f"{spent.completion_tokens:,} generated; {table.seconds:.0f} s"
        )
    return notes


def _summarising(row: Row) -> str:
    return (
        f"{row.policy}: summaries by {row.summariser}; {_took(row.summaries)}; "
        f"for the probes {_took(row.probe_summaries)}"
    )


def _took(use: SummaryUse) -> str:
    written = "?" if use.output is None else f"{use.output:,}"
    faults = [f"{n} {fault}" for fault, n in use.failed.items()]
    cut = [f"{use.at_length} cut at their length"] if use.at_length else []
    more = f" ({', '.join([*faults, *cut])})" if faults or cut else ""
    return f"{use.calls} calls, {use.input:,} tokens in, {written} out{more}"
