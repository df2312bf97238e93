"""Ini keys as text and with their types, in every file that pytest reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_ctxguard.plugin.settings.settings import Settings, read_settings
from pytest_ctxguard.plugin.settings.table import SETTINGS

NATIVE = pytest.mark.skipif(pytest.version_tuple < (9,), reason="native TOML came with pytest 9")


class Written(NamedTuple):
    """An ini key's value as text and in TOML, and what a run makes of it."""

    text: str
    toml: str
    meant: Any  # a path is given relative to the file


WRITTEN = {
    "model": Written("a.gguf", '"a.gguf"', "a.gguf"),
    "endpoint": Written("http://h:1/v1", '"http://h:1/v1"', "http://h:1/v1"),
    "endpoint_requests": Written("3", "3", 3),
    "record": Written("once", '"once"', "once"),
    "counter": Written("http://h:2", '"http://h:2"', "http://h:2"),
    "controls": Written("all", '"all"', "all"),
    "engine": Written("each", '"each"', "each"),
    "fetch": Written("never", '"never"', False),
    "prefix_cache": Written("500", "500", 500_000_000),
    "prompts": Written("out/prompts", '"out/prompts"', Path("out/prompts")),
    "special_tokens": Written("parse", '"parse"', "parse"),
    "update_in_ci": Written("true", "true", True),
    "transcripts": Written("one 'a b'", '["one", "a b"]', (Path("one"), Path("a b"))),
    "secrets": Written("KEY TOKEN", '["KEY", "TOKEN"]', ("KEY", "TOKEN")),
    "cache_rules": Written("r.toml", '"r.toml"', Path("r.toml")),
    "prices": Written("p.toml", '"p.toml"', Path("p.toml")),
}
TEXT_FILES = {
    "pytest.ini": "[pytest]\nctxguard_{name} = {text}\n",
    "tox.ini": "[pytest]\nctxguard_{name} = {text}\n",
    "setup.cfg": "[tool:pytest]\nctxguard_{name} = {text}\n",
    "pyproject.toml": '[tool.pytest.ini_options]\nctxguard_{name} = "{text}"\n',
}
NATIVE_FILES = {
    "pytest.toml": "[pytest]\nctxguard_{name} = {toml}\n",
    "pyproject.toml": "[tool.pytest]\nctxguard_{name} = {toml}\n",
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def settings(pytester: pytest.Pytester, file: str, text: str) -> Settings:
    """Return what a run in a sub-folder reads of a file."""
    pytester.path.joinpath(file).write_text(text)
    pytester.path.joinpath("tests").mkdir()
    return read_settings(pytester.parseconfig("-pctxguard", "tests"))


def absolute(meant: Any, root: Path) -> Any:
    if isinstance(meant, Path):
        return root / meant
    return tuple(absolute(part, root) for part in meant) if isinstance(meant, tuple) else meant


def test_every_ini_key_is_written_here() -> None:
    assert {row.name for row in SETTINGS if row.ini} == set(WRITTEN)


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("file", TEXT_FILES)
def test_as_text(pytester: pytest.Pytester, file: str, name: str) -> None:
    key = WRITTEN[name]

    found = settings(pytester, file, TEXT_FILES[file].format(name=name, text=key.text))

    assert getattr(found, name) == absolute(key.meant, pytester.path)


@pytest.mark.parametrize("name", WRITTEN)
def test_with_its_type_where_pytest_makes_text_of_it(pytester: pytest.Pytester, name: str) -> None:
    key = WRITTEN[name]
    text = f"[tool.pytest.ini_options]\nctxguard_{name} = {key.toml}\n"

    found = settings(pytester, "pyproject.toml", text)

    assert getattr(found, name) == absolute(key.meant, pytester.path)


@NATIVE
@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("file", NATIVE_FILES)
def test_with_its_type(pytester: pytest.Pytester, file: str, name: str) -> None:
    key = WRITTEN[name]

    found = settings(pytester, file, NATIVE_FILES[file].format(name=name, toml=key.toml))

    assert getattr(found, name) == absolute(key.meant, pytester.path)


WRONG = {  # key -> values of another type, and what is said
    "model": (["1", "true", '["a"]'], "ctxguard_model is text"),
    "record": (["true"], "ctxguard_record is none or once or new_episodes or all"),
    "prefix_cache": (['"500"', "true", "1.5"], "ctxguard_prefix_cache is a whole number of mega"),
    "update_in_ci": (['"true"', "1"], "ctxguard_update_in_ci is true or false"),
    "transcripts": (['"one"', "[1]"], "ctxguard_transcripts is paths: a list"),
    "secrets": (['"KEY"', "[true]"], "ctxguard_secrets is names: a list"),
    "prices": (["[]", "5"], "ctxguard_prices is text"),
}


@NATIVE
@pytest.mark.parametrize(
    ("name", "toml", "told"),
    [(name, toml, told) for name, (values, told) in WRONG.items() for toml in values],
)
def test_another_type_is_a_usage_error_that_names_the_key(
    pytester: pytest.Pytester, name: str, toml: str, told: str
) -> None:
    pytester.path.joinpath("pytest.toml").write_text(f"[pytest]\nctxguard_{name} = {toml}\n")

    result = pytester.runpytest_inprocess("-pctxguard", "--ctxguard")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {told}*ctxguard_{name}*"])


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("ctxguard_update_in_ci", "perhaps", "ctxguard_update_in_ci is true or false: "),
        ("ctxguard_prefix_cache", "2GB", "ctxguard_prefix_cache is a whole number of megabytes"),
        ("ctxguard_prefix_cache", "-1", "ctxguard_prefix_cache is -1; it is a whole number of"),
        ("ctxguard_engine", "none", "ctxguard_engine is 'none'; it may be auto or shared or each"),
        ("ctxguard_controls", "some", "ctxguard_controls is 'some'; it may be usable or all"),
        ("ctxguard_record", "some", "ctxguard_record is 'some'; it may be none or once or"),
        ("ctxguard_endpoint", "h:1", "ctxguard endpoint: "),
        ("ctxguard_endpoint_requests", "0", "ctxguard_endpoint_requests is 0; it is a whole numb"),
    ],
)
def test_an_impossible_value_is_a_usage_error(
    pytester: pytest.Pytester, key: str, value: str, told: str
) -> None:
    result = pytester.runpytest_inprocess("-pctxguard", "--ctxguard", f"-o{key}={value}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert told in "\n".join(result.errlines)


def test_a_secret_that_is_too_short_is_a_usage_error(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODD_NAME", "ab")

    result = pytester.runpytest_inprocess("-pctxguard", "--ctxguard", "-octxguard_secrets=ODD_NAME")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "ini ctxguard_secrets: " in "\n".join(result.errlines)


@pytest.mark.parametrize("value", ["1", "yes", "True", "on"])
def test_the_words_that_pytest_takes_for_true(pytester: pytest.Pytester, value: str) -> None:
    config = pytester.parseconfig("-pctxguard", f"-octxguard_update_in_ci={value}")

    assert read_settings(config).update_in_ci
