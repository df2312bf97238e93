"""The documented schema of a JSON report, and the page made from it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from docs import reports
from pytest_ctxguard.report.json_file import dumps
from pytest_ctxguard.report.run import Collection, Effort, Instruments, Run
from tests.report.runs import (
    HOSTILE,
    cell,
    change,
    fact,
    finding,
    judgement,
    metric,
    recall,
    replay,
    result,
)


def closed(document: dict[str, Any]) -> dict[str, Any]:
    """Return the schema in which a field that is not documented is an error, as one left out."""
    made = json.loads(json.dumps(document))
    for value in made["$defs"].values():
        value["additionalProperties"] = False
        value["required"] = list(value["properties"])
    return made


@pytest.fixture
def full() -> Run:
    kept = judgement(metrics={"answered.shard": metric(1, of=1, trials={"shard/1": "hit"})})
    lost = judgement("x", finding(), state="regressed")
    return Run(
        tests=(
            result("a::t", replay(kept, lost, facts=(fact(),), name=HOSTILE), note=HOSTILE),
            result("a::u", recall(kept, cells=(cell(),))),
        ),
        findings=(finding(),),
        changes=(change("stale", 1, None),),
        written=("a.json",),
        collection=Collection(guarded=("a::t",)),
        instruments=Instruments(seed=3),
        effort=Effort(notes=("x",)),
    )


def test_the_page_and_the_schema_are_what_the_values_say():
    assert reports.PAGE.read_text() == reports.render(), "run: python -m docs.reports"
    assert reports.SCHEMA.read_text() == reports.schema_text(), "run: python -m docs.reports"


def test_the_schema_is_one():
    Draft202012Validator.check_schema(reports.document())


def test_a_report_is_what_the_schema_says_and_has_no_other_field(full):
    # a value in Metric that is not set is written, too
    Draft202012Validator(closed(reports.document())).validate(json.loads(dumps(full)))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("schema",), "1"),
        (("tests", 0, "verdict"), "great"),
        (("tests", 0, "outcome"), 3),
        (("tests", 0, "subjects", 0, "replay", "billed"), "many"),
        (("changes", 0, "state"), "worse"),
        (("effort",), None),
    ],
)
def test_another_value_is_none(full, place, value):
    row = told = json.loads(dumps(full))
    *path, last = place
    for part in path:
        row = row[part]
    assert last in row or isinstance(last, int)
    row[last] = value
    assert not Draft202012Validator(reports.document()).is_valid(told)


def test_every_field_is_documented():
    for name, value in reports.document()["$defs"].items():
        for field, told in value["properties"].items():
            assert told["description"], f"{name}.{field}"
