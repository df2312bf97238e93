"""The options both benchmarks share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import ENGINES
from benchmarks.worker import Settings
from pytest_ctxguard.cache import cache_folder
from pytest_ctxguard.engine.models.sources import CODER

CONTEXT_STEP = 256


def add_options(parser: argparse.ArgumentParser, *, engines: Sequence[str]) -> None:
    """Declare the options; ``engines`` are those run by default."""
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--quick", action="store_true", help="a small part, once")
    parser.add_argument(
        "--engines",
        type=_names,
        default=list(engines),
        help=f"comma-separated, of {', '.join(ENGINES)}; default {','.join(engines)}",
    )
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="the interpreter that has an engine's library; repeatable; default this one",
    )
    default = cache_folder() / CODER.name / "model.gguf"
    parser.add_argument("--gguf", type=Path, default=default, help="the weights of all engines")
    parser.add_argument(
        "--work",
        type=Path,
        default=cache_folder() / "benchmarks",
        help="where other forms of the weights are kept",
    )
    parser.add_argument("--threads", type=int, default=2, help="of every engine")


def settings_from(options: argparse.Namespace, *, context: int) -> Settings:
    """Return what every engine is opened with; exits when the weights are not there."""
    if not options.gguf.exists():
        raise SystemExit(f"{options.gguf} is not there; run pytest-ctxguard fetch, or give --gguf")
    return Settings(
        module="",
        variant="",
        gguf=str(options.gguf.absolute()),
        work=str(options.work.absolute()),
        threads=options.threads,
        context=-(-context // CONTEXT_STEP) * CONTEXT_STEP,
    )


def _names(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in ENGINES:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(ENGINES)}")
    return names
