"""What each provider's prompt cache does, read from a dated file that users override."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from pytest_ctxguard.errors import InputError, UsageError
from pytest_ctxguard.prefix.sent import SECTIONS, Section

BUILT_IN = Path(__file__).with_name("rules.toml")
Match = Literal["prefix", "breakpoints", "units", "slots"]
MATCHES: tuple[Match, ...] = get_args(Match)
TEMPLATE: tuple[Section, ...] = ("system", "tools", "messages")
"""Stands for the order of the counter's own chat template."""
ORDERS: Mapping[str, tuple[Section, ...]] = {
    "tools, system, messages": SECTIONS,
    "template": TEMPLATE,
}
AUTOMATIC = ("tools", "system", "last")
VOIDING = ("tool_choice", "thinking", "effort", "images")

PROVENANCE = ("source", "seen", "dated")
COMMON = {"source", "seen", "match", "order", "read", "write", "ttl_seconds"}
USED: Mapping[Match, set[str]] = {
    "prefix": {"minimum", "granularity", "always_computed", "keeps_output"},
    "breakpoints": {"minimum", "max_marks", "look_back", "latest_marks", "automatic",
                    "void_messages"},
    "units": {"keeps_output"},
    "slots": {"slots", "similarity", "always_computed", "keeps_output"},
}  # fmt: skip
"""The fields that each kind of cache uses, beside the common ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a prompt cache does.

    Attributes:
        name: of the provider, or of a model there.
        dated: date of the file it is from.
        source: where it is written.
        seen: when that was read.
        match: ``prefix``: any beginning of an earlier request; ``breakpoints``: one that ends at a
            marked block; ``units``: all of an earlier request; ``slots``: the last request of a
            slot.
        order: of the sections in the provider's prompt.
        read: what a cached token costs, in plain tokens.
        write: what a token that goes into the cache costs.
        ttl_seconds: how long an entry is kept after its last use; ``None``: without end.
        minimum: tokens of a prefix below which it is not kept.
        granularity: tokens; only whole blocks of so many are found.
        always_computed: tokens at the end that are never read from the cache.
        keeps_output: whether the answer goes into the cache as well.
        max_marks: marks a request may have; with more it is refused.
        look_back: how many content blocks before its own a mark finds an earlier entry; ``None``:
            all.
        latest_marks: how many entries are looked at, the latest first; ``None``: all.
        automatic: where marks are put into requests without any.
        void_messages: settings whose change leaves only tools and system.
        slots: how many requests are kept.
        similarity: share of a request that a slot must have for it to be chosen.
    """

    name: str
    dated: date
    source: str
    seen: date
    match: Match
    order: tuple[Section, ...]
    read: Decimal
    write: Decimal
    ttl_seconds: float | None = None
    minimum: int = 1
    granularity: int = 1
    always_computed: int = 0
    keeps_output: bool = False
    max_marks: int | None = None
    look_back: int | None = None
    latest_marks: int | None = None
    automatic: tuple[str, ...] = field(default=AUTOMATIC)
    void_messages: tuple[str, ...] = ()
    slots: int = 1
    similarity: float = 0.0

    @property
    def identity(self) -> str:
        """All that a result depends on, for fingerprints: a rule read again is the same rule."""
        row = asdict(self)
        return ", ".join(f"{key} {row[key]}" for key in row if key not in PROVENANCE)


def load_rules(own: str | Path | None = None) -> Mapping[str, Rule]:
    """Return the built-in rules by name, and over them those of a user's own file.

    Raises:
        InputError: the file cannot be read, or a table in it is wrong; the message says which.
    """
    rules = _rules(_built_in(), BUILT_IN, known={})
    if own is None:
        return rules
    known = {name: _inherited(name, _tables(_built_in()), {}, path=BUILT_IN) for name in rules}
    return rules | _rules(_read(Path(own)), Path(own), known=known)


def find_rule(rules: Mapping[str, Rule], provider: str) -> Rule:
    """Return the rules of a provider.

    Raises:
        UsageError: there are none; the message names those there are.
    """
    if provider not in rules:
        raise UsageError(
            f"no cache rules for {provider!r}; there are: {', '.join(sorted(rules))}. Others are "
            "added by a TOML file of your own: ini ctxguard_cache_rules, or option --rules"
        )
    return rules[provider]


@cache
def _built_in() -> Mapping[str, Any]:
    return _read(BUILT_IN)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"no TOML file of cache rules: {error}", path=path) from error


