"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_ctxguard.tokens.counters.choosing import NAMES

COUNTER = click.option(
    "--counter",
    "counter_name",
    default="qwen2.5",
    show_default=True,
    metavar="NAME",
    help=f"What counts: {', '.join(NAMES)}, the path of a tokenizer.json, or a server's URL.",
)
TRANSCRIPTS = click.option(
    "--transcripts",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of your own transcripts; repeatable.",
)
BUDGET = click.option("--budget", type=click.IntRange(min=1), default=4000, show_default=True)
MODEL = click.option("--model", metavar="NAME", help="Model name, GGUF file or converted folder.")
FRESH = click.option("--fresh", is_flag=True, help="Use no answers kept by earlier runs.")
