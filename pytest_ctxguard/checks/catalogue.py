"""Every marker this package knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_ctxguard.checks.answered import Answered
from pytest_ctxguard.checks.budget import Budget
from pytest_ctxguard.checks.carried import AbsentFact, CarriedFact
from pytest_ctxguard.checks.catalogue_audit import CatalogueAudit
from pytest_ctxguard.checks.honest import Honest
from pytest_ctxguard.checks.lifetime import Lifetime
from pytest_ctxguard.checks.needle_recall import NeedleRecall
from pytest_ctxguard.checks.prefix_stable import PrefixMoves, PrefixStable
from pytest_ctxguard.checks.repeats import NoRepeats
from pytest_ctxguard.checks.summariser_faults import SummariserFaults
from pytest_ctxguard.checks.summary import Summarising
from pytest_ctxguard.checks.token_cost import TokenCost
from pytest_ctxguard.checks.unanswered import Unanswered
from pytest_ctxguard.checks.wellformed import Wellformed

CHECKS: Mapping[str, type[Any]] = {
    check.marker: check
    for check in (
        AbsentFact,
        Answered,
        Budget,
        CarriedFact,
        CatalogueAudit,
        Honest,
        Lifetime,
        NoRepeats,
        PrefixMoves,
        PrefixStable,
        SummariserFaults,
        Summarising,
        TokenCost,
        Unanswered,
        Wellformed,
    )
}
"""Those about replays."""

RECALL_CHECKS: Mapping[str, type[NeedleRecall]] = {NeedleRecall.marker: NeedleRecall}
"""Those about recalls."""
