"""The adapters on the installed frameworks: ``nox -s adapters -- NAME``; skipped elsewhere."""

import os

import pytest
from hypothesis import HealthCheck, given, settings

from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.transcript.model import Fact, Transcript
from tests.factories import LetterCounter
from tests.policies.adapters import contracts
from tests.policies.adapters.histories import FACT, calls, rich_histories

ASKED = os.environ.get("CTXGUARD_ADAPTER")  # set by nox: then nothing is skipped
# frameworks warn of their own deprecations, leave loops open, and import slowly
pytestmark = pytest.mark.filterwarnings("default")


def live(name):
    framework = contracts.framework(name)
    if name != ASKED and framework.versions() is None:
        pytest.skip(f"{', '.join(framework.packages)} not installed; nox -s adapters -- {name}")
    return framework


@pytest.mark.parametrize("name", contracts.names())
def test_making_the_vectors_again_changes_nothing(name):
    framework = live(name)
    stored = contracts.vectors_path(name).read_text(encoding="utf-8")
    if name != ASKED and f'"versions": {contracts.json.dumps(framework.versions())}' not in stored:
        pytest.skip(f"the vectors are of other versions of {name}; nox -s adapters -- {name}")
    assert contracts.render(framework) == stored


@pytest.mark.parametrize("name", contracts.names())
def test_untouched_histories_come_back_exactly(name):
    framework = live(name)
    assert framework.round_trips

    @settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
    @given(rich_histories())
    def comes_back(history):
        for label, make in framework.round_trips.items():
            for given_, sent in zip(
                calls(history), contracts.ask(make(), calls(history)), strict=True
            ):
                if isinstance(sent, Exception):
                    raise sent
                assert sent == given_, label

    comes_back()


@pytest.mark.parametrize("name", contracts.names())
def test_a_replay_runs_the_policies_and_asks_its_probe(name):
    framework = live(name)
    messages = tuple(contracts.BUILDERS["chat"](turns=10))
    fact = Fact(
        name="gate",
        value=FACT,
        kind="identifier",
        planted_at=1,
        asked_at=len(messages) - 4,
        wordings=("Which code opens the gate?",),
        shape=r"[A-Z]+-\d{4}",
    )
    transcript = Transcript(name="harbour", messages=messages, facts=(fact,))
    policy = framework.cases[0].made()
    replay = run(Plan(transcript=transcript, policy=policy, counter=LetterCounter()))
    sent = contracts.ask(policy, [list(messages[: call.history]) for call in transcript.calls])
    assert [list(step.request.messages) for step in replay.steps] == sent
    (probe,) = replay.probes["gate"]
    assert probe.messages[-1]["content"] == "Which code opens the gate?"
