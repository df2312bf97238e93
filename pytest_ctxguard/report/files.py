"""A run written to a file, in the format that the file's suffix names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_ctxguard.cache import write_atomically
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.report.run import Run

Renderer = Callable[[Run], str]


def write_report(run: Run, path: Path) -> None:
    """Write a run to a file; a file that is there is replaced whole, or not at all.

    Raises:
        UsageError: no format has this suffix.
    """
    render = renderer(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = render(run)
    write_atomically(path, lambda made: made.write_text(text, encoding="utf-8"))


def renderer(path: Path) -> Renderer:
    """Return what renders a run for a file of this name.

    Raises:
        UsageError: no format has this suffix, or what the format needs is not installed.
    """
    found = FORMATS.get(path.suffix)
    if found is None:
        raise UsageError(f"{str(path)!r} names no report: it ends in {', '.join(FORMATS)}")
    if path.suffix == ".html":
        from pytest_ctxguard.report.html.drawing import require_drawing

        require_drawing()
    return found


def _json(run: Run) -> str:
    from pytest_ctxguard.report.json_file import dumps

    return dumps(run, indent=1) + "\n"


def _html(run: Run) -> str:
    from pytest_ctxguard.report.html import render_html

    return render_html(run)


def _markdown(run: Run) -> str:
    from pytest_ctxguard.report.markdown import markdown

    return markdown(run)


FORMATS: Mapping[str, Renderer] = {".json": _json, ".md": _markdown, ".html": _html}
"""Suffix -> renderer; each imports its own libraries when it is used."""
