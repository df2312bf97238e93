"""What a session costs with a provider's cache: in tokens, in money, and when a cut pays."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from pytest_ctxguard.errors import InputError, UsageError
from pytest_ctxguard.prefix.changes import Change
from pytest_ctxguard.prefix.rules import Rule
from pytest_ctxguard.prefix.simulate import CachedCall, Simulation

MILLION = 1_000_000
PRICES = ("input", "output", "read", "write")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a session costs, in token units: a plain input token is 1.

    Attributes:
        simulation: what its calls read and write.
    """

    simulation: Simulation

    @property
    def plain(self) -> int:
        """Input tokens that the cache does not touch."""
        return sum(call.plain for call in self.simulation.calls)

    @property
    def written(self) -> int:
        """Input tokens that go into the cache."""
        return sum(call.written for call in self.simulation.calls)

    @property
    def read(self) -> int:
        """Input tokens read from the cache."""
        return sum(call.read for call in self.simulation.calls)

    @property
    def output(self) -> int:
        """Tokens of the answers."""
        return sum(call.output for call in self.simulation.calls)

    @property
    def sent(self) -> int:
        """Input tokens, each counted once."""
        return self.plain + self.written + self.read

    @property
    def weighted(self) -> Decimal:
        """Cost of the input: plain + written x write + read x read."""
        rule = self.simulation.rule
        return self.plain + self.written * rule.write + self.read * rule.read

    @property
    def total(self) -> Decimal:
        """Cost of input and output, an output token as a plain one."""
        return self.weighted + self.output

    @property
    def misses(self) -> tuple[CachedCall, ...]:
        """The calls after the first that did not read all of the request before them."""
        return tuple(call for call in self.simulation.calls[1:] if call.miss)

    def __str__(self) -> str:
        """Say what it comes to, and by which rules."""
        rule = self.simulation.rule
        by = "" if self.simulation.level == "tokens" else "; whole messages compared"
        return (
            f"{whole(self.weighted):,} weighted input tokens ({self.plain:,} plain, "
            f"{self.written:,} written x {rule.write}, {self.read:,} read x {rule.read}; "
            f"{rule.name}, rules of {rule.dated}; {self.simulation.times}{by})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """A provider's prices, per million tokens.

    Attributes:
        input: of plain input tokens.
        output: of output tokens.
        read: of cached input tokens; ``None``: by the rules' multiplier.
        write: of input tokens that go into the cache; ``None``: likewise.
        currency: their currency.
    """

    input: Decimal
    output: Decimal
    read: Decimal | None = None
    write: Decimal | None = None
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """What taking tokens out of a cached prefix comes to.

    Attributes:
        removed: tokens that are no longer sent.
        again: tokens behind the cut that were cached and are billed again.
        extra: what that costs once, in plain tokens, beyond reading them.
        saved: what each call saves from then on, the first included.
        calls: how many calls it takes to pay; ``None``: it never does.
    """

    removed: int
    again: int
    extra: Decimal
    saved: Decimal
    calls: int | None


def break_even(removed: int, again: int, *, rule: Rule) -> BreakEven:
    """Say after how many calls a cut pays.

    Without the cut, both are read from the cache at every call. With it, what stands behind it is
    written anew at the first call, and the removed tokens are not read any more.

    Raises:
        UsageError: a number of tokens is negative.
    """
    if removed < 0 or again < 0:
        raise UsageError(f"removed={removed}, again={again}: numbers of tokens are 0 or more")
    extra, saved = again * (rule.write - rule.read), removed * rule.read
    if extra <= 0:
        calls: int | None = 1
    elif saved == 0:
        calls = None
    else:
        calls = int((extra / saved).to_integral_value("ROUND_CEILING"))
    return BreakEven(removed=removed, again=again, extra=extra, saved=saved, calls=calls)


def cuts(changes: Sequence[Change], *, uncut: Sequence[int], rule: Rule) -> Mapping[int, BreakEven]:
    """Say of each call whose prefix breaks what the cut there comes to.

    Args:
        changes: one for each call after the first.
        uncut: tokens of each call's request had nothing been cut, the first included.
        rule: the provider's rules.
    """
    found = {}
    for change, (before, now) in zip(changes, pairwise(uncut), strict=True):
        if change.breaks:
            removed = (now - change.tokens) - (before - change.before_tokens)
            again = change.tokens - change.shared_tokens - (now - before)
            found[change.call] = break_even(max(0, removed), max(0, again), rule=rule)
    return found


def money(cost: Cost, prices: Prices) -> Decimal:
    """Return what a session costs, in the prices' currency, output included."""
    rule = cost.simulation.rule
    read = prices.input * rule.read if prices.read is None else prices.read
    write = prices.input * rule.write if prices.write is None else prices.write
    total = cost.plain * prices.input + cost.written * write + cost.read * read
    return (total + cost.output * prices.output) / MILLION


def load_prices(path: str | Path) -> Mapping[str, Prices]:
    """Read prices: a currency, and a table for each provider or model with cache rules.

    Raises:
        InputError: the file cannot be read, or a table in it is wrong.
    """
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"no TOML file of prices: {error}", path=path) from error
    currency = data.pop("currency", None)
    if not isinstance(currency, str) or not currency:
        raise InputError('needs a line such as `currency = "USD"`', path=path)
    if not data:
        raise InputError("has no prices; they are a table per provider: [anthropic]", path=path)
    return {name: _prices(name, row, currency=currency, path=path) for name, row in data.items()}


def whole(weighted: Decimal) -> int:
    """Return a cost in whole tokens, halves up."""
    return int(weighted.to_integral_value(ROUND_HALF_UP))


def _prices(name: str, row: Any, *, currency: str, path: Path) -> Prices:
    if not isinstance(row, Mapping):
        raise InputError(f"{name} is no table of prices", path=path)
    unknown = sorted(set(row) - set(PRICES))
    if unknown:
        raise InputError(
            f"[{name}] has no price {unknown[0]!r}; there are: {', '.join(PRICES)}", path=path
        )
    for key in ("input", "output"):
        if key not in row:
            raise InputError(f"[{name}] needs {key!r}: the price of a million tokens", path=path)
    for key, value in row.items():
        number = isinstance(value, int | Decimal) and not isinstance(value, bool)
        if not number or not Decimal(value).is_finite() or value < 0:
            raise InputError(f"[{name}]: {key} = {value!r} is not a price", path=path)
    return Prices(currency=currency, **{key: Decimal(value) for key, value in row.items()})
