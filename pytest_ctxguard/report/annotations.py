"""A run as annotations of GitHub Actions, which stand beside the lines of a pull request.

Form and escaping: https://docs.github.com/actions/reference/workflow-commands-for-github-actions,
and ``toolkit/packages/core/src/command.ts``, which is what writes them for GitHub's own actions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from pytest_ctxguard.checks.finding import Finding, render
from pytest_ctxguard.report.accepting import acceptable
from pytest_ctxguard.report.changed import values_text
from pytest_ctxguard.report.printable import printable, printable_lines
from pytest_ctxguard.report.recipe import accept_command
from pytest_ctxguard.report.run import Change, Run, TestResult

SHOWN = 10
"""Annotations of one level that GitHub shows for a step; what comes after is dropped."""
LONGEST = 4000  # characters of a message

Level = Literal["error", "warning", "notice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """One annotation.

    Attributes:
        level: how bad it is.
        title: in one line.
        message: in as many as it takes.
        file: relative to the root of the run; empty: it has no place.
        line: from 1; 0: it has none.
    """

    level: Level
    title: str
    message: str
    file: str = ""
    line: int = 0

    def command(self, *, prefix: str = "") -> str:
        """Return the line that GitHub reads.

        Args:
            prefix: of the run's root within the repository.
        """
        path = printable(str(PurePosixPath(prefix, self.file))) if self.file else ""
        places = {"file": path, "line": str(self.line or ""), "title": printable(self.title)}
        given = ",".join(f"{name}={_property(value)}" for name, value in places.items() if value)
        return f"::{self.level} {given}::{_data(printable_lines(self.message)[:LONGEST])}"


def annotation_lines(run: Run, *, prefix: str = "") -> Iterator[str]:
    """Yield a run's annotations: what fails, what cannot be decided, what is new or improved.

    Args:
        run: the run.
        prefix: of its root within the repository.
    """
    found = [*map(_of_run, run.findings), *(_of_test(run, test) for test in run.failing)]
    found += _notices(run)
    for level in ("error", "warning", "notice"):
        rows = [each for each in found if each.level == level]
        for each in rows if len(rows) <= SHOWN else [*rows[: SHOWN - 1], _left(rows)]:
            yield each.command(prefix=prefix)


def _left(rows: Sequence[Annotation]) -> Annotation:
    """Return what stands for those for which there is no room."""
    left = rows[SHOWN - 1 :]
    titles = "\n".join(each.title for each in left)
    return Annotation(level=left[0].level, title=f"{len(left)} more like this", message=titles)


def _of_run(finding: Finding) -> Annotation:
    return Annotation(
        level="warning" if finding.inconclusive else "error",
        title=f"ctxguard: {finding.what}",
        message=render((finding,)),
    )


def _of_test(run: Run, test: TestResult) -> Annotation:
    findings = test.findings
    what = findings[0].what if findings and test.verdict != "error" else test.message
    commands = [f"again: {test.rerun}"] if test.rerun else []
    if acceptable(run, test):
        commands.append(f"accept: {accept_command(test.nodeid)}")
    return Annotation(
        level="warning" if test.verdict == "inconclusive" else "error",
        title=f"ctxguard {test.verdict}: {what}",
        message="\n".join([test.nodeid, render(findings) or test.message, *commands]),
        file=test.file,
        line=test.line,
    )


def _notices(run: Run) -> Iterator[Annotation]:
    """Yield one notice for each passing test that measured something new or better."""
    changes: dict[str, list[Change]] = {}
    for change in run.changes:
        if change.state in ("new", "improved"):
            changes.setdefault(change.nodeid, []).append(change)
    for test in run.tests:
        told = changes.get(test.nodeid, [])
        if told and test.verdict == "pass":
            yield Annotation(
                level="notice",
                title=f"ctxguard: {', '.join(dict.fromkeys(c.state for c in told))}",
                message="\n".join([test.nodeid, *map(_told, told)]),
                file=test.file,
                line=test.line,
            )


def _told(change: Change) -> str:
    return f"{change.metric}: {change.state}, {values_text(change)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
