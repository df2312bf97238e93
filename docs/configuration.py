"""Render docs/configuration.md from the table of settings: ``python -m docs.configuration``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_ctxguard.plugin.settings.table import SETTINGS, Setting

PAGE = Path(__file__).with_suffix(".md")
TEXT = """\
# Configuration

Rendered by `python -m docs.configuration` from the table that makes the options and ini keys.

## Which place counts

Command line, then mark, then the call of a fixture, then ini, then the default. A place that says \
nothing, or an empty text, is passed over. The header and the messages name the place: \
`model qwen2.5-coder-0.5b-instruct (ini ctxguard_model)`.

- Where a mark and a fixture's call give the same thing, the mark is the default of the call's \
argument: one mark, several calls. Those settings are marked *call first*; `ctx_policy_laws` does \
the same with all its arguments.
- An ini key on the command line, `-o ctxguard_counter=o200k`, is that ini key. It comes before \
the file, and after marks and calls.
- `--ctxguard-record` comes before pytest-recording's `--record-mode`. In CI (`CI` is set, and not \
`0` or `false`) neither mark nor ini makes a test record.
- In CI an update is refused unless ini `ctxguard_update_in_ci` is true.
- `--ctxguard-update`, `--ctxguard-update-new` and `--ctxguard-compare` exclude each other, and \
are refused without `--ctxguard`.
- No option takes an optional value.

## On the command line

{options}

## In ini

{inis}

As text, in `pytest.ini` (`[pytest]`), `tox.ini` (`[pytest]`), `setup.cfg` (`[tool:pytest]`), or \
`pyproject.toml`:

```toml
[tool.pytest.ini_options]
ctxguard_counter = "o200k"
ctxguard_prefix_cache = "500"
ctxguard_update_in_ci = "true"
ctxguard_transcripts = "sessions more/sessions"
```

With their types, since pytest 9, in `pytest.toml` (`[pytest]`) or `pyproject.toml`:

```toml
[tool.pytest]
ctxguard_counter = "o200k"
ctxguard_prefix_cache = 500
ctxguard_update_in_ci = true
ctxguard_transcripts = ["sessions", "more/sessions"]
```

Relative paths are relative to the file they stand in.

## In a test

{tests}
"""


def render() -> str:
    """Return the page."""
    options = (
        (f"`{' '.join(filter(None, [row.option, row.metavar]))}`", *_described(row))
        for row in SETTINGS
        if row.option
    )
    inis = (
        (f"`{row.ini}`", _type(row), *_described(row, again=row.option))
        for row in SETTINGS
        if row.ini
    )
    tests = (
        (
            row.name,
            " ".join(f"`{place}`" for place in (row.mark, row.fixture) if place),
            f"{_described(row, again=row.option or row.ini)[0]}"
            f"{' *Call first.*' if row.call_first else ''}",
        )
        for row in SETTINGS
        if row.mark or row.fixture
    )
    return TEXT.format(
        options=_table(("option", "meaning", "allowed", "default"), options),
        inis=_table(("key", "type in TOML", "meaning", "allowed", "default"), inis),
        tests=_table(("setting", "mark, argument of a call", "meaning"), tests),
    )


def _described(row: Setting, *, again: str = "") -> tuple[str, str, str]:
    """Return what a setting means, or where that stands; what is allowed; and the default."""
    see = f" ([{row.page.partition('#')[0]}]({row.page}))" if row.page else ""
    quoted = [f"`{value}`" for value in row.allowed] if row.kind == "choice" else row.allowed
    default = "" if row.default is None or row.default in ("", ()) else f"`{row.default}`".lower()
    meaning = f"see `{again}`" if again else row.help + see
    return meaning, ", ".join(quoted), default


def _type(row: Setting) -> str:
    names = {"flag": "boolean", "whole": "integer", "paths": "array", "texts": "array"}
    return names.get(row.kind, "string")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
