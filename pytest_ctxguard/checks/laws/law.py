"""What a law is, and what breaking one is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_ctxguard.checks.laws.runs import Run


@dataclass(frozen=True, slots=True)
class Broken:
    """One place where a policy breaks a law.

    Attributes:
        call: index among the calls of the run.
        what: what is wrong, short.
        measured: what was seen.
    """

    call: int
    what: str
    measured: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A promise about every request a policy makes, whatever the history.

    Attributes:
        name: in kebab-case; the rule of its finding.
        statement: the law.
        why: what breaking it costs.
        remedy: what to do.
        check: looks at one run.
        declared: whether only policies that declare it must keep it.
        budgeted: whether it only means something for a policy that takes a budget.
    """

    name: str
    statement: str
    why: str
    remedy: str
    check: Callable[[Run], Broken | None]
    declared: bool = False
    budgeted: bool = False
