"""Options and ini keys; and the one place that decides which of them counts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

DEFAULT_COUNTER = "qwen2.5"
RECORD_MODES = ("none", "once", "new_episodes", "all")  # vcrpy's names


def add_options(parser: pytest.Parser) -> None:
    """Add the command-line options and ini keys."""
    group = parser.getgroup("ctxguard", "context policies under test")
    group.addoption(
        "--ctxguard", action="store_true", help="Run the tests that guard context policies."
    )
    group.addoption(
        "--ctxguard-update",
        action="store_true",
        help="Record what the passing tests measure as the new baseline.",
    )
    group.addoption(
        "--ctxguard-tier",
        choices=("structure", "model"),
        default="model",
        help="structure: leave out the marks that need a model (default: model, all of them).",
    )
    group.addoption(
        "--ctxguard-inconclusive",
        choices=("fail", "warn"),
        default="fail",
        help="What a verdict that the data cannot decide comes to (default: fail).",
    )
    group.addoption(
        "--ctxguard-controls",
        choices=("usable", "all"),
        default="usable",
        help="Which controls are run beside the probes: those that tell whether a wording is "
        "usable, or all: full history, the fact restated, the same request twice, too "
        "(default: usable).",
    )
    group.addoption(
        "--ctxguard-seed",
        type=int,
        default=0,
        metavar="N",
        help="Draw other samples of trials; their claims must hold for any (default: 0).",
    )
    group.addoption(
        "--ctxguard-model",
        metavar="NAME",
        help="Model name, GGUF file or converted folder (overrides ini ctxguard_model).",
    )
    group.addoption(
        "--ctxguard-counter",
        metavar="NAME",
        help="What counts budgets and requests: qwen2.5, o200k, cl100k, mistral, deepseek, a "
        "tokenizer.json, or a server's URL (overrides ini ctxguard_counter).",
    )
    group.addoption(
        "--ctxguard-endpoint",
        metavar="URL",
        help="Ask this chat-completions endpoint instead of a model in process (overrides ini "
        "ctxguard_endpoint); its key is the environment's CTXGUARD_ENDPOINT_KEY.",
    )
    group.addoption(
        "--ctxguard-fresh",
        action="store_true",
        help="Ask everything anew; use no answer that an earlier run kept.",
    )
    group.addoption(
        "--ctxguard-record",
        choices=RECORD_MODES,
        help="What ctx_record does: none replays only, once records where there is no cassette, "
        "new_episodes records what is not in it, all records everything anew (overrides the mark "
        "ctx_cassette and ini ctxguard_record; default: none).",
    )
    _add_ini(parser)


def _add_ini(parser: pytest.Parser) -> None:
    parser.addini(
        "ctxguard_record", "What ctx_record does, see --ctxguard-record; not in CI.", default=""
    )
    parser.addini(
        "ctxguard_secrets",
        "Further environment variables whose values are never written to a cassette.",
        type="args",
        default=[],
    )
    parser.addini("ctxguard_endpoint", "Chat-completions endpoint that answers.", default="")
    parser.addini("ctxguard_counter", "What counts, see --ctxguard-counter.", default="")
    parser.addini("ctxguard_model", "Model name, GGUF file or converted folder.", default="")
    parser.addini(
        "ctxguard_fetch",
        "auto: fetch a missing model on first need (never in an xdist worker); never: do not.",
        default="auto",
    )
    parser.addini(
        "ctxguard_special_tokens",
        "data: content that spells a control token is text; parse: it acts, as in servers that "
        "parse it, and is a finding.",
        default="data",
    )
    parser.addini(
        "ctxguard_prefix_cache",
        "MB of computed prompts to keep on disk for the next run (default 0: none).",
        default="0",
    )
    parser.addini(
        "ctxguard_cache_rules",
        "TOML file of prompt-cache rules, beside the built-in ones and over them.",
        default="",
    )
    parser.addini("ctxguard_prices", "TOML file of prices per million tokens.", default="")
    parser.addini(
        "ctxguard_transcripts", "Folders of your own transcripts.", type="paths", default=[]
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """What this run was asked for, command line before ini before default."""

    update: bool
    tier: Literal["structure", "model"]
    tolerate_inconclusive: bool
    controls: Literal["usable", "all"]
    seed: int
    counter: str
    counter_reason: str
    model: str
    model_reason: str
    endpoint: str
    endpoint_reason: str
    fetch: bool
    special_tokens: Literal["data", "parse"]
    prefix_cache: int
    transcripts: tuple[Path, ...]
    cache_rules: Path | None
    prices: Path | None
    in_ci: bool
    record: str
    fresh: bool


def read_settings(config: pytest.Config) -> Settings:
    """Decide every setting of this run.

    Raises:
        pytest.UsageError: a value is not one of those allowed.
    """
    fetch = _one_of(config, "ctxguard_fetch", ("auto", "never"))
    special_tokens = _one_of(config, "ctxguard_special_tokens", ("data", "parse"))
    model, model_reason = _choose(config, "model")
    endpoint, endpoint_reason = _choose(config, "endpoint")
    counter, counter_reason = _choose(config, "counter")
    worker = is_worker(config)
    return Settings(
        update=config.getoption("ctxguard_update"),
        tier=config.getoption("ctxguard_tier"),
        tolerate_inconclusive=config.getoption("ctxguard_inconclusive") == "warn",
        controls=config.getoption("ctxguard_controls"),
        seed=config.getoption("ctxguard_seed"),
        counter=_counter(config, counter),
        counter_reason=counter_reason,
        model=model,
        model_reason=model_reason,
        endpoint=_checked(endpoint),
        endpoint_reason=endpoint_reason,
        fetch=fetch == "auto" and not worker,
        special_tokens=special_tokens,
        prefix_cache=_megabytes(config, "ctxguard_prefix_cache"),
        transcripts=tuple(config.getini("ctxguard_transcripts")),
        cache_rules=_file(config, "ctxguard_cache_rules"),
        prices=_file(config, "ctxguard_prices"),
        in_ci=os.environ.get("CI", "").lower() not in ("", "0", "false"),
        record=_one_of(config, "ctxguard_record", ("", *RECORD_MODES)),
        fresh=config.getoption("ctxguard_fresh"),
    )


def record_mode(config: pytest.Config, settings: Settings, *, marked: str) -> tuple[str, str]:
    """Return a test's record mode, and where it comes from.

    The command line comes first, ours before pytest-recording's; then the mark ``ctx_cassette``,
    then ini. In CI only the command line records.

    Args:
        config: the pytest configuration.
        settings: of this run.
        marked: what the test's mark says; nothing where it says nothing.
    """
    option = config.getoption("ctxguard_record")
    theirs = None
    if config.pluginmanager.hasplugin("recording"):  # pytest-recording
        theirs = config.getoption("record_mode", None)
    if option or theirs:
        reason = "--ctxguard-record" if option else "--record-mode"
        mode = option or ("all" if theirs == "rewrite" else str(theirs))
        return mode, reason
    if settings.in_ci:
        return "none", "CI, where only --ctxguard-record records"
    if marked:
        return marked, "ctx_cassette(record=…)"
    return (settings.record, "ini ctxguard_record") if settings.record else ("none", "default")


def _one_of(config: pytest.Config, key: str, allowed: tuple[str, ...]) -> Any:
    value = config.getini(key)
    if value not in allowed:
        raise pytest.UsageError(f"{key} is {value!r}; it may be {' or '.join(allowed)}")
    return value


def _megabytes(config: pytest.Config, key: str) -> int:
    """Return an ini key's size in bytes."""
    value = config.getini(key)
    if not value.isdecimal():
        raise pytest.UsageError(f"{key} is {value!r}; it is a whole number of megabytes")
    return int(value) * 1_000_000


