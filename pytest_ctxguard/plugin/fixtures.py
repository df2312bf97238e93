"""The fixtures. They are found without ``--ctxguard`` too, so nothing heavy is imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_ctxguard.plugin.replaying import ReplayFixture


@pytest.fixture
def ctx_replay(request: pytest.FixtureRequest) -> ReplayFixture:
    """Replay a transcript under a policy: ``ctx_replay(transcript, policy, budget=…)``."""
    from pytest_ctxguard.plugin.replaying import replay_fixture

    return replay_fixture(request.node)


@pytest.fixture
def ctx_transcript(request: pytest.FixtureRequest) -> str:
    """Name of a transcript; the marker ``ctx_transcripts("pattern")`` says which ones."""
    name = getattr(request, "param", None)
    if name is None:
        pytest.fail(
            'ctx_transcript needs the marker ctx_transcripts("pattern") to say which transcripts',
            pytrace=False,
        )
    return str(name)
