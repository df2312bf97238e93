"""A run as one value: what every report is made from, and what shards are merged of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pytest_ctxguard.baseline import Metric, State
from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.report.figures import RecallFigures, ReplayFigures

SCHEMA = 1
BROKEN = "a module could not be collected"
"""In a collection's ``narrowed``: the one reason that no other shard makes good."""

Outcome = Literal["passed", "failed", "skipped", "xfailed", "xpassed", "lost"]
TestVerdict = Literal["pass", "fail", "inconclusive", "error", "skipped"]
Kind = Literal["replay", "recall", "laws", "agent", "estimate"]
WORST_FIRST: tuple[TestVerdict, ...] = ("error", "fail", "inconclusive", "pass", "skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One thing that a test judged.

    Attributes:
        kind: what it is.
        name: the transcript, the haystack, or the estimator; of laws and agents, empty.
        policy: its policy, or empty.
        label: the ``name`` given to it, or empty.
        judgements: what each promise about it came to.
        replay: the figures of a replay.
        recall: the figures of a recall.
    """

    kind: Kind
    name: str = ""
    policy: str = ""
    label: str = ""
    judgements: tuple[Judgement, ...] = ()
    replay: ReplayFigures | None = None
    recall: RecallFigures | None = None

    @property
    def title(self) -> str:
        """What it is called in a report: transcript / policy [label]."""
        named = " / ".join(filter(None, (self.name, self.policy))) or self.kind
        return f"{named} [{self.label}]" if self.label else named


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """What one guarded test came to.

    Attributes:
        nodeid: pytest's.
        file: its module, relative to the root of the run.
        line: where it begins, from 1.
        baseline: its baseline file, relative to the root of the run.
        key: its key in that file.
        outcome: pytest's outcome; ``lost``: the worker died that ran it; ``skipped``: also what
            ``pytest.xfail()`` ended.
        verdict: ``fail``: a promise or an assertion is broken; ``error``: it could not be judged.
        message: the first line of its failure; of one that passes, empty.
        details: all of it: the findings, in five parts each.
        note: what else is to be said, for instance why nothing was judged.
        finished: whether its body ran to its end, so that all its promises could be judged.
        unchecked: promises that were left out in this tier.
        rerun: the command that runs it alone.
        subjects: what it judged, in order.
    """

    __test__ = False  # pytest, this is no test class

    nodeid: str
    file: str
    line: int
    baseline: str
    key: str
    outcome: Outcome
    verdict: TestVerdict
    message: str = ""
    details: str = ""
    note: str = ""
    finished: bool = True
    unchecked: tuple[str, ...] = ()
    rerun: str = ""
    subjects: tuple[Subject, ...] = ()

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """What every promise came to, over all subjects."""
        return tuple(judgement for subject in self.subjects for judgement in subject.judgements)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong, over all subjects."""
        return tuple(finding for each in self.judgements for finding in each.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A metric beside the baseline's.

    Attributes:
        nodeid: the test; of a stale file, the file.
        label: the label of what was measured.
        metric: its name; of a whole stale entry, empty.
        state: what it is to the baseline.
        was: what the baseline has; ``None``: nothing.
        now: what was measured; ``None``: nothing, which is stale.
        differing: fields in which the instruments differ.
        accepted: the reason with which a person accepted it, if it is as it was.
    """

    nodeid: str
    label: str
    metric: str
    state: State
    was: Metric | None = None
    now: Metric | None = None
    differing: tuple[str, ...] = ()
    accepted: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """What there was to run.

    Attributes:
        guarded: node ids of all guarded tests that were collected, also those deselected later.
        narrowed: why this is not all: ``-k``, a node id, ``--lf``, a stop; empty: it is.
        partly: modules of which only some tests were collected, since a node id names them.
        whole: modules of which every guarded test ran to its end; only there an entry can be stale.
        gone: baseline files in a collected folder that have no module.
        unguarded: baseline files whose module was collected and has no guarded test.
    """

    guarded: tuple[str, ...] = ()
    narrowed: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    unguarded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruments:
    """What the run was judged with.

    Attributes:
        tier: ``structure`` or ``model``.
        counter: name of what counts.
        model: what answers: the model's name, or the endpoint.
        seed: what samples were drawn with.
        compare: the git ref whose baseline it is compared with; empty: the files as they are.
    """

    tier: Literal["structure", "model"] = "model"
    counter: str = ""
    model: str = ""
    seed: int = 0
    compare: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What may differ between two runs with equal results.

    Attributes:
        started: ISO 8601, UTC.
        seconds: of the whole run.
        workers: xdist's; 0: none.
        asked: questions put to the model.
        kept: answers that an earlier run kept.
        prompt_tokens: sent in all.
        computed_tokens: of them computed, the rest read from the prefix cache.
        model_seconds: spent in asking.
        notes: what the run noted on its way.
    """

    started: str = ""
    seconds: float = 0.0
    workers: int = 0
    asked: int = 0
    kept: int = 0
    prompt_tokens: int = 0
    computed_tokens: int = 0
    model_seconds: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What all guarded tests of a run came to.

    Attributes:
        tests: sorted by node id.
        findings: of the run as a whole: what is stale, which tests or shards are missing.
        changes: every metric beside its baseline, sorted.
        written: baseline files that were written, relative to the root of the run.
        removed: those that were removed, since nothing in them is measured any more.
        collection: what there was to run.
        instruments: what it was judged with.
        tolerated: whether what the data cannot decide passes.
        effort: what may differ between two equal runs.
        schema: version of this value as JSON.
    """

    tests: tuple[TestResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    changes: tuple[Change, ...] = ()
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    collection: Collection = field(default_factory=Collection)
    instruments: Instruments = field(default_factory=Instruments)
    tolerated: bool = False
    effort: Effort = field(default_factory=Effort)
    schema: int = SCHEMA

    @property
    def verdict(self) -> TestVerdict:
        """The worst of all tests and of the run's own findings; of nothing, ``skipped``.

        A test that was expected to fail, and did, is as good as one that passes.
        """
        found = ["pass" if test.outcome == "xfailed" else test.verdict for test in self.tests]
        found += ["inconclusive" if each.inconclusive else "fail" for each in self.findings]
        return min(found, key=WORST_FIRST.index, default="skipped")

    @property
    def passes(self) -> bool:
        """Whether a merge may go ahead."""
        tolerated = ("inconclusive",) if self.tolerated else ()
        return self.verdict in ("pass", "skipped", *tolerated)

    @property
    def failing(self) -> tuple[TestResult, ...]:
        """The tests that do not pass, the worst first; those expected to fail are not there."""
        found = [
            test
            for test in self.tests
            if test.verdict not in ("pass", "skipped") and test.outcome != "xfailed"
        ]
        return tuple(sorted(found, key=lambda test: WORST_FIRST.index(test.verdict)))
