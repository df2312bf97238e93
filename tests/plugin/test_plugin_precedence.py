"""Which of several places counts, for every setting and every pair of places."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from docs import configuration
from pytest_ctxguard.plugin.settings.precedence import CALL_FIRST, ORDER, reason
from pytest_ctxguard.plugin.settings.settings import Settings, read_settings
from pytest_ctxguard.plugin.settings.table import SETTINGS, Setting, Source, setting

TEXTS = {
    "compare": ("main", "HEAD"),
    "model": ("a.gguf", "b.gguf"),
    "endpoint": ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"),
    "counter": ("qwen2.5", "http://127.0.0.1:3"),
}
OPTIONS = (
    "--ctxguard",
    "--ctxguard-update",
    "--ctxguard-update-new",
    "--ctxguard-compare",
    "--ctxguard-tier",
    "--ctxguard-inconclusive",
    "--ctxguard-report",
    "--ctxguard-model",
    "--ctxguard-endpoint",
    "--ctxguard-record",
    "--ctxguard-seed",
    "--ctxguard-fresh",
)


def two_values(row: Setting) -> tuple[Any, Any]:
    if row.kind == "choice":
        return row.allowed[0], row.allowed[1]
    return (7, 8) if row.kind == "whole" else TEXTS.get(row.name, ("a", "b"))


def places(row: Setting) -> list[Source]:
    """Return the places of a setting, the first to count first."""
    order = CALL_FIRST if row.call_first else ORDER
    has = {
        "option": row.option,
        "theirs": row.theirs,
        "mark": row.mark,
        "fixture": row.fixture,
        "ini": row.ini,
    }
    return [source for source in order if has.get(source)]


SEVERAL = [row for row in SETTINGS if len(places(row)) > 1]
PAIRS = [
    pytest.param(row, *pair, id=f"{row.name}-{pair[0]}-{pair[1]}")
    for row in SEVERAL
    for pair in combinations(places(row), 2)
]
SINGLE = [
    pytest.param(row, source, id=f"{row.name}-{source}")
    for row in SETTINGS
    if row.kind not in ("flag", "paths", "texts", "path")
    for source in places(row)
]


def chosen(pytester: pytest.Pytester, row: Setting, given: dict[Source, Any]) -> tuple[Any, str]:
    """Return what counts where these places speak: command line and ini as a run has them."""
    arguments = {
        "option": f"{row.option}={given.get('option')}",
        "theirs": f"{row.theirs}={given.get('theirs')}",
        "ini": f"-o{row.ini}={given.get('ini')}",
    }
    spoken = [arguments[source] for source in given if source in arguments]
    config = pytester.parseconfig("-pctxguard", "-precording", *spoken)
    found = read_settings(config).choose(
        row.name, mark=given.get("mark"), fixture=given.get("fixture")
    )
    return found.value, found.reason


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.mark.parametrize(("row", "first", "second"), PAIRS)
def test_of_two_places_the_earlier_counts(
    pytester: pytest.Pytester, row: Setting, first: Source, second: Source
) -> None:
    value, other = two_values(row)

    found = chosen(pytester, row, {first: value, second: other})

    assert found == (value, reason(row, first))


@pytest.mark.parametrize(("row", "source"), SINGLE)
def test_every_place_counts_where_it_speaks_alone(
    pytester: pytest.Pytester, row: Setting, source: Source
) -> None:
    values = {*two_values(row)} - {row.default}

    found = [chosen(pytester, row, {source: value}) for value in sorted(values)]

    assert found == [(value, reason(row, source)) for value in sorted(values)]


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row.name)
def test_without_any_the_default_counts(pytester: pytest.Pytester, row: Setting) -> None:
    assert chosen(pytester, row, {}) == (row.default, "default")


@pytest.mark.parametrize("row", [row for row in SEVERAL if row.ini], ids=lambda row: row.name)
def test_empty_text_says_nothing(pytester: pytest.Pytester, row: Setting) -> None:
    assert chosen(pytester, row, {"ini": ""}) == (row.default, "default")


def test_a_zero_says_something(pytester: pytest.Pytester) -> None:
    assert chosen(pytester, setting("seed"), {"option": 0, "fixture": 5})[0] == 0
    assert chosen(pytester, setting("seed"), {"fixture": 0})[1] == "ctx_recall(seed=…)"


def test_the_order_is_the_documented_one() -> None:
    assert ORDER == ("option", "theirs", "mark", "fixture", "ini", "default")
    assert {row.name for row in SETTINGS if row.call_first} == {"budget", "trials"}
    assert [row.name for row in SEVERAL] == [
        "model", "endpoint", "record", "seed", "counter", "budget", "trials"
    ]  # fmt: skip


def test_there_are_a_dozen_options() -> None:
    assert tuple(row.option for row in SETTINGS if row.option) == OPTIONS


def test_every_setting_has_a_place_and_its_own_name() -> None:
    assert all(places(row) for row in SETTINGS)
    assert len({row.name for row in SETTINGS}) == len(SETTINGS)
    keys = [row.ini for row in SETTINGS if row.ini]
    assert keys == list(dict.fromkeys(keys))
    assert all(key.startswith("ctxguard_") for key in keys)


def test_every_setting_of_the_run_is_a_field() -> None:
    of_a_test = {"guard", "budget", "trials", "inconclusive"}
    names = {row.name for row in SETTINGS} - of_a_test

    assert names <= set(Settings.__dataclass_fields__)


def test_the_page_is_rendered_from_the_table() -> None:
    assert configuration.PAGE.read_text(encoding="utf-8") == configuration.render()
