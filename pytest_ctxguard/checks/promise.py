"""What every check shares: how a marker becomes a promise, and what it is judged with."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.finding import Judgement
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.prefix.cost import Prices
from pytest_ctxguard.prefix.rules import Rule, load_rules
from pytest_ctxguard.recall.answers import Answers
from pytest_ctxguard.replay.again import Again
from pytest_ctxguard.replay.values import Replay

Tier = Literal["structure", "model"]
RECORD = "pytest --ctxguard --ctxguard-update-new NODEID"
ACCEPT = 'pytest-ctxguard accept NODEID --reason "…"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One replay to judge, and what it is judged against.

    Attributes:
        replay: the replay.
        answers: asks the model for a fact's wordings; raises ModelError without a model.
        model: identity of the backend, for fingerprints.
        recorded: gives metric name -> the baseline's value; reads the file when first called.
        tolerate_inconclusive: whether what the data cannot decide passes.
        require_recorded: whether a metric missing from the baseline fails (in CI).
        updating: whether the baseline is rewritten, so that nothing that it says fails.
        record: the command that records what was measured for the first time.
        accept: the command that accepts what was measured in place of what is recorded.
        again: runs the replay again, with another summariser or transcript; ``None``: it cannot.
        rules: gives the rules of prompt caches, by name; reads a file of the user's when called.
        prices: gives what tokens cost, by the name of cache rules.
        promises: all that the test promises about replays.
        further: the checks that a conftest adds, by marker.
    """

    replay: Replay
    answers: Callable[[str], Answers]
    model: Callable[[], Mapping[str, str]]
    recorded: Callable[[], Mapping[str, Metric]]
    tolerate_inconclusive: bool = False
    require_recorded: bool = False
    updating: bool = False
    record: str = RECORD
    accept: str = ACCEPT
    again: Again | None = None
    rules: Callable[[], Mapping[str, Rule]] = load_rules
    prices: Callable[[], Mapping[str, Prices]] = dict
    promises: tuple[Promise, ...] = ()
    further: Mapping[str, type[Any]] = dataclasses.field(default_factory=dict)

    def place(self, *parts: str) -> str:
        """Return the five-part finding's *where*: transcript, policy, then the parts."""
        label = f" {self.replay.label!r}" if self.replay.label else ""
        first = f"transcript {self.replay.transcript.name}, policy {self.replay.policy}{label}"
        return ", ".join([first, *parts])


class Marked(Protocol):
    """What a marker makes: one frozen dataclass per marker, its fields the arguments."""

    marker: ClassVar[str]
    tier: ClassVar[Tier]
    usage: ClassVar[str]

    @property
    def subject(self) -> str:
        """What it is about; the closest mark wins per subject, other subjects stack."""
        ...


class Promise(Marked, Protocol):
    """A promise about a replay."""

    def judge(self, case: Case) -> Judgement:
        """Judge one replay."""
        ...


def judge(promise: Promise, case: Case) -> Judgement:
    """Judge one replay.

    Raises:
        UsageError: what judges it, a conftest's perhaps, returns no judgement, or one that says
            of nothing that it was looked at.
    """
    judgement: object = promise.judge(case)
    if not isinstance(judgement, Judgement):
        raise UsageError(
            f"{promise.marker}: its judge returned {judgement!r}, not a pytest_ctxguard.Judgement"
        )
    looked = judgement.requests or judgement.findings or judgement.metrics
    if promise.marker in case.further and not looked:
        raise UsageError(
            f"{promise.marker}: its judge found nothing in no request, so nothing was checked. "
            "Return Judgement(…, requests=N): how many requests it looked at"
        )
    return judgement


def describe(promise: Marked) -> str:
    """Return a promise's short name, as the report shows it."""
    name = promise.marker.removeprefix("ctx_")
    return f"{name}({promise.subject})" if promise.subject else name


def make_promises(
    kind: type[Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Promise, ...]:
    """Turn a marker's arguments into promises; a marker that names facts makes one per fact.

    Raises:
        UsageError: an unknown, missing or impossible argument; the message says the usage.
    """
    defaults = {field.name: field.default for field in dataclasses.fields(kind) if field.init}
    fields = list(defaults)
    unknown = sorted(set(kwargs) - set(fields))
    if unknown:
        raise UsageError(
            f"{kind.marker} has no argument {unknown[0]!r}; it has: {', '.join(fields)}. "
            f"Usage: {kind.usage}"
        )
    per_fact = fields[:1] == ["fact"]
    needs_fact = per_fact and defaults["fact"] is dataclasses.MISSING
    if needs_fact and not args and "fact" not in kwargs:
        raise UsageError(f"{kind.marker} names no fact. Usage: {kind.usage}")
    if args and all(field.kw_only for field in dataclasses.fields(kind) if field.init):
        raise UsageError(
            f"{kind.marker}: {args[0]!r} has no name; its arguments do: {', '.join(fields)}. "
            f"Usage: {kind.usage}"
        )
    try:
        if per_fact and args:
            return tuple(kind(fact, **kwargs) for fact in args)
        return (kind(*args, **kwargs),)
    except TypeError as error:
        what = str(error).removeprefix(f"{kind.__name__}.__init__() ")
        raise UsageError(f"{kind.marker}: {what}. Usage: {kind.usage}") from error


def require(holds: bool, kind: object, what: str) -> None:
    """Raise the usage error of a marker unless a condition holds."""
    if not holds:
        raise UsageError(f"{kind.marker}: {what}. Usage: {kind.usage}")  # type: ignore[attr-defined]


def is_count(value: object, *, least: int = 0) -> bool:
    """Tell whether an argument is an integer of at least some size."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
