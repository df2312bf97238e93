"""The names of the markers and fixtures: what makes a test one that is guarded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

MARKERS: Mapping[str, str] = {
    'ctx_wellformed(provider="openai")': "every request is one the provider accepts",
    "ctx_budget(limit)": "every request has at most this many tokens; the policy's budget, too",
    "ctx_carried(*facts, at=None, budgets=None)": "the facts are in every probe request",
    "ctx_absent(*facts, at=None)": "the facts' values are in no probe request",
    "ctx_lifetime(*facts, strict=False)": "each fact is sent as long as it holds, and no longer",
    "ctx_answered(*facts, at_least=1, max_lost=0)": "the model answers this many wordings",
    "ctx_unanswered(*facts)": "the model never gives the facts' values, or those they supersede",
    'ctx_honest(announce="cleared", phrases=())': "the policy acts, and says what it cleared",
    "ctx_no_repeats(min_tokens=100, allowed=())": "no block of text stands in a request twice",
    "ctx_summary(window=None, max_output=None, in_a_row=3)": "what its summariser is asked helps",
    "ctx_summariser_faults(faults=(), in_a_row=3, fallback=False)": "it survives a bad summariser",
    "ctx_needle_recall(trials=None, at_least=None, min_rate=None, alpha=0.05, max_lost=None, "
    "margin=None, depth=None, records=None)": "needles are found, in every cell",
    "ctx_catalogue(max_unknown_calls=0, max_never_called=None, max_share=None)": "no tool is "
    "called that does not exist, and the definitions are worth their tokens",
    'ctx_token_cost(max_increase=None, provider="", max_total=None, pace=None)': "the input's cost",
    'ctx_prefix_stable(min_reuse=0.8, provider="")': "each request begins as the one before it",
    'ctx_prefix_moves(reason, at_most=1, section="")': "the prefix breaks so often, on purpose",
    "ctx_estimator(against, max_under, max_over, scripts=None, kinds=None)": "a token estimator "
    "errs by no more, either way",
    "ctx_policy_laws(policy=None, declares=(), …)": "the policy keeps the laws on any history",
    "ctx_transcripts(*patterns)": "parametrise ctx_transcript with the transcripts that match",
    "ctx_cassette(name=None, ignore=(), also=(), record=None)": "how ctx_record records this test",
}
MARKER_NAMES = tuple(usage.partition("(")[0] for usage in MARKERS)
FIXTURE_NAMES = (
    "ctx_agent", "ctx_behaviour", "ctx_estimate", "ctx_policy_laws", "ctx_recall", "ctx_record",
    "ctx_replay", "ctx_server", "ctx_session", "ctx_summariser", "ctx_transcript",
)  # fmt: skip


def is_guarded(item: pytest.Item) -> bool:
    """Tell whether a test has a ctx mark or uses a ctx fixture.

    Any mark that begins with ``ctx_`` counts, so that a misspelt one is noticed.
    """
    if not frozenset(FIXTURE_NAMES).isdisjoint(getattr(item, "fixturenames", ())):
        return True
    node: Any = item
    while node is not None:  # not iter_markers: every test of every suite passes here
        for mark in node.own_markers:
            if mark.name.startswith("ctx_"):
                return True
        node = node.parent
    return False


def node_id(item: pytest.Item) -> str:
    """Return a test's node id, without the group that xdist appends to it.

    Under ``--dist loadgroup`` xdist renames a test with the mark ``xdist_group`` in its workers,
    to ``test.py::test_it@group``. Baselines and reports are the same for any distribution.
    """
    if not item.config.getoption("loadgroup", False):  # xdist sets it, in workers only
        return item.nodeid
    marks = item.iter_markers("xdist_group")
    names = {str(m.args[0] if m.args else m.kwargs.get("name", "default")) for m in marks}
    return item.nodeid.removesuffix("@" + "_".join(sorted(names))) if names else item.nodeid
