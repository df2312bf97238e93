"""What the controller publishes: report files, the step's summary, annotations, properties."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.repeating import scrubbing
from pytest_ctxguard.plugin.settings.settings import Settings
from pytest_ctxguard.report.annotations import annotation_lines
from pytest_ctxguard.report.files import write_report
from pytest_ctxguard.report.properties import Property, properties
from pytest_ctxguard.report.run import Run, TestResult
from pytest_ctxguard.report.step_summary import append_summary
from pytest_ctxguard.report.terminal.screen import Line, Screen
from pytest_ctxguard.report.terminal.section import closing_lines, effort_lines, summary_lines

COMMAND = ("::", "##[")  # begins a line that GitHub's runner obeys


class Publishing:
    """The part of the plugin that shows a run to the world; only the controller has it."""

    def __init__(
        self, config: pytest.Config, settings: Settings, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.config, self.settings, self.environ = config, settings, environ
        self.run = Run()
        try:
            self._scrubbing = scrubbing(settings)
        except UsageError as error:
            raise pytest.UsageError(f"ini ctxguard_secrets: {error}") from None
        self._properties: dict[str, tuple[Property, ...]] = {}
        self._problems: list[str] = []

    def add_properties(self, report: pytest.TestReport, result: TestResult | None) -> None:
        """Add a test's properties to its report, here and not where it ran: nothing is sent.

        Args:
            report: of its setup, call or teardown.
            result: what it came to, where this report has it.
        """
        if result is not None:
            self._properties[report.nodeid] = self._scrubbing.value(properties(result))
        if result is not None or report.when == "teardown":
            report.user_properties += self._properties.get(report.nodeid, ())

    def publish(self, run: Run, session: pytest.Session) -> None:
        """Write what the run was asked for; a report that cannot be written fails the run."""
        self.run = run = self._scrubbing.run(run)
        if self.config.option.collectonly:
            return
        for path in self.settings.reports:
            try:
                write_report(run, path)
            except OSError as error:
                self._problems.append(f"the report {path} was not written: {error}")
                if session.exitstatus == pytest.ExitCode.OK:
                    session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if (summary := self.environ.get("GITHUB_STEP_SUMMARY")) and (run.tests or run.findings):
            try:
                append_summary(run, Path(summary))
            except OSError as error:
                self._problems.append(f"the step's summary was not written: {error}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the section, then the annotations where GitHub Actions reads them."""
        run, screen = self.run, self._screen
        if run.tests:
            terminalreporter.write_sep("=", "ctxguard")
            lines = (*summary_lines(run, screen), *effort_lines(run.effort, screen))
            self._write(terminalreporter, lines)
        if self._on_github:
            for line in annotation_lines(run, prefix=self._prefix):
                terminalreporter.ensure_newline()
                terminalreporter.write_line(screen.written(line))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        """Print, after all that pytest prints, what fails the run as a whole."""
        yield
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None:  # -p no:terminal
            return
        problems = ((self._screen.text(text), ("red", "bold")) for text in self._problems)
        lines = [*closing_lines(self.run, self._screen), *problems]
        if lines:
            reporter.ensure_newline()
            self._write(reporter, lines)

    def _write(self, reporter: pytest.TerminalReporter, lines: Iterable[Line]) -> None:
        for text, styles in self._inert(lines):
            reporter.write_line(text, **dict.fromkeys(styles, True))

    def _inert(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Yield lines none of which GitHub's runner obeys: their text may come from anywhere."""
        for text, styles in lines:
            obeyed = self._on_github and text.lstrip().startswith(COMMAND)
            yield (f"\\{text.lstrip()}" if obeyed else text), styles

    @property
    def _on_github(self) -> bool:
        return self.environ.get("GITHUB_ACTIONS") == "true"

    @property
    def _prefix(self) -> str:
        """The run's root within the repository; empty where it is not in it."""
        workspace = self.environ.get("GITHUB_WORKSPACE")
        if not workspace:
            return ""
        root, repository = self.config.rootpath.resolve(), Path(workspace).resolve()
        inside = root.is_relative_to(repository) and root != repository
        return root.relative_to(repository).as_posix() if inside else ""

    @property
    def _screen(self) -> Screen:
        writer = self.config.get_terminal_writer()
        return Screen(
            width=writer.fullwidth,
            encoding=getattr(writer._file, "encoding", None) or "utf-8",  # no public name
            verbosity=self.config.get_verbosity(),
        )
