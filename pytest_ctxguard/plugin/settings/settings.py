"""What a run was asked for: every setting read, checked and decided."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.settings.options import dest, is_worker
from pytest_ctxguard.plugin.settings.precedence import Chosen, choose
from pytest_ctxguard.plugin.settings.table import SETTINGS, Setting, Source, setting

if TYPE_CHECKING:
    from pytest_ctxguard.tokens.counters.choosing import CounterSource

Given = Mapping[str, Mapping[Source, Any]]


@dataclass(frozen=True, slots=True)
class Settings:
    """What this run was asked for: command line before ini before default.

    Attributes:
        counters: those that conftest files add, by name.
        given: setting -> what command line and ini say of it, for :meth:`choose`.
    """

    update: bool
    update_new: bool
    compare: str
    tier: Literal["structure", "model"]
    tolerate_inconclusive: bool
    reports: tuple[Path, ...]
    model: str
    model_reason: str
    endpoint: str
    endpoint_reason: str
    endpoint_requests: int
    record: str
    seed: int
    fresh: bool
    counter: str
    counter_reason: str
    controls: Literal["usable", "all"]
    engine: Literal["auto", "shared", "each"]
    fetch: bool
    prefix_cache: int  # bytes
    prompts: Path | None
    special_tokens: Literal["data", "parse"]
    update_in_ci: bool
    transcripts: tuple[Path, ...]
    secrets: tuple[str, ...]
    cache_rules: Path | None
    prices: Path | None
    in_ci: bool
    counters: Mapping[str, CounterSource]
    given: Given

    def choose(self, name: str, *, mark: Any = None, fixture: Any = None) -> Chosen:
        """Return the value of a setting that counts for one test or call, and why.

        Args:
            name: of the setting.
            mark: what the test's mark says; ``None``: nothing.
            fixture: what the fixture's call says.
        """
        return choose(setting(name), {**self.given[name], "mark": mark, "fixture": fixture})

    def record_mode(self, *, marked: str | None) -> tuple[str, str]:
        """Return a test's record mode, and where it comes from; in CI only an option records.

        Args:
            marked: what the test's mark ``ctx_cassette`` says; ``None``: nothing.
        """
        chosen = self.choose("record", mark=marked)
        if self.in_ci and chosen.source not in ("option", "theirs"):
            return "none", "CI, where only --ctxguard-record records"
        return chosen.value, chosen.reason


def read_settings(config: pytest.Config) -> Settings:
    """Decide every setting of this run.

    Raises:
        pytest.UsageError: a value is not one of those allowed, or two of them exclude each other.
    """
    counters = _further_counters(config)
    given = {row.name: _given(config, row, counters=counters) for row in SETTINGS}
    chosen = {row.name: choose(row, given[row.name]) for row in SETTINGS}
    value = {name: each.value for name, each in chosen.items()}
    settings = Settings(
        update=value["update"],
        update_new=value["update_new"],
        compare=value["compare"],
        tier=value["tier"],
        tolerate_inconclusive=value["inconclusive"] == "warn",
        reports=value["reports"],
        model=value["model"],
        model_reason=chosen["model"].reason,
        endpoint=value["endpoint"],
        endpoint_reason=chosen["endpoint"].reason,
        endpoint_requests=value["endpoint_requests"],
        record=value["record"],
        seed=value["seed"],
        fresh=value["fresh"],
        counter=value["counter"],
        counter_reason=chosen["counter"].reason,
        controls=value["controls"],
        engine=value["engine"],
        fetch=value["fetch"] == "auto" and not is_worker(config),
        prefix_cache=value["prefix_cache"] * 1_000_000,
        prompts=value["prompts"],
        special_tokens=value["special_tokens"],
        update_in_ci=value["update_in_ci"],
        transcripts=value["transcripts"],
        secrets=value["secrets"],
        cache_rules=value["cache_rules"],
        prices=value["prices"],
        in_ci=os.environ.get("CI", "").lower() not in ("", "0", "false"),
        counters=counters,
        given=given,
    )
    _refuse_update(settings)
    return settings


def _refuse_update(settings: Settings) -> None:
    """Refuse updates that exclude each other, and those in CI unless ini allows them."""
    if settings.update and settings.update_new:
        raise pytest.UsageError(
            "--ctxguard-update records everything, --ctxguard-update-new only what is new; give "
            "one of them"
        )
    updating = "--ctxguard-update" if settings.update else "--ctxguard-update-new"
    if not (settings.update or settings.update_new):
        return
    if settings.compare:
        raise pytest.UsageError(
            f"{updating} writes the baseline, --ctxguard-compare reads another one; give one of "
            "them"
        )
    if settings.in_ci and not settings.update_in_ci:
        raise pytest.UsageError(
            f"{updating} in CI would accept whatever was measured, unseen. Run it at your desk "
            "and commit the file; or say that CI may: -o ctxguard_update_in_ci=true"
        )


def _further_counters(config: pytest.Config) -> Mapping[str, CounterSource]:
    if not config.hook.pytest_ctxguard_counters.get_hookimpls():
        return {}
    from pytest_ctxguard.plugin.further import further_counters

    try:
        return further_counters(config)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


def _given(
    config: pytest.Config, row: Setting, *, counters: Collection[str]
) -> Mapping[Source, Any]:
    """Return what command line and ini say of a setting, checked."""
    found: dict[Source, Any] = {}
    option = config.getoption(dest(row)) if row.option else None
    if option is not None and option is not False and option != "":  # the seed 0 is one
        found["option"] = _checked(config, row, option, counters=counters)
    if row.theirs and config.pluginmanager.hasplugin("recording"):  # pytest-recording
        theirs = config.getoption("record_mode", None)
        found["theirs"] = "all" if theirs == "rewrite" else theirs
    if row.ini:
        written = _ini(config, row)
        if written not in (None, "", []):
            found["ini"] = _checked(config, row, written, counters=counters)
    return found


def _ini(config: pytest.Config, row: Setting) -> Any:
    try:
        return config.getini(row.ini)
    except (TypeError, ValueError, pytest.UsageError) as error:
        raise pytest.UsageError(f"{_refused(row)}: {error}") from None


def _refused(row: Setting) -> str:
    """Return the beginning of what is said of a bad ini value."""
    kinds = {
        "flag": "true or false",
        "paths": "paths: a list, or text with spaces between them",
        "texts": "names: a list, or text with spaces between them",
    }
    return f"{row.ini} is {kinds.get(row.kind) or ' or '.join(row.allowed) or 'text'}"


def _checked(config: pytest.Config, row: Setting, value: Any, *, counters: Collection[str]) -> Any:
    """Return a value as this run uses it.

    Raises:
        pytest.UsageError: it is not one of those allowed.
    """
    name = row.ini or row.option  # pytest itself refuses an option's bad choice
    special: dict[str, Callable[[], Any]] = {
        "endpoint": lambda: _endpoint(value),
        "counter": lambda: _counter(_beside(config, value), value, further=counters),
        "endpoint_requests": lambda: _whole(row, value, least=1),
        "prefix_cache": lambda: _whole(row, value, least=0),
        "reports": lambda: _reports(config, value),
    }
    if row.kind in ("choice", "text", "path") and not isinstance(value, str):
        raise pytest.UsageError(f"{name} is {value!r}; it is text")
    if row.name in special:
        return special[row.name]()
    if row.kind == "choice" and value not in row.allowed:
        raise pytest.UsageError(f"{name} is {value!r}; it may be {' or '.join(row.allowed)}")
    if row.kind == "path":
        return _beside(config, value)
    return tuple(value) if row.kind in ("paths", "texts") else value


def _whole(row: Setting, value: int | str, *, least: int) -> int:
    text = str(value)  # text before pytest 8.4
    if not text.isdecimal() or int(text) < least:
        raise pytest.UsageError(f"{row.ini} is {value!r}; it is {row.allowed[0]}")
    return int(text)


def _beside(config: pytest.Config, name: str) -> Path:
    """Return a path of an ini file, relative to that file."""
    return (config.inipath.parent if config.inipath else config.rootpath) / name


def _reports(config: pytest.Config, names: list[str]) -> tuple[Path, ...]:
    """Return where reports are written, relative to where pytest was called."""
    from pytest_ctxguard.report.files import renderer

    for name in names:
        try:
            renderer(Path(name))
        except UsageError as error:
            raise pytest.UsageError(f"--ctxguard-report: {error}") from None
    return tuple(dict.fromkeys(config.invocation_params.dir / name for name in names))


def _counter(beside: Path, name: str, *, further: Collection[str]) -> str:
    """Return a counter's name; a path relative to the ini file is made absolute."""
    from pytest_ctxguard.tokens.counters.choosing import check_name

    if name not in further and beside.exists():
        return str(beside)
    try:
        return check_name(name, further=further)
    except UsageError as error:
        raise pytest.UsageError(f"ctxguard counter: {error}") from None


def _endpoint(url: str) -> str:
    """Return an endpoint's base URL."""
    from pytest_ctxguard.endpoint import base_url

    try:
        return base_url(url)
    except UsageError as error:
        raise pytest.UsageError(f"ctxguard endpoint: {error}") from None
