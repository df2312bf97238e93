"""``pytest-ctxguard serve``: a chat endpoint on loopback."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_ctxguard.cli.progress import progress
from pytest_ctxguard.tokens.request import RequestEncoder

if TYPE_CHECKING:
    from pytest_ctxguard.backend import Backend
    from pytest_ctxguard.server.script import Fault

KEY = "CTXGUARD_SERVER_KEY"


@click.command()
@click.option("--model", metavar="NAME", help="Model name, GGUF file or converted folder.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0 takes a free port.")
@click.option(
    "--context-window",
    type=click.IntRange(min=1),
    metavar="N",
    help="Refuse prompts of more tokens, as the provider does; default the model's own window.",
)
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what is asked and answered as a transcript, a .jsonl file.",
)
@click.option(
    "--script",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A JSON file of fixed answers and faults; with answers, no model is loaded.",
)
@click.option("--lenient", is_flag=True, help="Accept tool calls without results, and the like.")
def serve(
    model: str | None,
    port: int,
    context_window: int | None,
    record: Path | None,
    script: Path | None,
    lenient: bool,
) -> None:
    """Serve a chat model on 127.0.0.1, in OpenAI's and Anthropic's shapes, until Ctrl-C.

    Clients must send the key in the environment variable CTXGUARD_SERVER_KEY, if it is set.
    """
    from pytest_ctxguard.server.running import Server

    encoder = RequestEncoder()
    backend, faults = _open(model, script, encoder=encoder)
    key = os.environ.get(KEY)
    server = Server(
        backend,
        encoder,
        limit=context_window,
        port=port,
        key=key,
        record=record,
        faults=faults,
        strict=not lenient,
        keep=False,
    )
    with _until_stopped(), server:
        click.echo(f"serving {backend.identity['model']} on {server.url}")
        shown = f"${KEY}" if key else "any"
        click.echo(f"  OpenAI:    OPENAI_BASE_URL={server.openai_base_url} OPENAI_API_KEY={shown}")
        click.echo(
            f"  Anthropic: ANTHROPIC_BASE_URL={server.anthropic_base_url} ANTHROPIC_API_KEY={shown}"
        )
        click.echo(f"  pytest:    --ctxguard-endpoint={server.url}")
        if record is not None:
            click.echo(f"  recording: {record}")
        click.echo("Ctrl-C stops it.")
        server.wait()


def _open(
    model: str | None, script: Path | None, *, encoder: RequestEncoder
) -> tuple[Backend, Mapping[int, Fault]]:
    """Return what answers, and the scripted faults."""
    from pytest_ctxguard.engine.open import open_backend
    from pytest_ctxguard.server.script import ScriptedAnswers, load_script

    faults: Mapping[int, Fault] = {}
    if script is not None:
        loaded = load_script(script)
        faults = loaded.faults
        if loaded.answers is not None:
            return ScriptedAnswers(loaded.answers), faults
    with progress() as report:
        return open_backend(model, encoder=encoder, fetch=True, progress=report), faults


@contextmanager
def _until_stopped() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the block quietly."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
    finally:
        signal.signal(signal.SIGTERM, before)
