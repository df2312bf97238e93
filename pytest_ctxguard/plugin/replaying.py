"""What the ``ctx_replay`` fixture does."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import pytest

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.budget import Budget
from pytest_ctxguard.checks.guarded import (
    GuardedReplay,
    check_facts,
    check_judgeable,
    guarded,
)
from pytest_ctxguard.checks.guards import guard
from pytest_ctxguard.checks.promise import Case
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.further import FURTHER
from pytest_ctxguard.plugin.names import node_id
from pytest_ctxguard.plugin.promises import positional_parts
from pytest_ctxguard.plugin.record import Judged, TestRecord, labels
from pytest_ctxguard.plugin.services import Services
from pytest_ctxguard.plugin.settings import Settings
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.recall.answers import Answers
from pytest_ctxguard.replay.again import Again, repeater
from pytest_ctxguard.replay.recorder import Summariser
from pytest_ctxguard.replay.run import Plan, refuse_running_loop, run, run_async
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.report.printable import encodable
from pytest_ctxguard.report.recipe import accept_command
from pytest_ctxguard.tokens.counters.choosing import CounterSource
from pytest_ctxguard.transcript.model import Fact, Transcript

RECORD = pytest.StashKey[TestRecord]()
SERVICES = pytest.StashKey[Services]()

Source = str | Path | Transcript


def replay_fixture(item: pytest.Item) -> ReplayFixture:
    """Return the fixture's value for one test."""
    return ReplayFixture(item, *of_guarded(item, fixture="ctx_replay"))


def of_guarded(item: pytest.Item, *, fixture: str) -> tuple[TestRecord, Services]:
    """Return what a fixture works with; a test that is not guarded fails."""
    if SERVICES not in item.config.stash:
        pytest.fail(f"{fixture} works under `pytest --ctxguard` only", pytrace=False)
    if RECORD not in item.stash:
        pytest.fail(
            "this test does not show that it is guarded, so nothing of it would be judged: "
            f"name {fixture} in the signature of the test, or of a fixture it names",
            pytrace=False,
        )
    return item.stash[RECORD], item.config.stash[SERVICES]


