"""A run as GitHub's Markdown: for the summary of a step, and for comments.

Whatever comes from a transcript, a test's name or an error stands in ``<code>`` or ``<pre>``, its
special characters as entities: there GitHub makes no link, mentions nobody and refers to nothing
(``html-pipeline``'s filters pass over ``code`` and ``pre``).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_ctxguard.checks.finding import render
from pytest_ctxguard.report.accepting import acceptable
from pytest_ctxguard.report.beside_baseline import describe
from pytest_ctxguard.report.changed import changed, state_text, values_text
from pytest_ctxguard.report.headline import headline
from pytest_ctxguard.report.printable import printable, printable_lines
from pytest_ctxguard.report.recipe import accept_command
from pytest_ctxguard.report.rows import (
    LEGEND,
    NEEDLE_LEGEND,
    Column,
    Section,
    recall_sections,
    replay_sections,
)
from pytest_ctxguard.report.run import Effort, Run, TestResult, TestVerdict

COMMENT_LIMIT = 65_536
"""Characters of a comment; counted in bytes here, which are never fewer."""
SUMMARY_LIMIT = 1024 * 1024
"""Bytes of a step's summary: "Job summaries are isolated between steps and each step is restricted
to a maximum size of 1MiB" (https://docs.github.com/actions/reference/workflow-commands-for-github-\
actions)."""
LONGEST = 8_000  # characters of one <pre>
ROWS = 50  # of a table
FIRST = 10  # failing tests that are more important than a table
PART = r"(?:[+-]?[0-9][0-9,.]*%?|[A-Za-z]{1,14})"
PLAIN = re.compile(rf"{PART}(?:[:.,;]? {PART})*[.]?")
"""Words and numbers in which nothing can be meant for Markdown, or for GitHub."""
SIGNS = {"error": "🟥", "fail": "🟥", "inconclusive": "🟨", "pass": "🟩", "skipped": "⬜"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of the report that stays or goes as a whole.

    Attributes:
        text: Markdown; it ends in a newline.
        rank: what is left out first has the highest.
    """

    text: str
    rank: int


def markdown(run: Run, *, limit: int = COMMENT_LIMIT) -> str:
    """Return a run as Markdown of at most so many bytes.

    Args:
        run: the run.
        limit: bytes of UTF-8. Whole blocks are left out, the least important first, and the last
            line says how many. Where there is no room for that line, the text is empty.
    """
    blocks = list(_blocks(run))
    kept = _fitting(blocks, limit)
    if left := len(blocks) - len(kept):
        kept.append(_left(left))
    text = "\n".join(block.text for block in kept)
    return text if len(text.encode()) <= limit else ""


def _fitting(blocks: Sequence[Block], limit: int) -> list[Block]:
    """Return the blocks there is room for, with the line that counts the others."""
    sizes = [len(block.text.encode()) + 1 for block in blocks]
    if sum(sizes) <= limit:
        return list(blocks)
    room = limit - len(_left(len(blocks)).text.encode()) - 1
    kept: set[int] = set()
    for number in sorted(range(len(blocks)), key=lambda n: (blocks[n].rank, n)):
        if sizes[number] <= room:
            kept.add(number)
            room -= sizes[number]
    return [block for number, block in enumerate(blocks) if number in kept]


def _left(number: int) -> Block:
    what = "1 part is" if number == 1 else f"{number} parts are"
    return Block(text=f"*{what} left out, for which there is no room here.*\n", rank=0)


def _blocks(run: Run) -> Iterator[Block]:
    sign = SIGNS[run.verdict]
    yield Block(text=f"### {sign} ctxguard\n\n{shown(headline(run))}\n", rank=0)
    for finding in run.findings:
        text = _details(code(finding.what), render((finding,)), opened=True)
        yield Block(text=text, rank=1)
    for number, test in enumerate(run.failing):  # the worst first
        yield Block(text=_test(run, test), rank=2 if number < FIRST else 7)
    for sections, legend in (
        (replay_sections(run), LEGEND),
        (recall_sections(run), NEEDLE_LEGEND),
    ):
        for section in sections:
            yield Block(text=_section(section), rank=3)
        if sections:
            yield Block(text=f"*{legend}*\n", rank=6)
    changes = changed(run.changes)
    if changes:
        rows = [(state_text(c), code(describe(c)), shown(values_text(c))) for c in changes]
        yield Block(text=_table(("since the baseline", "of", "values"), rows), rank=4)
    notes = [*_notes(run), *_effort(run.effort)]
    if notes:
        yield Block(text="\n".join(f"- {note}" for note in notes) + "\n", rank=5)


def _test(run: Run, test: TestResult) -> str:
    findings = render(test.findings)
    text = test.details or "\n\n".join(filter(None, (test.message, findings)))
    commands = [f"again   {test.rerun}"] if test.rerun else []
    if acceptable(run, test):
        commands.append(f"accept  {accept_command(test.nodeid)}")
    summary = f"{SIGNS[test.verdict]} {test.verdict}: {code(test.nodeid)}"
    return _details(summary, "\n".join([text, "", *commands]))


def _details(summary: str, text: str, *, opened: bool = False) -> str:
    state = " open" if opened else ""
    return f"<details{state}><summary>{summary}</summary>\n\n{pre(text)}\n\n</details>\n"


def _section(whole: Section) -> str:
    section = whole.of_rows(ROWS)
    left = len(whole.verdicts) - len(section.verdicts)
    columns: Sequence[Column] = (section.first, *section.columns)
    heads = tuple(shown(column.head.replace("\n", " ")) for column in columns)
    rows = [
        tuple(shown(column.cells[number]) for column in columns)
        for number in range(len(section.verdicts))
    ]
    more = f"\n*{left} more rows, none of them worse.*\n" if left else ""
    table = _table(
        heads, rows, right=tuple(column.right for column in columns), verdicts=section.verdicts
    )
    return f"{code(section.title)}\n\n{table}{more}"


def _table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[bool] = (),
    verdicts: Sequence[TestVerdict] = (),
) -> str:
    """Return a table; every cell of it is Markdown already."""
    ends = [*right, *[False] * (len(heads) - len(right))]
    signs = [f"{SIGNS[verdict]} " for verdict in verdicts] or [""] * len(rows)
    lines = [
        f"| {' | '.join(heads)} |",
        f"|{'|'.join('--:' if end else ':--' for end in ends)}|",
        *(f"| {sign}{' | '.join(row)} |" for sign, row in zip(signs, rows, strict=True)),
    ]
    return "\n".join(lines) + "\n"


def _notes(run: Run) -> Iterator[str]:
    for test in run.tests:
        for part in test.note.splitlines():
            yield f"{code(test.nodeid)}: {code(part.strip())}"
    left = dict.fromkeys(name for test in run.tests for name in test.unchecked)
    if left:
        yield f"not checked in this tier: {code(', '.join(left))}"
    replays = [s.replay for test in run.tests for s in test.subjects if s.replay is not None]
    yield from (code(text) for text in sorted({replay.approximate for replay in replays} - {""}))


def _effort(effort: Effort) -> Iterator[str]:
    if effort.asked + effort.kept:
        yield (
            f"{effort.asked:,} answers asked, {effort.kept:,} kept from an earlier run; prompt "
            f"tokens {effort.prompt_tokens:,} billed, {effort.computed_tokens:,} computed"
        )
    if effort.seconds:
        yield f"took {effort.seconds:.0f} s"
    yield from map(code, effort.notes)


def code(text: str) -> str:
    """Return text of any origin as inline code, in a table, too; empty text stays empty.

    Every character that Markdown, a table or a filter of GitHub's may act on is an entity.
    """
    if not text:
        return ""
    line = " ".join(printable(part) for part in text.split())
    inner = "".join(c if c.isalnum() or c in " -" else f"&#{ord(c)};" for c in line)
    return f"<code>{inner}</code>"


def shown(text: str) -> str:
    """Return text of any origin for a cell or a line: as it is if it is plain, else as code."""
    return text if PLAIN.fullmatch(text) else code(text)


def pre(text: str) -> str:
    """Return text of any origin as a block, line by line as it is."""
    lines = printable_lines(text)
    if len(lines) > LONGEST:
        lines = f"{lines[:LONGEST]}\n… {len(lines) - LONGEST:,} characters more"
    return f"<pre>{html.escape(lines)}</pre>"