def _file(config: pytest.Config, key: str) -> Path | None:
    """Return an ini key's path, relative to the ini file; nothing where none is set."""
    name = config.getini(key)
    if not name:
        return None
    return (config.inipath.parent if config.inipath else config.rootpath) / str(name)


def _choose(config: pytest.Config, name: str) -> tuple[str, str]:
    """Return a setting's value and where it comes from, the command line before ini."""
    option, ini = config.getoption(f"ctxguard_{name}"), config.getini(f"ctxguard_{name}")
    reason = f"--ctxguard-{name}" if option else f"ini ctxguard_{name}" if ini else "default"
    return option or ini or "", reason


def _counter(config: pytest.Config, name: str) -> str:
    """Return a counter's name, a path in the ini file relative to that file."""
    if not name or name == DEFAULT_COUNTER:
        return DEFAULT_COUNTER
    from pytest_ctxguard.errors import UsageError
    from pytest_ctxguard.tokens.counters.choosing import check_name

    beside = _file(config, "ctxguard_counter")
    if not config.getoption("ctxguard_counter") and beside is not None and beside.exists():
        return str(beside)
    try:
        return check_name(name)
    except UsageError as error:
        raise pytest.UsageError(f"ctxguard counter: {error}") from None


def _checked(endpoint: str) -> str:
    """Return an endpoint's base URL, or nothing where none is set."""
    if not endpoint:
        return ""
    from pytest_ctxguard.endpoint import base_url
    from pytest_ctxguard.errors import UsageError

    try:
        return base_url(endpoint)
    except UsageError as error:
        raise pytest.UsageError(f"ctxguard endpoint: {error}") from None


def is_worker(config: pytest.Config) -> bool:
    """Tell whether this process is an xdist worker."""
    return hasattr(config, "workerinput")


def worker_count(config: pytest.Config) -> int:
    """Return how many xdist workers this run has; 0 where tests run in this process."""
    specs = config.getoption("tx", None) or ()  # xdist's: popen, 3*popen, …
    counts = [spec.partition("*")[0] for spec in specs]
    return sum(int(count) if count.isdecimal() else 1 for count in counts)
