"""The fixtures. They are found without ``--ctxguard`` too, so nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_ctxguard.plugin.agents import AgentFixture
    from pytest_ctxguard.plugin.behaviour import BehaviourFixture
    from pytest_ctxguard.plugin.estimating import EstimateFixture
    from pytest_ctxguard.plugin.lawful import LawsFixture
    from pytest_ctxguard.plugin.needles import RecallFixture
    from pytest_ctxguard.plugin.recording import RecordFixture
    from pytest_ctxguard.plugin.replaying import ReplayFixture
    from pytest_ctxguard.plugin.serving import ServerFixture
    from pytest_ctxguard.plugin.traffic import SessionFixture
    from pytest_ctxguard.recall.summarising import EngineSummariser


@pytest.fixture
def ctx_agent(request: pytest.FixtureRequest) -> Iterator[AgentFixture]:
    """Run an agent against an endpoint that refuses: ``ctx_agent(agent, refuse="openai")``."""
    from pytest_ctxguard.plugin.agents import agent_fixture

    with agent_fixture(request.node) as agent:
        yield agent


@pytest.fixture
def ctx_behaviour(request: pytest.FixtureRequest) -> BehaviourFixture:
    """Ask the model for its next step: ``ctx_behaviour.early_stop(at_least=12)``."""
    from pytest_ctxguard.plugin.behaviour import behaviour_fixture

    return behaviour_fixture(request.node)


@pytest.fixture
def ctx_estimate(request: pytest.FixtureRequest) -> EstimateFixture:
    """Hold a token estimator against exact counts: ``ctx_estimate(my_count_tokens)``."""
    from pytest_ctxguard.plugin.estimating import estimate_fixture

    return estimate_fixture(request.node)


@pytest.fixture
def ctx_policy_laws(request: pytest.FixtureRequest) -> LawsFixture:
    """Hold a policy to the laws on any history: ``ctx_policy_laws(policy, declares=…)``."""
    from pytest_ctxguard.plugin.lawful import laws_fixture

    return laws_fixture(request.node)


@pytest.fixture
def ctx_recall(request: pytest.FixtureRequest) -> RecallFixture:
    """Ask for needles in haystacks under a policy: ``ctx_recall(policy, records=25, depths=9)``."""
    from pytest_ctxguard.plugin.needles import recall_fixture

    return recall_fixture(request.node)


@pytest.fixture
def ctx_record(request: pytest.FixtureRequest) -> Iterator[RecordFixture]:
    """Record what the test sends and is answered, or replay it: ``ctx_record.transcript()``."""
    from pytest_ctxguard.plugin.recording import record_fixture

    with record_fixture(request.node) as recording:
        yield recording


@pytest.fixture
def ctx_replay(request: pytest.FixtureRequest) -> ReplayFixture:
    """Replay a transcript under a policy: ``ctx_replay(transcript, policy, budget=…)``."""
    from pytest_ctxguard.plugin.replaying import replay_fixture

    return replay_fixture(request.node)


@pytest.fixture
def ctx_server(request: pytest.FixtureRequest) -> Iterator[ServerFixture]:
    """Start a chat endpoint on loopback: ``ctx_server(answers=[…], limit=…)``."""
    from pytest_ctxguard.plugin.serving import server_fixture

    with server_fixture(request.node) as server:
        yield server


@pytest.fixture
def ctx_session(request: pytest.FixtureRequest) -> SessionFixture:
    """Judge what was really sent, with no policy: ``ctx_session("cassettes/agent.yaml")``."""
    from pytest_ctxguard.plugin.traffic import session_fixture

    return session_fixture(request.node)


@pytest.fixture
def ctx_summariser(request: pytest.FixtureRequest) -> Callable[..., EngineSummariser]:
    """Make the model a summariser: ``ctx_replay(…, summariser=ctx_summariser(max_tokens=64))``."""
    from pytest_ctxguard.plugin.summarising import summariser_fixture

    return summariser_fixture(request.node)


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
