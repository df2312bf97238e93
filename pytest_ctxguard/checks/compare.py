"""One metric against the baseline: the states every gated check shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pytest_ctxguard.baseline import Metric, State, differing
from pytest_ctxguard.checks.finding import Finding

NUMERICS = "numerics"
NEAR_TIES = "only the numerics differ from the baseline's, so near-ties may have flipped"


class Against(Protocol):
    """What a metric is judged against, as :class:`~pytest_ctxguard.checks.promise.Case` has it."""

    @property
    def recorded(self) -> Callable[[], Mapping[str, Metric]]:
        """Gives metric name -> the baseline's value."""
        ...

    @property
    def require_recorded(self) -> bool:
        """Whether a metric missing from the baseline fails."""
        ...

    @property
    def updating(self) -> bool:
        """Whether the baseline is rewritten: then nothing that it says fails."""
        ...

    @property
    def record(self) -> str:
        """The command that records what was measured for the first time."""
        ...

    @property
    def accept(self) -> str:
        """The command that accepts what was measured in place of what is recorded."""
        ...

    def place(self, *parts: str) -> str:
        """Return a finding's *where*, ending in these parts."""
        ...


@dataclass(frozen=True, slots=True)
class Standing:
    """What the baseline says of a metric before the values are compared.

    Attributes:
        old: the recorded metric, when it can be compared.
        state: ``new`` or ``incomparable`` when it cannot, else ``unchanged`` until the values are
            compared.
        finding: what is wrong with that, if anything.
        differing: fields of the fingerprint in which it differs from the baseline's.
    """

    old: Metric | None = None
    state: State = "unchanged"
    finding: Finding | None = None
    differing: tuple[str, ...] = ()

    @property
    def numerics_differ(self) -> bool:
        """Whether only the arithmetic differs (another processor or runtime)."""
        return self.differing == (NUMERICS,)


def standing(case: Against, marker: str, *, name: str, metric: Metric) -> Standing:
    """Look a metric up in the baseline and say whether it can be compared."""
    old = case.recorded().get(name)
    if old is None:
        return Standing(state="new", finding=_missing(case, marker, name=name, metric=metric))
    fields = differing(old.fingerprint, metric.fingerprint)
    if set(fields) - {NUMERICS}:
        return Standing(
            state="incomparable",
            finding=Finding(
                rule=f"{marker}.incomparable",
                what=f"{name} cannot be compared with the baseline",
                where=case.place(),
                measured=f"{metric.value}, with " + _fields(metric, fields),
                allowed=f"{old.value}, with " + _fields(old, fields),
                why="the two values were not measured with the same instrument",
                remedy=f"undo the change of {', '.join(fields)}, or accept: {case.accept}",
                baseline=True,
            ),
            differing=fields,
        )
    return Standing(old=old, differing=fields)


def _missing(case: Against, marker: str, *, name: str, metric: Metric) -> Finding | None:
    if not case.require_recorded:
        return None
    return Finding(
        rule=f"{marker}.new",
        what=f"{name} is not in the baseline",
        where=case.place(),
        measured=str(metric.value),
        allowed="a recorded value, since CI is set",
        why="without one, a later regression could not be seen",
        remedy=f"record it and commit the file: {case.record}",
        baseline=True,
    )


def standing_findings(against: Against, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings that stand: all, or while the baseline is rewritten those not of it."""
    return tuple(each for each in findings if not (against.updating and each.baseline))


def _fields(metric: Metric, fields: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {metric.fingerprint.get(name, 'unset')}" for name in fields)
