"""Progress on stderr: notes, amounts, rates."""

import pytest
from rich.console import Console
from rich.progress import Progress as Bars

from pytest_ctxguard.cli import progress as progress_module
from pytest_ctxguard.cli.progress import AmountColumn, progress
from pytest_ctxguard.progress import note


def test_off_a_terminal_only_notes_are_shown(capsys):
    with progress() as report:
        report("fetching", 5, 10)
        note(report, "waiting for another process [1/2]")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "waiting for another process [1/2]\n")


def test_on_a_terminal_notes_stay_above_the_bar(monkeypatch, capsys):
    monkeypatch.setattr(
        progress_module,
        "Console",
        lambda **options: Console(**options, force_terminal=True, width=80),
    )
    with progress() as report:
        report("fetching", 5, 10)
        note(report, "waiting [1/2]")
        report("converting", 1, 10)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "waiting [1/2]" in printed.err


@pytest.mark.parametrize(
    ("done", "total", "text"),
    [
        ((1, 3), 25, "3/25 12.0/min"),
        ((5, 25), 60, "25/60 2.0/s"),
        ((0,), 490_000_000, "0/490 MB"),
        ((0, 50_000_000, 100_000_000), 490_000_000, "100/490 MB 5.0 MB/s"),
    ],
)
def test_an_amount_comes_with_its_rate(done, total, text):
    now = [0.0]
    bars = Bars(get_time=lambda: now[0])
    task = bars.add_task("fetching", total=total)
    for each in done:
        bars.update(task, completed=each)
        now[0] += 10
    assert str(AmountColumn().render(bars.tasks[0])) == text
