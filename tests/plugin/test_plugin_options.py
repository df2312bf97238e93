from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pytest_ctxguard.checks.catalogue import CHECKS, RECALL_CHECKS
from pytest_ctxguard.checks.estimator import EstimatorBound
from pytest_ctxguard.plugin import fixtures, names
from tests.plugin.project import Project

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

    for name in ("", "-update", "-tier", "-inconclusive", "-model", "-fresh", "-seed"):
        assert f"  --ctxguard{name}" in text
    for key in ("ctxguard_model", "ctxguard_fetch", "ctxguard_transcripts"):
        assert f"  {key} (" in text


def test_no_option_swallows_a_path(project: Project) -> None:
    one = project.with_test(PLAIN, module="test_one").with_test(PLAIN, module="test_two")

    result = one.run("--ctxguard", "--ctxguard-update", "test_one.py")

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


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("ctxguard_fetch", "maybe", "it may be auto or never"),
        ("ctxguard_special_tokens", "act", "it may be data or parse"),
        ("ctxguard_prefix_cache", "2GB", "it is a whole number of megabytes"),
    ],
)
def test_an_impossible_ini_value_is_a_usage_error(
    project: Project, key: str, value: str, told: str
) -> None:
    result = project.with_test(PLAIN).with_ini(**{key: value}).run("--ctxguard")

    assert result.exit == pytest.ExitCode.USAGE_ERROR
    assert f"{key} is '{value}'; {told}" in result.text


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
