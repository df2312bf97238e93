"""What the ``ctx_policy_laws`` fixture and marker do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import pytest

from pytest_ctxguard.checks.laws.result import LawResult
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.record import TestRecord
from pytest_ctxguard.plugin.replaying import Source, of_guarded
from pytest_ctxguard.plugin.services import Services
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.replay.recorder import Summariser
from pytest_ctxguard.replay.run import refuse_running_loop
from pytest_ctxguard.transcript.library import matching
from pytest_ctxguard.transcript.model import Transcript

if TYPE_CHECKING:
    from typing import Unpack

    from pytest_ctxguard.checks.laws.judging import Count, LawPlan
    from pytest_ctxguard.checks.laws.terms import Inserts

MARKER = "ctx_policy_laws"
# By name: pytest takes a lone function or class given to a mark for the test that it marks.
USAGE = (
    'ctx_policy_laws(policy=fit, declares=("identity-below-budget",)); the policy may be left out '
    "where the test calls the fixture ctx_policy_laws"
)


class LawOptions(TypedDict, total=False):
    """The options of the fixture and of the marker; what the call gives comes first."""

    provider: str
    declares: Sequence[str]
    transcripts: Source | Sequence[Source]
    budgets: Iterable[int]
    sweep: Mapping[str, Iterable[Any]]
    inserts: Inserts
    refuses: type[Exception] | Iterable[type[Exception]]
    counter: Count
    summariser: Summariser
    max_examples: int
    seed: int
    expect_identity: bool


def laws_fixture(item: pytest.Item) -> LawsFixture:
    """Return the fixture's value for one test."""
    return LawsFixture(item, *of_guarded(item, fixture=MARKER))


@dataclass(frozen=True, slots=True, repr=False)
class LawsFixture:
    """Holds policies to the laws; what is broken fails the test after its body."""

    item: pytest.Item
    record: TestRecord
    services: Services

    def __call__(
        self, policy: Policy, *, judged: bool = True, **options: Unpack[LawOptions]
    ) -> LawResult:
        """Hold a policy to the laws, on generated histories and every call of the transcripts.

        Args:
            policy: sync or async; a factory without arguments; or what takes what ``sweep`` names.
            judged: whether a broken law fails the test.
            options: over those of the marks.

                - provider: whose rules requests must keep; default ``"openai"``.
                - declares: laws it keeps beside the universal ones: ``identity-below-budget``,
                  ``idempotent``, ``always-extended``.
                - transcripts: names, patterns, paths or transcripts, beside what is generated.
                - budgets: the token budgets to run; default: found by sweeping.
                - sweep: argument of the policy or factory -> the values to run. One named
                  ``budget`` is the token budget.
                - inserts: texts it may put in, or ``"any"``.
                - refuses: errors by which it says that nothing fits.
                - counter: counts requests, or a function from messages to tokens; default
                  Qwen2.5's tokenizer.
                - summariser: what it is offered as ``summarise``.
                - max_examples: how many histories are generated; default 50.
                - seed: draws other histories; default 0.
                - expect_identity: it may leave every request as it is.

        Raises:
            UsageError: the call asks for something impossible, or hypothesis is not installed.
        """
        __tracebackhide__ = True
        from pytest_ctxguard.checks.laws.judging import judge_laws  # most runs have no laws

        refuse_running_loop(MARKER)
        result = judge_laws(self._plan(policy, options))
        return self._kept(result, judged=judged)

    async def aio(
        self, policy: Policy, *, judged: bool = True, **options: Unpack[LawOptions]
    ) -> LawResult:
        """Do the same inside a running event loop, and run the policy there."""
        __tracebackhide__ = True
        from pytest_ctxguard.checks.laws.judging import judge_laws_async

        result = await judge_laws_async(self._plan(policy, options))
        return self._kept(result, judged=judged)

    def _plan(self, policy: Policy, options: LawOptions) -> LawPlan:
        from pytest_ctxguard.checks.laws.judging import LawPlan

        given: dict[str, Any] = {**marked_options(self.item), **options}
        _check(given)
        given["transcripts"] = self._transcripts(given.get("transcripts", ()))
        return LawPlan(policy, **{"counter": self.services.counter, **given})

    def _kept(self, result: LawResult, *, judged: bool) -> LawResult:
        if judged:
            self.record.laws.append(result)
        return result

    def _transcripts(self, named: Source | Sequence[Source]) -> tuple[Transcript, ...]:
        folders = self.services.settings.transcripts
        found: list[Source] = []
        for source in [named] if isinstance(named, str | Path | Transcript) else named:
            if isinstance(source, str) and not source.endswith(".jsonl"):
                found += matching((source,), folders=folders)
            else:
                found.append(source)
        return tuple(map(self.services.transcript, found))


def hold_marked(item: pytest.Item) -> None:
    """Hold the policies that a test's marks name to the laws."""
    for mark in item.iter_markers(MARKER):
        if "policy" in mark.kwargs:
            laws_fixture(item)(mark.kwargs["policy"])


def check_marks(item: pytest.Item) -> None:
    """Refuse a mark with something else than known options and a policy.

    Raises:
        UsageError: so.
    """
    _check(marked_options(item))
    for mark in item.iter_markers(MARKER):
        if mark.args or not callable(mark.kwargs.get("policy", len)):
            given = [*mark.args, mark.kwargs.get("policy")][0]
            raise UsageError(f"{MARKER}: {given!r} is no policy=…. Usage: {USAGE}")


def marked_options(item: pytest.Item) -> dict[str, Any]:
    """Return the options of a test's marks; the closest wins for each."""
    options: dict[str, Any] = {}
    for mark in item.iter_markers(MARKER):
        options = {**mark.kwargs, **options}
    options.pop("policy", None)
    return options


def _check(options: Mapping[str, Any]) -> None:
    known = LawOptions.__annotations__
    for name in options:
        if name not in known:
            raise UsageError(
                f"{MARKER} has no argument {name!r}; it has: {', '.join(known)}. Usage: {USAGE}"
            )
