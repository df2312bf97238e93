"""The option ``--counter`` of the commands that count tokens."""

from __future__ import annotations

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
