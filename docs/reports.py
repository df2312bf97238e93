"""Render docs/reports.md and docs/report.schema.json: ``python -m docs.reports``."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_ctxguard import baseline
from pytest_ctxguard.checks import finding
from pytest_ctxguard.report import figures, run
from pytest_ctxguard.report.json_file import schema

PAGE = Path(__file__).with_suffix(".md")
SCHEMA = PAGE.with_name("report.schema.json")
MODULES = (run, figures, finding, baseline)
ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
COMPUTED: Mapping[str, Mapping[str, str]] = {
    "Run": {"verdict": "the worst of all tests and findings; what is read again computes it"},
    "Judgement": {
        "verdict": "``fail`` beats ``inconclusive`` beats ``pass``; computed from the findings",
        "state": "the worst of its states, or empty; computed",
    },
}
"""Fields that are written for readers, and not read again."""
TEXT = """\
# Reports

The part on JSON is rendered by `python -m docs.reports` from the values the reports are made of.

Every report shows one value, the run, and they agree: what a test came to, every promise about \
every transcript, policy and haystack, what changed against the baseline, and what it took.

| report | where | when |
|---|---|---|
| section of the terminal | after the failures | always; less with `-q`, more with `-v` |
| JSON | `--ctxguard-report=run.json` | when asked for |
| Markdown | `--ctxguard-report=run.md` | when asked for |
| Markdown | `$GITHUB_STEP_SUMMARY` | when that variable is set |
| HTML | `--ctxguard-report=run.html` | when asked for |
| annotations | standard output | when `GITHUB_ACTIONS` is `true` |
| properties | JUnit XML, and whatever shows `user_properties` | with `--junitxml=PATH` |
| prompts | the folder of ini `ctxguard_prompts` | when it is set and trials fail |

Only the controller writes; a worker under xdist writes the prompts of its own failed trials and \
nothing else. A file is replaced whole or not at all. A report that was asked for and cannot be \
written fails the run.

Known secrets are replaced by `SCRUBBED` in every report and prompt: the values of environment \
variables that look like secrets, of those that ini `ctxguard_secrets` names, and tokens of \
well-known form ([recording.md](recording.md)). The failure texts that pytest itself prints are \
not ours and are left as they are.

## Terminal

