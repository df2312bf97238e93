"""A run as one page: the verdict first, then what is wrong, then what was measured."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from pytest_ctxguard.report.figures import RecallFigures
from pytest_ctxguard.report.headline import tests_text
from pytest_ctxguard.report.html.budget import Block, Filled, Room
from pytest_ctxguard.report.html.by_call import call_charts
from pytest_ctxguard.report.html.by_policy import matrix, policy_charts
from pytest_ctxguard.report.html.by_recall import recall_charts
from pytest_ctxguard.report.html.chart import Chart
from pytest_ctxguard.report.html.drawing import draw, require_drawing
from pytest_ctxguard.report.html.measured import by_transcript
from pytest_ctxguard.report.html.rendering import Templates
from pytest_ctxguard.report.html.rows import changes_tables, tests_tables
from pytest_ctxguard.report.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of the page.

    Attributes:
        anchor: its place.
        title: its heading.
        unit: what its parts are, where some are left out.
        share: bytes promised to it; with the page's frame all of them stay below 1.5 MB.
    """

    anchor: str
    title: str
    unit: str
    share: int


FINDINGS = Section(
    anchor="findings", title="What is wrong", unit="findings and tests", share=300_000
)
CHANGES = Section(
    anchor="changes",
    title="Beside the baseline",
    unit="tables of up to 100 metrics",
    share=150_000,
)
POLICIES = Section(
    anchor="policies", title="Policies by transcript", unit="tables and charts", share=250_000
)
RECALL = Section(anchor="recall", title="Recall of needles", unit="recalls", share=200_000)
CALLS = Section(anchor="calls", title="Call by call", unit="replays", share=350_000)
TESTS = Section(anchor="tests", title="All tests", unit="tables of up to 100 tests", share=150_000)


def render_html(run: Run) -> str:
    """Return a run as one HTML file that needs nothing else.

    Equal runs make equal text, but for the element ``effort``.

    Raises:
        UsageError: the library that draws is not installed.
    """
    require_drawing()
    templates, room = Templates(), Room()
    parts = _Parts(run, templates)
    told: list[tuple[Section, Filled]] = []
    for section, blocks in parts.sections():
        filled = room.fill(blocks, share=section.share)
        if filled.blocks or filled.left_out:
            told.append((section, filled))
    style, script = templates.text("page.css"), templates.text("page.js")
    return templates.page(
        run=run,
        tests=tests_text(run),
        sections=told,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


class _Parts:
    """Makes the parts of each section, the most important first."""

    def __init__(self, run: Run, templates: Templates) -> None:
        self.run, self.templates = run, templates
        self.groups = by_transcript(run)
        self.wrong = run.failing

    def sections(self) -> Iterator[tuple[Section, list[Block]]]:
        yield FINDINGS, [*self._findings()]
        yield CHANGES, [self._part("table", table=each) for each in changes_tables(self.run)]
        yield POLICIES, [*self._policies()]
        yield RECALL, [*self._recalls()]
        yield CALLS, [*self._calls()]
        yield TESTS, [self._part("table", table=each) for each in tests_tables(self.run)]

    def _part(self, macro: str, **values: object) -> Block:
        return partial(self.templates.part, macro, **values)

    def _findings(self) -> Iterator[Block]:
        for finding in self.run.findings:
            yield self._part("run_finding", finding=finding)
        for test in self.wrong:
            yield self._part("wrong_test", test=test)

    def _policies(self) -> Iterator[Block]:
        for rows in self.groups:
            yield self._part("transcript", first=rows[0], table=matrix(rows))
            for chart in policy_charts(rows):
                yield partial(self._figures, "", (chart,))

    def _recalls(self) -> Iterator[Block]:
        told: list[tuple[str, RecallFigures]] = []
        for test in (*self.wrong, *self.run.tests):
            for subject in test.subjects:
                if subject.recall is None or (subject.title, subject.recall) in told:
                    continue
                told.append((subject.title, subject.recall))
                head = self.templates.part("recall", title=subject.title, recall=subject.recall)
                yield partial(self._figures, head, tuple(recall_charts(subject.recall)))

    def _calls(self) -> Iterator[Block]:
        wrong = {test.nodeid for test in self.wrong}
        rows = [row for group in self.groups for row in group if row.figures.by_call]
        rows.sort(key=lambda row: wrong.isdisjoint(row.tests))
        for number, row in enumerate(rows):
            head = self.templates.part("replay", row=row)
            charts = tuple(call_charts(row.figures, anchor=f"replay-{number}"))
            yield partial(self._figures, head, charts)

    def _figures(self, head: Markup | str, charts: tuple[Chart, ...]) -> Markup:
        drawn = (
            self.templates.part("figure", chart=chart, svg=draw(chart.spec, title=chart.title))
            for chart in charts
        )
        return Markup("").join((head, *drawn))
