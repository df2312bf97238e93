from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_ctxguard.checks.catalogue import CHECKS, RECALL_CHECKS
from pytest_ctxguard.checks.estimator import EstimatorBound
from pytest_ctxguard.plugin import fixtures, names
from pytest_ctxguard.plugin.settings.settings import read_settings
from pytest_ctxguard.plugin.settings.table import SETTINGS
from tests.plugin.project import UPDATE, Project

PLAIN = "def test_plain(): pass"


def usage(kind: type[Any]) -> str:
    """Return a marker's signature as its check's dataclass fields have it."""
    parts = [
        "*facts"
        if field.name == "fact"
        else field.name
        if field.default is dataclasses.MISSING
        else f"{field.name}={field.default!r}".replace("'", '"')
        for field in dataclasses.fields(kind)
    ]
    return f"{kind.marker}({', '.join(parts)})"


def test_every_check_is_a_registered_marker_with_its_own_signature() -> None:
    cassette = "ctx_cassette(name=None, ignore=(), also=(), record=None)"
    laws = "ctx_policy_laws(policy=None, declares=(), …)"  # holds a policy, not a replay
    expected = {usage(kind) for kind in (*CHECKS.values(), *RECALL_CHECKS.values())}
    expected.add(usage(EstimatorBound))
    expected |= {"ctx_transcripts(*patterns)", cassette, laws}

    assert set(names.MARKERS) == expected


def test_the_guarded_fixtures_are_those_the_plugin_defines() -> None:
    defined = [name for name in vars(fixtures) if name.startswith("ctx_")]

    assert sorted(names.FIXTURE_NAMES) == sorted(defined)


def test_markers_are_listed(project: Project) -> None:
    text = project.run("--markers").text

    for signature, meaning in names.MARKERS.items():
        assert f"@pytest.mark.{signature}: {meaning}" in text


def test_help_lists_every_option_and_ini_key(project: Project) -> None:
    text = project.run("--help").text

    for row in SETTINGS:
        if row.option:
            assert re.search(rf"^  {row.option}( |=|$)", text, re.MULTILINE)
        if row.ini:
            assert re.search(rf"^  {row.ini} \(", text, re.MULTILINE)


@pytest.mark.parametrize("key", ["controls", "counter"])
def test_what_is_ini_only_is_no_option(project: Project, key: str) -> None:
    result = project.with_test(PLAIN).run("--ctxguard", f"--ctxguard-{key}=all")

    assert result.exit == pytest.ExitCode.USAGE_ERROR
    assert f"unrecognized arguments: --ctxguard-{key}=all" in result.text


def test_no_option_swallows_a_path(project: Project) -> None:
    one = project.with_test(PLAIN, module="test_one").with_test(PLAIN, module="test_two")

    for option in ("--ctxguard-update", "--ctxguard-update-new", "--ctxguard-fresh"):
        assert one.run("--ctxguard", option, "test_one.py").outcomes == {"passed": 1}


@pytest.mark.parametrize("name", ["report", "report.txt", "report.HTML", "out/.json", ".md"])
def test_a_report_with_another_suffix_is_a_usage_error(project: Project, name: str) -> None:
    result = project.with_test(PLAIN).run("--ctxguard", f"--ctxguard-report={name}")

    assert result.exit == pytest.ExitCode.USAGE_ERROR
    assert f"--ctxguard-report: {name!r} names no report" in result.text
    assert "it ends in .json, .md, .html" in result.text


def test_reports_are_relative_to_where_pytest_is_called(pytester: pytest.Pytester) -> None:
    asked = [f"--ctxguard-report={name}" for name in ("a.json", "b/c.md", "/d.html", "a.json")]

    found = read_settings(pytester.parseconfig("-pctxguard", *asked)).reports

    assert found == (pytester.path / "a.json", pytester.path / "b/c.md", Path("/d.html"))


