"""``pytest-ctxguard estimate``: audit a token estimator, or fit one."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import click

from pytest_ctxguard.errors import UsageError


@click.group()
def estimate() -> None:
    """Hold token estimators against exact counts."""


@estimate.command()
@click.argument("estimator", metavar="MODULE:FUNCTION")
@click.option(
    "--against", multiple=True, required=True, metavar="NAME", help="A counter; repeatable."
)
@click.option(
    "--takes",
    type=click.Choice(["text", "messages"]),
    default="text",
    show_default=True,
    help="What the function takes: one string, or a list of chat messages.",
)
@click.option("--script", "scripts", multiple=True, help="Only this script; repeatable.")
@click.option("--kind", "kinds", multiple=True, help="Only this kind of content; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def audit(
    estimator: str,
    against: tuple[str, ...],
    takes: Any,
    scripts: tuple[str, ...],
    kinds: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show the error of MODULE:FUNCTION by script and by kind of content, both ways.

    Counters: qwen2.5, o200k, cl100k, mistral, deepseek, or the path of a tokenizer.json. With
    --script or --kind only those are shown.
    """
    from pytest_ctxguard.cli.printing import show
    from pytest_ctxguard.report.tables.estimates import audit_json, render_audit
    from pytest_ctxguard.tokens.estimates.audit import audit as audited

    named = bool(scripts or kinds)
    found = audited(
        _imported(estimator),
        against=against,
        takes=takes,
        scripts=scripts if named else None,
        kinds=kinds if named else None,
    )
    if as_json:
        click.echo(json.dumps(audit_json(found), indent=2))
        return
    show(render_audit(found))


@estimate.command()
@click.option("--against", required=True, metavar="NAME", help="The counter to fit to.")
@click.option("--never-under", is_flag=True, help="Underestimate no text of the corpus.")
@click.option(
    "--margin",
    type=click.FloatRange(min=0),
    default=0.0,
    help="With --never-under: share that every estimate is above; 0.1 is a tenth.",
)
@click.option("--script", "scripts", multiple=True, help="Fit to this script; repeatable.")
@click.option("--kind", "kinds", multiple=True, help="Fit to this kind; repeatable.")
@click.option(
    "--write",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a module with the function estimate(text); it imports nothing of ours.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def fit(
    against: str,
    never_under: bool,
    margin: float,
    scripts: tuple[str, ...],
    kinds: tuple[str, ...],
    write: Path | None,
    as_json: bool,
) -> None:
    """Propose constants by script and class of characters, and say what they cost.

    They are fitted on every text, or on those that --script and --kind name. How they do where
    they are not fitted is shown on the half of each text that is held out from a second fit.
    """
    from pytest_ctxguard.cli.printing import show
    from pytest_ctxguard.report.tables.estimates import fit_json, render_fit
    from pytest_ctxguard.tokens.estimates.fitting import fit as fitted
    from pytest_ctxguard.tokens.estimates.references import references
    from pytest_ctxguard.tokens.estimates.writing import module_source

    named = bool(scripts or kinds)
    found = fitted(
        references(against)[0],
        never_under=never_under,
        margin=margin,
        scripts=scripts if named else None,
        kinds=kinds if named else None,
    )
    if write is not None:
        try:
            write.write_text(module_source(found, against=against), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--write {write}: cannot be written ({error.strerror})") from error
    if as_json:
        click.echo(json.dumps(fit_json(found, against=against), indent=2))
        return
    show(render_fit(found, against=against))
    if write is not None:
        click.echo(f"written: {write}")


def _imported(name: str) -> Any:
    """Return what ``module:function`` names; the current folder is searched first."""
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        raise UsageError(f"{name!r} is not of the form module:function")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:  # whatever their module raises
        raise UsageError(
            f"{name}: {module} cannot be imported here ({type(error).__name__}: {error})"
        ) from error
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise UsageError(f"{name}: {error}") from error
    return found