The verdict comes first, in one line: how many tests came to what, and what changed against the \
baseline. Then a table for each transcript with a row for each policy, one for each haystack with \
a row for each cell (Wilson's 95 % interval beside the count), a line for each broken promise with \
the command that runs that test again and the one that accepts it, the changes, notes and effort.

Tables are broken into several where the terminal is too narrow, and have more columns where it is \
wide. Where its encoding lacks a sign, ASCII takes its place. Colours follow pytest's `--color`, \
`NO_COLOR` and `FORCE_COLOR`. What fails the run as a whole and no test (a stale baseline, a \
missing shard, nothing judged) is printed after all that pytest prints.

A failing test is shown by pytest, with its findings in five parts: what; where; measured against \
allowed; why; what to do, or how to accept it. Below stands how to see it again:

<!-- block:
exit: 1
run: |
  cat > test_context.py <<'END'
  import pytest
  from pytest_ctxguard import SlidingWindow

  @pytest.mark.ctx_carried("shard")
  @pytest.mark.ctx_budget(4000)
  def test_fit(ctx_replay):
      ctx_replay("incident-40", SlidingWindow())
  END
  pytest --ctxguard --ctxguard-seed=3 --ctxguard-tier=structure test_context.py
-->

```text
replay    transcript incident-40, policy SlidingWindow, budget 4,000, tokens by qwen2.5 …
again     pytest --ctxguard --ctxguard-tier=structure --ctxguard-seed=3 test_context.py::test_fit
```

Missed wordings are named with their questions. The command repeats the options that the result \
depends on, `-o` keys among them. A missed needle comes with \
`pytest-ctxguard recall rebuild RECIPE`, which prints its uncut prompt; with \
`ctxguard_prompts = prompts` in ini what was really sent is written there, up to {most} prompts of \
a test, each under its recipe and the answer: as the model reads it where the model runs here, as \
JSON where it is an endpoint. A broken law comes with a test to paste.

## Markdown

For the summary of a step it has at most 1 MiB, less what other steps wrote there; as a file at \
most {comment:,} bytes, which a comment on a pull request may have. Beyond that whole parts are \
left out, the least important first, and the last line says how many. All text of transcripts, \
names and errors is escaped: it makes no link, mentions nobody and refers to no issue.

## Annotations

One for each failing test, at its line: an error; of what cannot be decided a warning; of a \
passing test with new or improved values a notice. GitHub shows {shown} of a kind for each step; \
the last one names those that are left out. Where pytest's root lies deeper than the repository \
(`GITHUB_WORKSPACE`), paths are mended.

## JUnit properties

A test has `ctxguard.verdict`, and of what it judged `ctxguard.transcript` (or `haystack`), \
`.policy`, `.budget` and a property for each metric; with a label, `ctxguard.policy[label]`. At \
most {properties}, all short. The findings are not in them: the failure has them.

## JSON

[report.schema.json](report.schema.json) is its JSON Schema, `schema` its version: {version}. \
Another version means that a field went, or means something else; a field may be added without \
one. Equal results have equal bytes but for `effort`. Half surrogate pairs are spelled out. \
`pytest-ctxguard merge` makes one run of several ([ci.md](ci.md)).

{tables}
"""


def render() -> str:
    """Return the page."""
    from pytest_ctxguard.report.annotations import SHOWN
    from pytest_ctxguard.report.markdown import COMMENT_LIMIT
    from pytest_ctxguard.report.prompt_files import MOST
    from pytest_ctxguard.report.properties import MOST as PROPERTIES

    return TEXT.format(
        most=MOST,
        comment=COMMENT_LIMIT,
        shown=SHOWN,
        properties=PROPERTIES,
        version=run.SCHEMA,
        tables="\n\n".join(_tables(document()["$defs"])),
    )


def document() -> dict[str, Any]:
    """Return the JSON Schema, every field with what it means.

    Raises:
        KeyError: a field's meaning is not in its class's docstring.
    """
    made = schema()
    for name, value in made["$defs"].items():
        meanings = {**_meanings(name), **COMPUTED.get(name, {})}
        value["description"] = _description(name)
        for field in COMPUTED.get(name, {}):
            value["properties"][field] = {"type": "string"}
        for field, told in value["properties"].items():
            told["description"] = meanings[field]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Run", **made}


def _tables(defined: Mapping[str, Any]) -> Iterator[str]:
    for name, value in defined.items():
        rows = [
            f"| `{field}` | {_type(told)} | {_cell(told['description'])} |"
            for field, told in value["properties"].items()
        ]
        head = f"### {name}\n\n{_cell(value['description'])}"
        yield "\n".join([head, "", "| field | type | meaning |", "|---|---|---|", *rows])


def _type(told: Mapping[str, Any]) -> str:
    if "$ref" in told:
        name = told["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in told:
        return " or ".join(map(_type, told["anyOf"]))
    if "enum" in told:
        return ", ".join(f"`{value}`" if value else "empty" for value in told["enum"])
    if told.get("type") == "array":
        return f"list of {_type(told['items'])}"
    if told.get("type") == "object":
        return f"object of {_type(told['additionalProperties'])}"
    return str(told["type"])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("``None``", "``null``").replace("``", "`")


def _class(name: str) -> type[Any]:
    return next(getattr(module, name) for module in MODULES if hasattr(module, name))


def _description(name: str) -> str:
    return inspect.getdoc(_class(name)).partition("\n")[0]  # type: ignore[union-attr]


def _meanings(name: str) -> dict[str, str]:
    told = inspect.getdoc(_class(name)) or ""
    found = ATTRIBUTE.findall(told.partition("Attributes:\n")[2])
    return {field: " ".join(text.split()) for field, text in found}


def schema_text() -> str:
    """Return the file of the JSON Schema."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    SCHEMA.write_text(schema_text(), encoding="utf-8")
