"""Measure the experiments of docs/field-notes.md again, and write that page.

``python benchmarks/field_notes.py``: about half an hour on two cores. Every experiment is a public
command; what each printed is kept in ``benchmarks/notes/*.json``, and the page is rendered from
those files alone (``--render``: only that). ``--only NAME`` measures one of them anew.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

HERE = Path(__file__).parent
NOTES = HERE / "notes"
TEMPLATE = NOTES / "field-notes.md.j2"
PAGE = HERE.parent / "docs" / "field-notes.md"

RECALL = ("pytest-ctxguard", "recall", "run", "--fresh", "--json")
EXPERIMENTS: Mapping[str, Sequence[str]] = {
    "position": (*RECALL, "--records", "25", "--depths", "9", "--trials", "32"),
    "length": (*RECALL, "--records", "1,3,8,25,50,90,140", "--depths", "0.5", "--trials", "20"),
    "look-alikes-0": (
        *RECALL, "--records", "25", "--depths", "0.5", "--trials", "32", "--look-alikes", "0",
    ),
    "buckets": ("pytest-ctxguard", "buckets", "incident-40", "--json"),
    "tools": ("pytest-ctxguard", "tools", "incident-40", "--json"),
    "policies": (
        "pytest-ctxguard", "table", "incident-40", "--policies", "all", "--fresh",
        "--json",
    ),
    "drift": (
        "pytest-ctxguard", "drift", "incident-40", "--budget", "3000", "--fresh",
        "--json",
    ),
    "next-steps": ("python", "benchmarks/next_steps.py"),
    "flips": ("python", "benchmarks/flips.py", "--depths", "3", "--trials", "12", "--json"),
}  # fmt: skip
"""Name -> the command; programs are those beside this Python."""


def measure(name: str) -> None:
    """Run one experiment and keep what it printed, with the seconds it took."""
    program, *rest = EXPERIMENTS[name]
    command = [str(Path(sys.executable).with_name(program)), *rest]
    started = time.monotonic()
    done = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, check=True)
    kept = {
        "command": " ".join(EXPERIMENTS[name]),
        "seconds": round(time.monotonic() - started),
        "result": _without_trials(json.loads(done.stdout)),
    }
    text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
    (NOTES / f"{name}.json").write_text(text, encoding="utf-8")


def _without_trials(result: dict[str, Any]) -> dict[str, Any]:
    """Leave the single trials out: their recipes and the seed rebuild them."""
    cells = [{k: v for k, v in c.items() if k != "trials"} for c in result.get("cells", ())]
    return {**result, "cells": cells} if cells else result


def render() -> str:
    """Return the page of what is kept."""
    kept = {
        path.stem.replace("-", "_"): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(NOTES.glob("*.json"))
    }
    environment = jinja2.Environment(  # noqa: S701 - Markdown of our own figures
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["percent"] = lambda share: f"{share:.0%}".replace("%", " %")
    environment.filters["n"] = lambda number: f"{number:,}"
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(kept)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--render", action="store_true", help="measure nothing")
    parser.add_argument("--only", action="append", choices=list(EXPERIMENTS), metavar="NAME")
    options = parser.parse_args(arguments)
    for name in [] if options.render else options.only or EXPERIMENTS:
        print(f"{name} …", file=sys.stderr, flush=True)
        measure(name)
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
