"""The ctxguard section of pytest's terminal report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_ctxguard.checks.finding import render
from pytest_ctxguard.report.beside_baseline import describe
from pytest_ctxguard.report.changed import changed, state_text, values_text
from pytest_ctxguard.report.headline import headline
from pytest_ctxguard.report.rows import (
    LEGEND,
    NEEDLE_LEGEND,
    Section,
    recall_sections,
    replay_sections,
)
from pytest_ctxguard.report.run import Change, Effort, Run
from pytest_ctxguard.report.terminal.broken import broken_lines
from pytest_ctxguard.report.terminal.judged import judged_lines
from pytest_ctxguard.report.terminal.screen import Line, Screen

TABLES = 6
ROWS = 20
CHANGES = 15
NOTES = 12
COLOURS = {
    "error": ("red", "bold"),
    "fail": ("red", "bold"),
    "inconclusive": ("yellow", "bold"),
    "pass": ("green", "bold"),
    "skipped": ("yellow", "bold"),
}
OF_STATES = {
    "incomparable": ("red",),
    "regressed": ("red",),
    "stale": ("yellow",),
    "new": ("yellow",),
    "improved": ("green",),
}
RECORDED = {
    "new": "record new values with --ctxguard-update-new, and commit the .ctxguard.json files",
    "improved": "keep what improved with --ctxguard-update, and commit the .ctxguard.json files",
}
RATHER = (
    "keep what improved with pytest-ctxguard accept, test by test: --ctxguard-update would record "
    "what is worse, too"
)
WORSE = ("incomparable", "regressed")
FINDING_WIDTH = 10
DEFAULT = Screen()


def summary_lines(run: Run, screen: Screen = DEFAULT) -> Iterator[Line]:
    """Yield the section's lines: the verdict first, then what it rests on.

    A quiet run has the verdict and what is broken; a verbose one each judgement, too.
    """
    for line in screen.wrapped(headline(run)):
        yield line, COLOURS[run.verdict]
    if screen.verbosity >= 0:
        yield from _tables(replay_sections(run), LEGEND, screen)
        yield from _tables(recall_sections(run), NEEDLE_LEGEND, screen)
    if screen.verbosity > 0:
        yield "", ()
        yield from judged_lines(run, screen)
    yield from broken_lines(run, screen)
    if screen.verbosity >= 0:
        keep = not run.written and not run.instruments.compare
        yield from _changes(changed(run.changes), screen, keep=keep)
        yield from _notes(run, screen)
    for path in run.written:
        yield screen.text(f"baseline written: {path}"), ("green",)
    for path in run.removed:
        yield screen.text(f"baseline removed: {path}"), ("green",)


def effort_lines(effort: Effort, screen: Screen = DEFAULT) -> Iterator[Line]:
    """Yield what asking the model took, if it was asked, and what was noted on the way."""
    if screen.verbosity < 0:
        return
    if effort.asked + effort.kept:
        kept = f" ({effort.kept:,} kept from an earlier run)" if effort.kept else ""
        said = (
            f"model: {effort.asked + effort.kept:,} answers{kept}, {effort.prompt_tokens:,} prompt "
            f"tokens billed, {effort.computed_tokens:,} computed, {effort.model_seconds:.0f} s"
        )
        yield from _styled(screen.wrapped(said, rest="  "))
    for text in effort.notes:
        yield from _styled(screen.wrapped(text, rest="  "), "yellow")


def closing_lines(run: Run, screen: Screen = DEFAULT) -> Iterator[Line]:
    """Yield the findings of the run as a whole, to be printed last: no test has failed for them."""
    for finding in run.findings:
        style = "yellow" if finding.inconclusive else "red"
        head, *rows = render((finding,), width=FINDING_WIDTH).splitlines()
        yield from _styled(screen.wrapped(head, rest="  "), style, "bold")
        for row in rows[:-1]:
            first, text = row[: 2 + FINDING_WIDTH], row[2 + FINDING_WIDTH :]
            yield from _styled(screen.wrapped(text, first=first), style)
        yield screen.text(rows[-1]), (style,)  # it has a command, to be copied whole


def _tables(sections: Sequence[Section], legend: str, screen: Screen) -> Iterator[Line]:
    if not sections:
        return
    from pytest_ctxguard.report.terminal.packed import (
        section_lines,  # loads rich, which not every run needs
    )

    shown = sections
    if screen.verbosity < 1 and len(sections) > TABLES:
        worst = sorted(sections, key=lambda section: section.worst)[:TABLES]
        shown = [section for section in sections if section in worst]
    for section in shown:
        rows = len(section.verdicts)
        most = rows if screen.verbosity > 0 else ROWS
        yield "", ()
        yield from section_lines(section.of_rows(most), screen)
        if rows > most:
            yield f"  {rows - most} more rows, none of them worse: -v shows all", ()
    yield from _styled(screen.wrapped(legend, first="  "))
    if left := len(sections) - len(shown):
        yield f"{left} more tables, none of them worse: -v shows all", ()


def _changes(changes: Sequence[Change], screen: Screen, *, keep: bool) -> Iterator[Line]:
    if not changes:
        return
    shown = changes if screen.verbosity > 0 else changes[:CHANGES]
    yield "", ()
    yield "since the baseline", ("bold",)
    for change in shown:
        text = f"{describe(change)}: {values_text(change, arrow=screen.written('→'))}"
        style = () if change.accepted else OF_STATES.get(change.state, ())
        lines = screen.wrapped(text.removesuffix(": "), first=f"  {state_text(change):<13}")
        yield from _styled(lines, *style)
    if left := len(changes) - len(shown):
        yield f"  {left} more: -v shows all", ()
    states = {change.state for change in changes}
    for state, said in RECORDED.items():
        if state in states and keep:
            worse = state == "improved" and not states.isdisjoint(WORSE)
            yield from _styled(screen.wrapped(RATHER if worse else said, first="  "))


def _notes(run: Run, screen: Screen) -> Iterator[Line]:
    lines = [*_note_lines(run, screen)]
    if lines:
        yield "", ()
    shown = lines if screen.verbosity > 0 else lines[:NOTES]
    yield from shown
    if left := len(lines) - len(shown):
        yield f"{left} more notes: -v shows all", ("yellow",)


def _note_lines(run: Run, screen: Screen) -> Iterator[Line]:
    if screen.verbosity < 1:  # else they stand with their tests
        for test in run.tests:
            for part in test.note.splitlines():
                text = f"{test.nodeid}: {part.strip()}"
                yield from _styled(screen.wrapped(text, rest="  "), "yellow")
        left = dict.fromkeys(name for test in run.tests for name in test.unchecked)
        if left:
            text = f"not checked in this tier: {', '.join(left)}"
            yield from _styled(screen.wrapped(text, rest="  "), "yellow")
    replays = [s.replay for test in run.tests for s in test.subjects if s.replay is not None]
    for text in sorted({replay.approximate for replay in replays} - {""}):
        yield from _styled(screen.wrapped(text, rest="  "), "yellow")
    if seed := run.instruments.seed:
        yield screen.text(f"samples were drawn anew, with --ctxguard-seed {seed}"), ("yellow",)


def _styled(lines: Iterable[str], *styles: str) -> Iterator[Line]:
    return ((line, styles) for line in lines)
