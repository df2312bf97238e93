"""What the ``ctx_recall`` fixture does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.needle_recall import RecallCase, guard_recall
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.needle_options import RecallOptions, make_sample
from pytest_ctxguard.plugin.record import JudgedRecall, TestRecord
from pytest_ctxguard.plugin.replaying import gate, of_guarded, recorded_metrics
from pytest_ctxguard.plugin.services import Services
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.recall.needles.running import Claims, Setting, Shown, ask, show, show_async
from pytest_ctxguard.recall.needles.sample import Sample
from pytest_ctxguard.recall.needles.values import Recall
from pytest_ctxguard.replay.run import refuse_running_loop
from pytest_ctxguard.transcript.messages import Message

if TYPE_CHECKING:
    from typing import Unpack


def recall_fixture(item: pytest.Item) -> RecallFixture:
    """Return the fixture's value for one test."""
    return RecallFixture(item, *of_guarded(item, fixture="ctx_recall"))


@dataclass(frozen=True, slots=True, repr=False)
class RecallFixture:
    """Asks for needles under a policy; every recall made here is judged after the body."""

    item: pytest.Item
    record: TestRecord
    services: Services

    def __call__(self, policy: Policy, **options: Unpack[RecallOptions]) -> Recall:
        """Ask for needles, in a cell for each length and depth, and count what is found.

        Args:
            policy: as for ``ctx_replay``; each trial has one of its own.
            options: any of these.

                - haystack: ``"register"`` (default) or ``"pairs"``; a transcript (name, path or
                  value); or a ``Planted``, whose trials are one cell.
                - depths: of the needle, 0 the start and 1 the end, or how many of them; default
                  0.5.
                - spacing: of a number of depths: ``"linear"``, or ``"sigmoid"``, denser at the
                  ends.
                - trials: per cell; default the mark's, or 32. Trial ``k`` of every cell is one
                  draw.
                - seed: another one is another sample; default 0. ``--ctxguard-seed`` comes first.
                - records: of a drawn haystack: its length; default 25.
                - lengths: several, in place of ``records``; all around the same middle record.
                - layout: ``"message"``: one message holds all records; ``"turns"``: each record
                  has a turn.
                - look_alikes: how many of the other records look like the answer; default all.
                - fact: of a transcript: a ``Plant`` without value and place.
                - values: its values, or a function that draws one.
                - budget: tokens the policy is given.
                - counter: as for ``ctx_replay``.
                - summariser: what the policy is given as ``summarise``.
                - name: label of this recall in keys and reports.
                - judged: whether the marks judge it; default yes.
                - curtail: ask each cell's trials in order, and no further than the marks need.
                - expect_identity: the policy may leave every request as it is.

        Raises:
            UsageError: the call asks for something impossible, or for trials on which a mark
                could not pass. Nothing was asked.
            PolicyError: the policy returned something other than messages.
        """
        __tracebackhide__ = True
        refuse_running_loop("ctx_recall")
        sample, setting = self._plan(policy, options)
        return self._asked(sample, show(sample, setting), setting=setting, options=options)

    async def aio(self, policy: Policy, **options: Unpack[RecallOptions]) -> Recall:
        """Do the same inside a running event loop."""
        __tracebackhide__ = True
        sample, setting = self._plan(policy, options)
        shown = await show_async(sample, setting)
        return self._asked(sample, shown, setting=setting, options=options)

    def _plan(self, policy: Policy, options: RecallOptions) -> tuple[Sample, Setting]:
        services = self.services
        settings = services.settings
        marked = next((c.trials for c in self.record.claims if c.trials is not None), None)
        sample = make_sample(
            options,
            trials=settings.choose("trials", mark=marked, fixture=options.get("trials")).value,
            seed=settings.choose("seed", fixture=options.get("seed")).value,
            load=services.transcript,
            count=self._count,
        )
        for claim in self.record.claims:
            claim.check_sample(sample)
        label = options.get("name") or ""
        taken = [judged.recall.label for judged in self.record.recalls if judged.wanted]
        if options.get("judged", True) and label in taken:
            raise UsageError(
                f"two judged recalls are named {label!r} in one test; give each its own name=, or "
                "judged=False"
            )
        return sample, Setting(
            policy=policy,
            counter=services.chosen_counter(options.get("counter")),
            budget=options.get("budget"),
            summariser=options.get("summariser"),
            label=label,
        )

    def _count(self, messages: Sequence[Message]) -> int:
        return self.services.counter.count(messages)

    def _asked(
        self,
        sample: Sample,
        shown: Mapping[str, Shown],
        *,
        setting: Setting,
        options: RecallOptions,
    ) -> Recall:
        try:
            recall = ask(
                sample,
                shown,
                setting=setting,
                asker=self.services.asker,
                claims=self._claims(sample) if options.get("curtail") else None,
            )
        finally:
            self.services.progress.clear()
        case = self._case(recall)
        guard = guard_recall(case, expect_identity=options.get("expect_identity", False))
        wanted = options.get("judged", True)
        kept = shown if self.services.settings.prompts is not None else {}
        self.record.recalls.append(
            JudgedRecall(case, wanted=wanted, judgements=[guard], shown=kept)
        )
        return recall

    def _claims(self, sample: Sample) -> Claims | None:
        """Return what decides each cell; None where a mark needs every trial, or there is none."""
        claims = self.record.claims
        if not claims or not all(claim.curtails for claim in claims):
            return None
        return lambda planned: [
            part
            for claim in claims
            if planned in (chosen := claim.chosen(sample))
            for part in claim.claims(trials=len(planned.needles), cells=len(chosen))
        ]

    def _case(self, recall: Recall) -> RecallCase:
        services = self.services

        def recorded() -> Mapping[str, Metric]:
            return recorded_metrics(self.item, services, recall.label, fixture="ctx_recall")

        return RecallCase(
            recall=recall,
            model=services.model_identity,
            recorded=recorded,
            **gate(self.item, services.settings),
        )