def _tables(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "dated"}


def _rules(
    data: Mapping[str, Any], path: Path, *, known: Mapping[str, Mapping[str, Any]]
) -> dict[str, Rule]:
    dated = data.get("dated")
    if not isinstance(dated, date) or not _is_date(dated):
        raise InputError("needs `dated = 2026-11-30`: when the rules were read", path=path)
    tables = _tables(data)
    if not tables:
        raise InputError("has no rules; each is a table, such as [anthropic]", path=path)
    return {
        name: _rule(name, _inherited(name, tables, known, path=path), dated=dated, path=path)
        for name in tables
    }


def _rule(name: str, row: Mapping[str, Any], *, dated: date, path: Path) -> Rule:
    match = row.get("match")
    if match not in MATCHES:
        raise _wrong(path, name, f"match is {match!r}; it may be {', '.join(MATCHES)}")
    allowed = COMMON | USED[match]
    unused = sorted(set(row) - allowed)
    if unused:
        raise _wrong(
            path, name, f"{unused[0]!r} is not used with match = {match!r}; used are: "
            + ", ".join(sorted(allowed)),
        )  # fmt: skip
    needed = [f.name for f in fields(Rule) if f.name in COMMON - {"ttl_seconds"}]
    missing = [key for key in needed if key not in row]
    if missing:
        raise _wrong(path, name, f"{missing[0]!r} is missing; needed are: {', '.join(needed)}")
    for key, value in row.items():
        holds, what = CHECKS[key]
        if not holds(value):
            raise _wrong(path, name, f"{key} = {value!r} is not {what}")
    return Rule(name=name, dated=dated, **{key: _value(key, value) for key, value in row.items()})


def _inherited(
    name: str,
    tables: Mapping[str, Any],
    known: Mapping[str, Mapping[str, Any]],
    *,
    path: Path,
) -> dict[str, Any]:
    """Return a table with what it takes over from those it is like.

    One that takes the place of a built-in table may be like it.
    """
    rows: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    following: Any = name
    while following is not None:
        row = None
        if isinstance(following, str):
            row = known.get(following) if following in seen else tables.get(following)
            row = row or known.get(following)
        if not isinstance(row, Mapping):
            raise _wrong(path, name, f"like = {following!r} is no other table here")
        rows.append(row)
        seen.add(following)
        following = row.get("like")
    merged: dict[str, Any] = {}
    for row in reversed(rows):
        merged |= row
    merged.pop("like", None)
    return merged


def _value(key: str, value: Any) -> Any:
    if key in ("read", "write"):
        return Decimal(value)
    if key == "order":
        return ORDERS[value]
    if key in ("ttl_seconds", "similarity"):
        return float(value)
    return tuple(value) if isinstance(value, list) else value


def _wrong(path: Path, name: str, what: str) -> InputError:
    return InputError(f"[{name}]: {what}", path=path)


def _is_number(value: Any) -> bool:
    is_one = isinstance(value, int | Decimal) and not isinstance(value, bool)
    return is_one and Decimal(value).is_finite() and value >= 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_date(value: Any) -> bool:
    return type(value) is date


def _some_of(names: tuple[str, ...]) -> Check:
    return (
        lambda value: isinstance(value, list) and all(name in names for name in value),
        f"a list of some of {', '.join(names)}",
    )


Check = tuple[Callable[[Any], bool], str]
COUNT: Check = (_is_count, "a whole number of 1 or more")
NUMBER: Check = (_is_number, "a number of 0 or more")
TEXT: Check = (lambda value: isinstance(value, str) and bool(value.strip()), "a text")
FLAG: Check = (lambda value: isinstance(value, bool), "true or false")
CHECKS: Mapping[str, Check] = {
    "source": TEXT,
    "seen": (_is_date, "a date such as 2026-11-30"),
    "match": TEXT,
    "order": (lambda value: value in ORDERS, f"one of {', '.join(map(repr, ORDERS))}"),
    "read": NUMBER,
    "write": NUMBER,
    "ttl_seconds": NUMBER,
    "minimum": COUNT,
    "granularity": COUNT,
    "always_computed": COUNT,
    "keeps_output": FLAG,
    "max_marks": COUNT,
    "look_back": COUNT,
    "latest_marks": COUNT,
    "automatic": _some_of(AUTOMATIC),
    "void_messages": _some_of(VOIDING),
    "slots": COUNT,
    "similarity": (lambda value: _is_number(value) and value <= 1, "a share from 0 to 1"),
}
