"""What the ``ctx_summariser`` fixture does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_ctxguard.plugin.replaying import of_guarded
from pytest_ctxguard.recall.summarising import SUMMARY_TOKENS, EngineSummariser


def summariser_fixture(item: pytest.Item) -> Callable[..., EngineSummariser]:
    """Return the fixture's value for one test."""
    _, services = of_guarded(item, fixture="ctx_summariser")

    def make(*, max_tokens: int = SUMMARY_TOKENS) -> EngineSummariser:
        """Return the model as summariser, whose summaries have at most this many tokens."""
        return EngineSummariser(services.asker, max_tokens=max_tokens)

    return make
