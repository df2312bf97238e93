from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ctxguard.engine import open as engine
from pytest_ctxguard.plugin.progress import ProgressLine
from pytest_ctxguard.plugin.xdist.worker_progress import Announcer
from pytest_ctxguard.testing import ScriptedBackend
from tests.plugin.project import Project

STEPS = (
    ("fetching", 0, 5_000_000),
    ("fetching", 2_000_000, 5_000_000),
    ("converting", 0, 25),
    ("converting", 25, 25),
)


class Terminal:
    """Stands in for pytest's terminal reporter, and for its capture: notes what is shown."""

    def __init__(self, *, isatty: bool) -> None:
        self.isatty = isatty
        self.shown: list[str] = []
        self.captured = True

    def rewrite(self, line: str, *, erase: bool) -> None:
        assert not self.captured
        assert erase
        self.shown.append(line)

    def write_line(self, line: str) -> None:
        assert not self.captured
        self.shown.append(line)

    def ensure_newline(self) -> None:
        pass

    @contextmanager
    def global_and_fixture_disabled(self) -> Any:
        self.captured = False
        yield
        self.captured = True


def line(
    terminal: Terminal, *, clock: Callable[[], float] = lambda: 0.0, **more: Any
) -> ProgressLine:
    plugins = {"terminalreporter": terminal, "capturemanager": terminal}
    config: Any = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugin=plugins.get), **more)
    return ProgressLine(config, clock=clock)


def test_on_a_terminal_one_line_is_rewritten_and_wiped() -> None:
    terminal = Terminal(isatty=True)
    progress = line(terminal)

    for step in STEPS:
        progress.update(*step)
    progress.clear()
    progress.clear()

    assert terminal.shown == [
        "ctxguard: fetching 0/5 MB",
        "ctxguard: fetching 2/5 MB",
        "ctxguard: converting 0/25",
        "ctxguard: converting 25/25",
        "",
    ]


def test_elsewhere_one_line_says_that_a_work_begins() -> None:
    terminal = Terminal(isatty=False)
    progress = line(terminal)

    for step in STEPS:
        progress.update(*step)
    progress.clear()

    assert terminal.shown == ["ctxguard: fetching", "ctxguard: converting"]


def test_steps_of_short_work_are_shown_on_a_terminal_only() -> None:
    here, elsewhere = Terminal(isatty=True), Terminal(isatty=False)

    line(here).step("asking", 1, 6)
    line(elsewhere).step("asking", 1, 6)

    assert here.shown == ["ctxguard: asking 1/6"]
    assert elsewhere.shown == []


def test_steps_come_with_their_rate_and_the_time_left() -> None:
    terminal = Terminal(isatty=True)
    now = [0.0]
    progress = line(terminal, clock=lambda: now[0])

    for now[0], done in ((0.0, 40), (10.0, 48), (30.0, 64), (60.0, 288)):
        progress.step("asking", done, 288)

    assert terminal.shown == [
        "ctxguard: asking 40/288",  # those were kept
        "ctxguard: asking 48/288, 48.0/min, 5:00 left",
        "ctxguard: asking 64/288, 48.0/min, 4:40 left",
        "ctxguard: asking 288/288",
    ]


def test_a_worker_shows_nothing_itself_and_the_controller_announces_what_is_new(
    tmp_path: Path,
) -> None:
    terminal = Terminal(isatty=True)
    workers = [
        line(terminal, workerinput={"ctxguard_folder": tmp_path, "workerid": name})
        for name in ("gw0", "gw1")
    ]
    said: list[str] = []
    announcer = Announcer(tmp_path, said.append)

    announcer.announce()
    workers[0].update("loading", 0, 0)
    workers[1].step("asking \x1b[31m", 8, 64)
    announcer.announce()
    announcer.announce()
    workers[0].clear()
    workers[1].step("asking \x1b[31m", 16, 64)
    announcer.announce()
    for worker in workers:
        worker.clear()
    announcer.announce()

    assert said == [
        "ctxguard: gw0: loading; gw1: asking \\x1b[31m 8/64",
        "ctxguard: gw1: asking \\x1b[31m 16/64",
    ]
    assert terminal.shown == []
    assert list(tmp_path.iterdir()) == []


def test_a_worker_whose_run_has_ended_fails_nobody(tmp_path: Path) -> None:
    gone = line(
        Terminal(isatty=True), workerinput={"ctxguard_folder": tmp_path / "x", "workerid": "gw0"}
    )
    gone.step("asking", 1, 2)
    gone.clear()
    assert not (tmp_path / "x").exists()


def test_an_announcer_that_is_closed_says_nothing_more(tmp_path: Path) -> None:
    said: list[str] = []
    announcer = Announcer(tmp_path, said.append)
    announcer.start()
    announcer.close()
    (tmp_path / "progress-gw0").write_text("asking")
    assert said == []


@pytest.mark.parametrize("capture", ["--capture=fd", "--capture=no", "-pno:capture"])
def test_progress_is_shown_whatever_is_captured(
    project: Project, monkeypatch: pytest.MonkeyPatch, capture: str
) -> None:
    def open_backend(model: str | None, **options: Any) -> ScriptedBackend:
        for step in STEPS:
            options["progress"](*step)
        return ScriptedBackend(lambda messages: "pay-core-07")

    monkeypatch.setattr(engine, "open_backend", open_backend)
    test = 'def test_it(ctx_replay): ctx_replay("mini", full_history).answers("shard")'

    result = project.with_backend("none").with_test(test).run("--ctxguard", capture)

    assert result.outcomes == {"passed": 1}
    assert result.text.count("ctxguard: fetching\n") == 1
    assert result.text.count("ctxguard: converting\n") == 1


@pytest.mark.parametrize("isatty", [True, False])
def test_a_note_has_a_line_of_its_own_everywhere(isatty: bool) -> None:
    terminal = Terminal(isatty=isatty)
    progress = line(terminal)

    progress.update("fetching", 2_000_000, 5_000_000)
    progress.update("waiting for another process", 0, 0)
    progress.update("converting", 0, 25)

    assert "ctxguard: waiting for another process" in terminal.shown
    assert terminal.shown[-1].startswith("ctxguard: converting")
