"""``ctx_estimator``: a token estimator errs neither low nor high beyond stated bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Tier
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.corpus.kinds import kinds as all_kinds
from pytest_ctxguard.tokens.corpus.texts import scripts as all_scripts
from pytest_ctxguard.tokens.estimates.asking import shown
from pytest_ctxguard.tokens.estimates.audit import Audit, Comparison, Direction, Error
from pytest_ctxguard.tokens.estimates.properties import Broken
from pytest_ctxguard.tokens.estimates.references import Against, check_against, reference_name
from pytest_ctxguard.tokens.estimates.samples import chosen, shapes

MARKER = "ctx_estimator"
REQUIRED = ("against", "max_under", "max_over")
OPTIONAL = ("scripts", "kinds")
USAGE = f'{MARKER}(against="qwen2.5", max_under=0.0, max_over=1.5, scripts=None, kinds=None)'
SHOWN = 40  # characters of an example
LISTED = 5  # further names

WHY: Mapping[Direction, str] = {
    "under": "a request that the estimate lets through is refused, or cut",
    "over": "context is cleared, and sessions compacted, long before they must be",
}
PROPERTY_WHY: Mapping[str, str] = {
    "accepts": "a tool's output decides whether the agent can count at all",
    "repeats": "the same request fits, or does not, by chance",
    "grows": "a trigger that watches the estimate goes off late, or never",
    "adds-up": "what is cut is not what the estimate says is won",
    "reads-blocks": "the same message has two sizes, by how it was stored",
    "prices-images": "a screenshot is taken for a book, or a book for a screenshot",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorBound:
    """What a test promises about estimators, against one counter.

    Attributes:
        against: the counter.
        max_under: share of a text's tokens that its estimate may miss, below 1.
        max_over: what it may have too much, as a share of them: 1.5 allows two and a half times.
        scripts: the scripts that are judged; ``None``: all.
        kinds: the kinds, and shapes of messages, that are judged; ``None``: all.
    """

    marker: ClassVar[str] = MARKER
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = USAGE

    against: Against
    max_under: float
    max_over: float
    scripts: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None

    @property
    def subject(self) -> str:
        """Name the counter."""
        return reference_name(self.against)

    def judge(self, audit: Audit) -> Judgement:
        """Judge the errors of every text by the bounds.

        Raises:
            UsageError: none of the audit's texts is judged.
        """
        judged = self._judged(audit)
        findings = [self._raised(audit, judged)]
        findings += [self._beyond(audit, judged, direction) for direction in WHY]
        low, high = (judged.beyond(direction, bound=0.0) for direction in ("under", "over"))
        return Judgement(
            f"estimator({self.subject})",
            f"of {len(judged.errors)} texts {len(low)} low{_worst(low, 'under')}, "
            f"{len(high)} high{_worst(high, 'over')}",
            tuple(finding for finding in findings if finding),
        )

    def _judged(self, audit: Audit) -> Comparison:
        whole = audit.against(self.subject)
        kept = tuple(error for error in whole.errors if self._covers(error))
        if not kept:
            raise UsageError(
                f"{MARKER}: an estimator that takes {audit.takes} has no text of "
                f"scripts={self.scripts} or kinds={self.kinds}; nothing would be judged"
            )
        return Comparison(whole.against, kept, whole.asked, whole.reference)

    def _covers(self, error: Error) -> bool:
        wanted = self.scripts if error.sample.group == "script" else self.kinds
        return wanted is None or error.sample.name in wanted

    def _raised(self, audit: Audit, judged: Comparison) -> Finding | None:
        raised = [error for error in judged.errors if error.estimated is None]
        if not raised:
            return None
        return Finding(
            rule=f"{MARKER}.raised",
            what=f"{audit.estimator} raises on {len(raised)} of {len(judged.errors)} texts",
            where=_names(raised),
            measured=raised[0].raised,
            allowed="a number for any text",
            why=PROPERTY_WHY["accepts"],
            remedy="count such text as what it is: text",
        )

    def _beyond(self, audit: Audit, judged: Comparison, direction: Direction) -> Finding | None:
        bound = self.max_under if direction == "under" else self.max_over
        found = judged.beyond(direction, bound=bound)
        found = tuple(error for error in found if error.estimated is not None)
        if not found:
            return None
        worst = found[0]
        share = getattr(worst, direction)
        return Finding(
            rule=f"{MARKER}.{direction}",
            what=f"{audit.estimator} {direction}estimates {len(found)} of {len(judged.errors)} "
            f"texts, {worst.sample.label} by {share:.0%}",
            where=f"against {self.subject}: {_names(found)}",
            measured=f"{shown(worst.estimated)} estimated, {worst.measured:,} counted"
            + _example(judged, direction, bound=bound),
            allowed=f"{bound:.0%} {direction}, on every text",
            why=WHY[direction],
            remedy=self._remedy(direction, share),
        )

    def _remedy(self, direction: Direction, share: float) -> str:
        accepted = math.ceil(share * 100) / 100
        ways = ["judge only the scripts= and kinds= you send"]
        if direction == "over" or accepted < 1:
            ways.insert(0, f"accept it: max_{direction}={accepted:g}")
        if isinstance(self.against, str):
            fit = f"`pytest-ctxguard estimate fit --against {self.against}`"
            ways.insert(0, f"take constants that {fit} proposes")
        return "; or ".join(ways)


def make_bounds(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[EstimatorBound, ...]:
    """Return what a mark promises, one for each counter.

    Raises:
        UsageError: an argument is missing, unknown or impossible.
    """
    missing = [name for name in REQUIRED if name not in kwargs]
    unknown = [name for name in kwargs if name not in (*REQUIRED, *OPTIONAL)]
    if args or missing or unknown:
        wrong = (
            f"takes its arguments by name, not {args[0]!r}"
            if args
            else f"has no argument {unknown[0]!r}"
            if unknown
            else f"needs {' and '.join(missing)}: a bound on one side alone rewards the other error"
        )
        raise UsageError(f"{MARKER} {wrong}. Usage: {USAGE}")
    below = _bound("max_under", kwargs["max_under"])
    if below >= 1:
        raise UsageError(
            f"{MARKER}: max_under={below!r} allows an estimate of 0; it is a share of the tokens, "
            "below 1"
        )
    scripts, kinds = kwargs.get("scripts"), kwargs.get("kinds")
    if scripts is not None:
        scripts = chosen(scripts, all_scripts(), what=f"{MARKER}: scripts")
    if kinds is not None:
        kinds = chosen(kinds, (*all_kinds(), *shapes()), what=f"{MARKER}: kinds")
    if scripts == kinds == ():
        raise UsageError(f"{MARKER}: scripts=() and kinds=() leave nothing to judge")
    return tuple(
        EstimatorBound(
            against=each,
            max_under=below,
            max_over=_bound("max_over", kwargs["max_over"]),
            scripts=scripts,
            kinds=kinds,
        )
        for each in check_against(kwargs["against"])
    )


def judge_properties(audit: Audit) -> Judgement:
    """Judge what holds for every estimator, whatever its bounds."""
    return Judgement(
        "estimator(properties)",
        f"{len(audit.broken)} broken",
        tuple(_broken(audit, each) for each in audit.broken),
    )


def _broken(audit: Audit, broken: Broken) -> Finding:
    return Finding(
        rule=f"{MARKER}.{broken.name}",
        what=f"{audit.estimator} is no estimator of {audit.takes}: {broken.name} does not hold",
        where=broken.where,
        measured=broken.measured,
        allowed=broken.allowed,
        why=PROPERTY_WHY[broken.name],
        remedy="see docs/estimators.md for what each property asks",
    )


def _bound(name: str, value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0:
        raise UsageError(f"{MARKER}: {name}={value!r} is no share; give a number, 0 or more")
    return float(value)


def _worst(errors: Sequence[Error], direction: Direction) -> str:
    if not errors:
        return ""
    return f" (worst {getattr(errors[0], direction):.0%}, {errors[0].sample.label})"


def _names(errors: Sequence[Error]) -> str:
    names = list(dict.fromkeys(error.sample.label for error in errors))
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def _example(judged: Comparison, direction: Direction, *, bound: float) -> str:
    example = judged.example(direction, bound=bound)
    if example is None:
        return ""
    text = ascii(example.text) if not example.text.isprintable() else repr(example.text)
    if len(example.text) > SHOWN:
        text = f"{len(example.text)} characters, from {example.text[:SHOWN]!r}"
    return f"; in short, {text}: {shown(example.estimated)} and {example.measured:,}"
