"""What is broken, a line for each finding, with the commands that repeat and that accept it."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.report.accepting import acceptable
from pytest_ctxguard.report.recipe import accept_command
from pytest_ctxguard.report.run import Run, TestResult
from pytest_ctxguard.report.terminal.screen import Line, Screen

TESTS = 8
FINDINGS = 4
PART = 110  # characters of one part of a finding
WHOLE = 300  # of a message, or of what to do
STYLES = {"error": "red", "fail": "red", "inconclusive": "yellow"}


def broken_lines(run: Run, screen: Screen) -> Iterator[Line]:
    """Yield each failing test with its findings in a line each; pytest shows their five parts."""
    tests = run.failing
    shown = tests if screen.verbosity > 0 else tests[:TESTS]
    for test in shown:
        yield "", ()
        yield from _test_lines(test, screen, accepts=acceptable(run, test))
    if left := len(tests) - len(shown):
        yield f"{left} more tests; each is under FAILURES or ERRORS, and -v names them here", ()


def _test_lines(test: TestResult, screen: Screen, *, accepts: bool) -> Iterator[Line]:
    style = STYLES[test.verdict]
    for line in screen.wrapped(test.nodeid, first=f"{test.verdict:<13}"):
        yield line, (style, "bold")
    findings = test.findings
    shown = findings if screen.verbosity > 0 else findings[:FINDINGS]
    if not findings or test.verdict == "error":
        for line in screen.wrapped(cut(test.message, WHOLE), first="  "):
            yield line, (style,)
    for finding in shown:
        yield from _finding_lines(finding, screen)
    if left := len(findings) - len(shown):
        yield f"  {left} more findings", ()
    if screen.verbosity >= 0:
        yield from _commands(test, screen, accepts=accepts)


def _finding_lines(finding: Finding, screen: Screen) -> Iterator[Line]:
    style = "yellow" if finding.inconclusive else "red"
    text = f"[{finding.rule}] {cut(finding.what)}: {against(finding)}"
    for line in screen.wrapped(text, first="  ", rest="    "):
        yield line, (style,)
    if finding.inconclusive:
        for line in screen.wrapped(f"what to do: {cut(finding.remedy, WHOLE)}", first="    "):
            yield line, (style,)


def _commands(test: TestResult, screen: Screen, *, accepts: bool) -> Iterator[Line]:
    """Yield commands whole, however narrow the terminal: they are there to be copied."""
    if test.rerun:
        yield screen.text(f"  again   {test.rerun}"), ()
    if accepts:
        yield screen.text(f"  accept  {accept_command(test.nodeid)}"), ()


def against(finding: Finding) -> str:
    """Return what was measured against what is allowed, in one line."""
    return f"{cut(finding.measured)}; allowed: {cut(finding.allowed)}"


def cut(text: str, most: int = PART) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
