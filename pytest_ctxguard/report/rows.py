"""What the tables of the reports show: a row per policy on a transcript, a row per recall cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from pytest_ctxguard.report.changed import share_text
from pytest_ctxguard.report.figures import CellFigures, FactFigures, ReplayFigures
from pytest_ctxguard.report.run import (
    WORST_FIRST,
    Change,
    Run,
    Subject,
    TestResult,
    TestVerdict,
)
from pytest_ctxguard.report.tables.recall import interval_text, misses_text

BILLED = "billed_input_tokens"
LEGEND = (
    "billed: input tokens of all calls; carried: requests that have the fact, of those that ask "
    "for it; answered: questions about it that the model answered"
)
NEEDLE_LEGEND = (
    "carried: requests that have the value; neighbour: answered with another record's value, "
    "invented: with one that stands nowhere"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column.

    Attributes:
        head: its heading, in one line or two.
        cells: one for each row.
        group: columns of one group stand side by side.
        right: whether its cells end at one edge, as numbers do.
        extra: whether it is left out where there is little room.
    """

    head: str
    cells: tuple[str, ...]
    group: str = ""
    right: bool = True
    extra: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One table.

    Attributes:
        title: the transcript or haystack, and what holds for all rows.
        verdicts: of each row.
        first: names the rows.
        columns: all others.
    """

    title: str
    verdicts: tuple[TestVerdict, ...]
    first: Column
    columns: tuple[Column, ...]

    @property
    def worst(self) -> int:
        """How bad its worst row is; 0 is the worst there is."""
        return min(map(WORST_FIRST.index, self.verdicts))

    def of_rows(self, most: int) -> Section:
        """Return the table with so many of its rows, the worst, in their order."""
        ranks = [WORST_FIRST.index(verdict) for verdict in self.verdicts]
        kept = sorted(sorted(range(len(ranks)), key=lambda n: (ranks[n], n))[:most])

        def cut(column: Column) -> Column:
            return replace(column, cells=tuple(column.cells[n] for n in kept))

        return replace(
            self,
            verdicts=tuple(self.verdicts[n] for n in kept),
            first=cut(self.first),
            columns=tuple(map(cut, self.columns)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    test: TestResult
    subject: Subject
    billed: Change | None

    @property
    def verdict(self) -> TestVerdict:
        return subject_verdict(self.test, self.subject)


def subject_verdict(test: TestResult, subject: Subject) -> TestVerdict:
    """Return what one thing came to; where nothing of it was judged, the test decides."""
    judged: list[TestVerdict] = [judgement.verdict for judgement in subject.judgements]
    return min(judged or [test.verdict], key=WORST_FIRST.index)


def replay_sections(run: Run) -> tuple[Section, ...]:
    """Return a table for each transcript, a row for each policy on it."""
    billed = {(c.nodeid, c.label): c for c in run.changes if c.metric == BILLED}
    found: dict[str, list[_Row]] = {}
    for test in run.tests:
        for subject in test.subjects:
            if subject.replay is not None:
                row = _Row(
                    test=test, subject=subject, billed=billed.get((test.nodeid, subject.label))
                )
                found.setdefault(subject.name, []).append(row)
    return tuple(_replay_section(name, rows) for name, rows in sorted(found.items()))


def _replay_section(name: str, rows: Sequence[_Row]) -> Section:
    def column(head: str, cell: Callable[[_Row, ReplayFigures], str], **more: bool) -> Column:
        cells = (cell(row, row.subject.replay) for row in rows if row.subject.replay)
        return Column(head=head, cells=tuple(cells), **more)  # type: ignore[arg-type]

    figures = [row.subject.replay for row in rows if row.subject.replay is not None]
    columns = [
        column("verdict", lambda row, _: verdict_text(row.test, row.verdict), right=False),
        column("budget", lambda _, replay: f"{replay.budget:,}" if replay.budget else ""),
        column("billed\ntokens", lambda _, replay: f"{replay.billed:,}"),
        column("since\nbaseline", lambda row, _: share_text(row.billed)),
        column("last\nrequest", lambda _, replay: f"{replay.final:,}"),
        *_fact_columns(figures),
        column("calls", lambda _, replay: f"{replay.calls:,}", extra=True),
        column("broken", lambda row, _: _broken(row.subject), extra=True, right=False),
    ]
    return Section(
        title=f"transcript {name}",
        verdicts=tuple(row.verdict for row in rows),
        first=Column(
            head="policy",
            cells=_distinct([(row.test, _title(row.subject)) for row in rows]),
            right=False,
        ),
        columns=tuple(column for column in columns if any(column.cells)),
    )


def _fact_columns(figures: Sequence[ReplayFigures]) -> Iterable[Column]:
    by_row = [{fact.name: fact for fact in replay.facts} for replay in figures]
    for name in dict.fromkeys(name for facts in by_row for name in facts):
        facts = [each.get(name) for each in by_row]
        for head, cell, extra in (
            ("carried", _carried, False),
            ("answered", _answered, False),
            ("otherwise", _otherwise, True),
        ):
            cells = tuple("" if fact is None else cell(fact) for fact in facts)
            if any(cells):
                yield Column(
                    head=f"{name}\n{head}",
                    cells=cells,
                    group=name,
                    extra=extra,
                    right=not extra,
                )


def recall_sections(run: Run) -> tuple[Section, ...]:
    """Return a table for each haystack, a row for each cell of each recall in it."""
    found: dict[str, list[tuple[TestResult, Subject, CellFigures]]] = {}
    for test in run.tests:
        for subject in test.subjects:
            for cell in subject.recall.cells if subject.recall is not None else ():
                found.setdefault(subject.name, []).append((test, subject, cell))
    return tuple(_recall_section(name, rows) for name, rows in sorted(found.items()))


def _recall_section(name: str, rows: Sequence[tuple[TestResult, Subject, CellFigures]]) -> Section:
    def column(head: str, cell: Callable[[CellFigures], str], **more: bool) -> Column:
        return Column(head=head, cells=tuple(cell(each) for _, _, each in rows), **more)  # type: ignore[arg-type]

    columns = (
        column("answered", lambda cell: f"{cell.hits} of {cell.of}"),
        column("planned", lambda cell: str(cell.planned) if cell.planned > cell.of else ""),
        column("rate, 95 %\n(Wilson)", interval_text),
        column("carried", lambda cell: str(cell.carried)),
        column("otherwise", lambda cell: misses_text(cell.outcomes), right=False),
        column("tokens\na request", lambda cell: f"{cell.tokens:,}", extra=True),
    )
    return Section(
        title=f"needles in {name}",
        verdicts=tuple(subject_verdict(test, subject) for test, subject, _ in rows),
        first=Column(
            head="policy: cell",
            cells=_distinct(
                [(test, f"{_title(subject)}: {cell.title}") for test, subject, cell in rows]
            ),
            right=False,
        ),
        columns=tuple(column for column in columns if any(column.cells)),
    )


def verdict_text(test: TestResult, verdict: TestVerdict) -> str:
    """Return a verdict as a table shows it."""
    return f"{verdict} (expected)" if test.outcome == "xfailed" and verdict != "pass" else verdict


def _title(subject: Subject) -> str:
    label = f" [{subject.label}]" if subject.label else ""
    return f"{subject.policy or 'as recorded'}{label}"


def _distinct(rows: Sequence[tuple[TestResult, str]]) -> tuple[str, ...]:
    """Return the rows' titles; where several tests would share one, with the test's name."""
    tests: dict[str, set[str]] = {}
    for test, title in rows:
        tests.setdefault(title, set()).add(test.nodeid)
    return tuple(
        f"{title} ({test.nodeid.partition('::')[2]})" if len(tests[title]) > 1 else title
        for test, title in rows
    )


def _broken(subject: Subject) -> str:
    return ", ".join(j.promise for j in subject.judgements if j.verdict != "pass")


def _carried(fact: FactFigures) -> str:
    return f"{fact.carried} of {fact.of}"


def _answered(fact: FactFigures) -> str:
    return "" if fact.answered is None else f"{fact.answered} of {fact.asked}"


def _otherwise(fact: FactFigures) -> str:
    return misses_text(fact.outcomes)