@dataclass(frozen=True, slots=True, repr=False)
class ReplayFixture:
    """Replays transcripts for one test; every replay made here is judged after the body."""

    item: pytest.Item
    record: TestRecord
    services: Services

    def __call__(
        self,
        transcript: Source,
        policy: Policy,
        *,
        name: str | None = None,
        budget: int | None = None,
        counter: CounterSource | None = None,
        facts: Iterable[Fact] = (),
        summariser: Summariser | None = None,
        judged: bool = True,
        expect_identity: bool = False,
    ) -> GuardedReplay:
        """Replay a transcript under a policy.

        Args:
            transcript: a name, a path ending in ``.jsonl``, or a transcript.
            policy: takes the history, returns the messages to send; sync or async, plain or
                stateful, or a factory without arguments. ``budget``, ``count``, ``tools`` and
                ``summarise`` are passed when its signature names them. What persists its cut, or
                edits what it is given, is declared: ``persists(policy)``, ``mutates(policy)``.
            name: label of this replay in keys and reports.
            budget: tokens; default the ``ctx_budget`` mark's.
            counter: counts requests: a counter, a name, a path or URL as in ini
                ``ctxguard_counter`` (the default), or a function from messages to tokens.
            facts: more facts, beside the transcript's own.
            summariser: what the policy is given as ``summarise``: from messages or text to text,
                sync or async; what it is shown stands in ``.summaries``.
            judged: whether the marks judge this replay.
            expect_identity: the policy may leave every request as it is.

        Raises:
            UsageError: the call asks for something impossible.
            PolicyError: the policy returned something other than messages.
        """
        __tracebackhide__ = True
        plan = self._plan(
            transcript,
            policy,
            name=name,
            budget=budget,
            counter=counter,
            facts=facts,
            summariser=summariser,
        )
        refuse_running_loop("ctx_replay")
        again = repeater(plan)
        return self.judged(run(plan), again=again, judged=judged, expect_identity=expect_identity)

    async def aio(
        self,
        transcript: Source,
        policy: Policy,
        *,
        name: str | None = None,
        budget: int | None = None,
        counter: CounterSource | None = None,
        facts: Iterable[Fact] = (),
        summariser: Summariser | None = None,
        judged: bool = True,
        expect_identity: bool = False,
    ) -> GuardedReplay:
        """Do the same inside a running event loop."""
        __tracebackhide__ = True
        plan = self._plan(
            transcript,
            policy,
            name=name,
            budget=budget,
            counter=counter,
            facts=facts,
            summariser=summariser,
        )
        again = repeater(plan)
        return self.judged(
            await run_async(plan), again=again, judged=judged, expect_identity=expect_identity
        )

    def _plan(
        self,
        transcript: Source,
        policy: Policy,
        *,
        name: str | None,
        budget: int | None,
        counter: CounterSource | None,
        facts: Iterable[Fact],
        summariser: Summariser | None,
    ) -> Plan:
        marked = next((p.limit for p in self.record.promises if isinstance(p, Budget)), None)
        return Plan(
            transcript=self.services.transcript(transcript).with_facts(*facts),
            policy=policy,
            counter=self.services.chosen_counter(counter),
            budget=self.services.settings.choose("budget", mark=marked, fixture=budget).value,
            summariser=summariser,
            label=name or "",
        )

    def judged(
        self, replay: Replay, *, again: Again | None = None, judged: bool, expect_identity: bool
    ) -> GuardedReplay:
        """Have the marks judge a replay after the body, and return it with the means to.

        Raises:
            UsageError: a mark is about a fact it has not, or about a policy it has not, or another
                replay has its name.
        """
        if judged:
            check_judgeable(self.record.promises, replay)
            check_facts(self.record.promises, replay)
            if replay.label in labels(self.record.replays):
                raise UsageError(
                    f"two judged replays are named {replay.label!r} in one test; give each its "
                    "own name=, or judged=False"
                )
        case = self._case(replay, again=again)
        parses = self.services.settings.special_tokens == "parse"
        control = self.services.encoder.control if parses else ()
        entry = Judged(
            guarded(
                replay,
                case=case,
                guard=guard(case, expect_identity=expect_identity, control=control),
                record=lambda judgement: entry.judgements.append(judgement),
            ),
            wanted=judged,
        )
        self.record.replays.append(entry)
        return entry.replay

    def _case(self, replay: Replay, *, again: Again | None) -> Case:
        services = self.services
        fixture = "ctx_session" if replay.traffic else "ctx_replay"

        def answers(fact: str) -> Answers:
            if replay.traffic:
                raise UsageError(
                    f"answers({fact!r}): nothing is asked of recorded traffic, which has no "
                    "policy; ask with ctx_replay(transcript, policy)"
                )
            return services.answers(replay, fact)

        def recorded() -> Mapping[str, Metric]:
            return recorded_metrics(self.item, services, replay.label, fixture=fixture)

        return Case(
            replay=replay,
            answers=answers,
            model=services.model_identity,
            recorded=recorded,
            tolerate_inconclusive=services.settings.tolerate_inconclusive,
            again=again,
            rules=lambda: services.rules,
            prices=lambda: services.prices,
            promises=tuple(self.record.promises),
            further=self.item.config.stash.get(FURTHER, {}),
            **gate(self.item, services.settings),
        )


def test_key(item: pytest.Item) -> str:
    """Return a test's key within its module's baseline: the node id after the file."""
    return node_id(item).partition("::")[2]


def recorded_metrics(
    item: pytest.Item, services: Services, label: str, *, fixture: str
) -> Mapping[str, Metric]:
    """Return the baseline's metrics of one label."""
    positional = positional_parts(item)
    if positional and not label:
        raise UsageError(
            f"the baseline needs a key that keeps its meaning, and {positional[0]!r} in "
            f"{item.name!r} only counts positions. Give the parameters ids=…, or {fixture}(…, "
            "name=…)."
        )
    return services.baseline(item.path).metrics((test_key(item), encodable(label)))


class Gate(TypedDict):
    """What a case says of the baseline, apart from the values in it."""

    require_recorded: bool
    updating: bool
    record: str
    accept: str


def gate(item: pytest.Item, settings: Settings) -> Gate:
    """Return how a test is held to its baseline, and how what it measures is accepted.

    Beside a git ref a new metric passes in CI, too: no commit can put it into that ref.
    """
    test = shlex.quote(node_id(item))
    return Gate(
        require_recorded=settings.in_ci and not settings.update_new and not settings.compare,
        updating=settings.update,
        record=f"pytest --ctxguard --ctxguard-update {test}",
        accept=accept_command(node_id(item)),
    )
