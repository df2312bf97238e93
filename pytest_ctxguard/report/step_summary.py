"""The summary of a step of GitHub Actions: a file that several commands append to."""

from __future__ import annotations

from pathlib import Path

from pytest_ctxguard.report.markdown import SUMMARY_LIMIT, markdown
from pytest_ctxguard.report.run import Run


def append_summary(run: Run, path: Path) -> None:
    """Append a run to a step's summary, within what is left of it.

    Raises:
        OSError: the file cannot be written.
    """
    begun = path.stat().st_size if path.exists() else 0
    gap = "\n" if begun else ""
    text = gap + markdown(run, limit=SUMMARY_LIMIT - begun - len(gap))
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(text)
