"""Options, ini keys and markers; and the one place that decides which of them counts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

MARKERS: Mapping[str, str] = {
    'ctx_wellformed(provider="openai")': "every request is one the provider accepts",
    "ctx_budget(limit)": "every request has at most this many tokens; the policy's budget, too",
    'ctx_carried(*facts, at="probe")': "the facts' values are in every probe request",
    'ctx_absent(*facts, at="probe")': "the facts' values are in no probe request",
    "ctx_answered(*facts, at_least=1, max_lost=0)": "the model answers this many wordings",
    "ctx_token_cost(max_increase=0.0)": "billed input tokens against the baseline",
    "ctx_transcripts(*patterns)": "parametrise ctx_transcript with the transcripts that match",
}
MARKER_NAMES = tuple(usage.partition("(")[0] for usage in MARKERS)
FIXTURE_NAMES = ("ctx_replay", "ctx_server", "ctx_transcript")


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
        "--ctxguard-model",
        metavar="NAME",
        help="Model name, GGUF file or converted folder (overrides ini ctxguard_model).",
    )
    group.addoption(
        "--ctxguard-endpoint",
        metavar="URL",
        help="Ask this chat-completions endpoint instead of a model in process (overrides ini "
        "ctxguard_endpoint); its key is the environment's CTXGUARD_ENDPOINT_KEY.",
    )
    parser.addini("ctxguard_endpoint", "Chat-completions endpoint that answers.", default="")
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
        "ctxguard_transcripts", "Folders of your own transcripts.", type="paths", default=[]
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """What this run was asked for, command line before ini before default."""

    update: bool
    tier: Literal["structure", "model"]
    tolerate_inconclusive: bool
    model: str
    model_reason: str
    endpoint: str
    endpoint_reason: str
    fetch: bool
    special_tokens: Literal["data", "parse"]
    prefix_cache: int
    transcripts: tuple[Path, ...]
    in_ci: bool
    workers: int


def read_settings(config: pytest.Config) -> Settings:
    """Decide every setting of this run.

    Raises:
        pytest.UsageError: a value is not one of those allowed.
    """
    fetch = _one_of(config, "ctxguard_fetch", ("auto", "never"))
    special_tokens = _one_of(config, "ctxguard_special_tokens", ("data", "parse"))
    model, model_reason = _choose(config, "model")
    endpoint, endpoint_reason = _choose(config, "endpoint")
    worker = is_worker(config)
    return Settings(
        update=config.getoption("ctxguard_update"),
        tier=config.getoption("ctxguard_tier"),
        tolerate_inconclusive=config.getoption("ctxguard_inconclusive") == "warn",
        model=model,
        model_reason=model_reason,
        endpoint=_checked(endpoint),
        endpoint_reason=endpoint_reason,
        fetch=fetch == "auto" and not worker,
        special_tokens=special_tokens,
        prefix_cache=_megabytes(config, "ctxguard_prefix_cache"),
        transcripts=tuple(config.getini("ctxguard_transcripts")),
        in_ci=os.environ.get("CI", "").lower() not in ("", "0", "false"),
        workers=int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")),
    )


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


def _choose(config: pytest.Config, name: str) -> tuple[str, str]:
    """Return a setting's value and where it comes from, the command line before ini."""
    option, ini = config.getoption(f"ctxguard_{name}"), config.getini(f"ctxguard_{name}")
    reason = f"--ctxguard-{name}" if option else f"ini ctxguard_{name}" if ini else "default"
    return option or ini or "", reason


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


def is_guarded(item: pytest.Item) -> bool:
    """Tell whether a test has a ctx mark or uses a ctx fixture.

    Any mark that begins with ``ctx_`` counts, so that a misspelt one is noticed.
    """
    return any(mark.name.startswith("ctx_") for mark in item.iter_markers()) or any(
        name in FIXTURE_NAMES for name in getattr(item, "fixturenames", ())
    )
