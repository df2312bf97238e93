"""The command as a whole, and its progress."""

import sys
from importlib.metadata import version

import pytest
from rich.console import Console

from pytest_ctxguard.cli import main as main_module
from pytest_ctxguard.cli import progress as progress_module
from pytest_ctxguard.cli.main import main
from pytest_ctxguard.cli.progress import progress


def run(monkeypatch, *args):
    monkeypatch.setattr(sys, "argv", ["pytest-ctxguard", *map(str, args)])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code


def test_an_error_of_ours_is_one_line_and_status_one(monkeypatch, capsys):
    assert run(monkeypatch, "table", "x", "--policy", "lru") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: no policy is named 'lru'; there are: full-history, ")
    assert printed.err.count("\n") == 1


def test_a_broken_transcript_is_named_with_its_line(monkeypatch, capsys, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"type": "transcript", "version": 9, "name": "x"}\n')
    assert run(monkeypatch, "table", path, "--tier", "structure") == 1
    assert capsys.readouterr().err == (
        f"error: {path}:1: version 9 is not supported; this release reads 1. Upgrade "
        "pytest-ctxguard, or correct `version`.\n"
    )


def test_success_is_status_zero(monkeypatch, capsys, folder):
    args = ("--transcripts", folder, "--tier", "structure", "--policy", "full-history")
    assert run(monkeypatch, "table", "small", *args) == 0
    assert "full-history" in capsys.readouterr().out


def test_other_errors_are_not_hidden(monkeypatch):
    def broken():
        raise ZeroDivisionError

    monkeypatch.setattr(main_module, "cli", broken)
    with pytest.raises(ZeroDivisionError):
        main()


def test_help_lists_the_commands(command):
    printed = command("--help").stdout
    assert "fetch" in printed
    assert "table" in printed
    assert command("--version").stdout.strip().endswith(version("pytest-ctxguard"))


def test_off_a_terminal_progress_is_quiet(capsys):
    with progress() as report:
        report("reading", 1, 3)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_on_a_terminal_it_is_one_bar(monkeypatch, capsys):
    monkeypatch.setattr(
        progress_module,
        "Console",
        lambda **options: Console(**options, force_terminal=True, width=80),
    )
    with progress() as report:
        report("reading", 1, 2)
        report("writing", 1, 4)
        report("writing", 4, 4)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "reading" in printed.err or "writing" in printed.err