@pytest.mark.parametrize(
    "other", ["--ctxguard-update-new", "--ctxguard-compare=main"], ids=["new", "compare"]
)
def test_two_that_exclude_each_other_are_a_usage_error(project: Project, other: str) -> None:
    result = project.with_test(PLAIN).run(*UPDATE, other)

    assert result.exit == pytest.ExitCode.USAGE_ERROR
    assert "give one of them" in result.text


def test_what_compares_records_nothing_new_either(project: Project) -> None:
    asked = ("--ctxguard", "--ctxguard-update-new", "--ctxguard-compare=main")

    result = project.with_test(PLAIN).run(*asked)

    assert result.exit == pytest.ExitCode.USAGE_ERROR
    assert "--ctxguard-update-new writes the baseline" in result.text


@pytest.mark.parametrize(
    "option", ["--ctxguard-update", "--ctxguard-update-new", "--ctxguard-compare=main"]
)
def test_what_needs_the_guard_is_refused_without(project: Project, option: str) -> None:
    result = project.with_test(PLAIN).run(option)

    assert result.exit == pytest.ExitCode.USAGE_ERROR
    assert f"{option.partition('=')[0]} needs --ctxguard: give both" in result.text


@pytest.mark.parametrize("option", ["--ctxguard-update", "--ctxguard-update-new"])
def test_an_update_in_ci_is_refused_unless_ini_allows_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setenv("CI", "true")
    plain = project.with_test(PLAIN)

    refused = plain.run("--ctxguard", option)
    allowed = plain.run("--ctxguard", option, "-o", "ctxguard_update_in_ci=true")

    assert refused.exit == pytest.ExitCode.USAGE_ERROR
    assert f"{option} in CI would accept whatever was measured" in refused.text
    assert "-o ctxguard_update_in_ci=true" in refused.text
    assert allowed.outcomes == {"passed": 1}


def test_what_is_no_update_runs_in_ci(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    result = project.with_test(PLAIN).run("--ctxguard", "--ctxguard-report=r.json")

    assert result.outcomes == {"passed": 1}


@pytest.mark.parametrize(
    ("arguments", "ini", "line"),
    [
        ([], {}, "model qwen2.5-coder-0.5b-instruct (default)"),
        ([], {"ctxguard_model": "a.gguf"}, "model a.gguf (ini ctxguard_model)"),
        (
            ["--ctxguard-model=b.gguf"],
            {"ctxguard_model": "a.gguf"},
            "model b.gguf (--ctxguard-model)",
        ),
        (["--ctxguard-tier=structure"], {}, "structure tier, no model"),
    ],
    ids=["default", "ini", "option", "structure"],
)
def test_the_header_says_which_model_and_why(
    project: Project, arguments: list[str], ini: dict[str, str], line: str
) -> None:
    text = project.with_test(PLAIN).with_ini(**ini).run("--ctxguard", *arguments).text

    assert f"ctxguard: counter qwen2.5; {line}\n" in text


def test_the_header_says_when_the_baseline_is_rewritten(project: Project) -> None:
    text = project.with_test(PLAIN).run("--ctxguard", "--ctxguard-update").text

    assert "model qwen2.5-coder-0.5b-instruct (default); updating\n" in text


def test_another_seed_is_said(project: Project) -> None:
    tested = project.with_test(
        "def test_it(ctx_replay): ctx_replay('mini', SlidingWindow(3), expect_identity=True)"
    )
    note = "samples were drawn anew, with --ctxguard-seed -7"

    assert note in tested.run("--ctxguard", "--ctxguard-seed=-7").section
    assert "drawn anew" not in tested.run("--ctxguard", "--ctxguard-seed=0").section


def test_a_seed_is_a_whole_number(project: Project) -> None:
    result = project.run("--ctxguard", "--ctxguard-seed=1.5")

    assert result.exit == 4
    assert "--ctxguard-seed: invalid int value: '1.5'" in result.text
