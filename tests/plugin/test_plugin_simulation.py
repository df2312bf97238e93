"""How often a claim about a population is judged wrongly: thousands of runs of the marker.

The model is scripted: it answers with a known probability, drawn from the prompt, so that every
seed is one sample from a population whose rate is known. Seeds are fixed, so every run of these
tests counts the same verdicts; docs/statistics.md states them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pytest_ctxguard.stats import p_at_least, p_at_most, wilson
from tests.plugin.project import UPDATE, Project

DOCS = Path(__file__).parents[2] / "docs" / "statistics.md"
CONFTEST = r"""
import random
import re

from pytest_ctxguard.testing import ScriptedBackend


def answer(messages):
    # the system message ends in the rate; the rest of the prompt is the draw
    system, *texts = [message["content"] for message in messages]
    if random.Random("/".join(texts)).random() >= float(system.split()[-1]):
        return "I do not know."
    owner = re.search("extension of (.+)[?]", texts[-1])[1]
    return re.search(re.escape(owner) + r".+ extension (\d{4})", "/".join(texts))[1]


def pytest_ctxguard_backend(config):
    return ScriptedBackend(answer, identity={"model": "known rate", "numerics": "exact"})
"""
TEST = """
@pytest.mark.parametrize("seed", range(%(runs)d))
@pytest.mark.ctx_needle_recall(%(claim)s, trials=%(trials)d)
def test_rate(ctx_recall, seed):
    def policy(messages):
        system, *others = messages
        return [dict(system, content=system["content"] + " %(rate)s"), *others]

    ctx_recall(policy, records=3, look_alikes=0, depths=%(depths)s, seed=seed)
"""


def simulated(project: Project, *options: str, **case: object) -> Counter[str]:
    """Return how often each verdict came about, over as many seeds as there are runs."""
    result = (
        project.with_file("simulated/conftest.py", CONFTEST)
        .with_test(TEST % {"depths": [0.5], **case}, module="simulated/test_rate")
        .with_backend("none")
        .run("--ctxguard", "--ctxguard-inconclusive=warn", "--tb=no", "-qq", "simulated", *options)
    )
    verdicts = Counter(
        judgement["verdict"]
        for payload in result.payloads.values()
        for subject in payload["subjects"]
        for judgement in subject["judgements"]
        if judgement["promise"] == "needle_recall"
    )
    assert verdicts.total() == case["runs"], result.text
    return verdicts


def at_or_under(count: int, runs: int, alpha: float) -> bool:
    """Tell whether a realised rate may be that of an error made at most alpha of the time."""
    return wilson(count, runs, confidence=0.99).low <= alpha


def agrees(count: int, runs: int, rate: float) -> bool:
    """Tell whether a realised rate may be one that is known."""
    interval = wilson(count, runs, confidence=0.999)
    return interval.low <= rate <= interval.high


def test_a_rate_at_the_border_is_seldom_judged(project: Project) -> None:
    """At the border a fail is wrong; just below it a pass is, and no rate below has more."""
    found = simulated(project, runs=2000, claim="min_rate=0.5", trials=5, rate=0.5)
    for verdict, known in (
        ("fail", p_at_most(0, 5, rate=0.5)),
        ("pass", p_at_least(5, 5, rate=0.5)),
    ):
        assert at_or_under(found[verdict], 2000, 0.05)
        assert agrees(found[verdict], 2000, known)
    assert f"{found['fail']} failed and {found['pass']} passed of 2,000" in DOCS.read_text()


def test_a_family_at_the_border_is_seldom_judged(project: Project) -> None:
    found = simulated(
        project, runs=300, claim="min_rate=0.5", trials=6, rate=0.5, depths=[0.0, 0.5, 1.0]
    )
    assert at_or_under(found["fail"], 300, 0.05)
    assert at_or_under(found["pass"], 300, 0.05)
    alone = p_at_most(0, 6, rate=0.5)  # at alpha / 3 a cell fails without any hit
    assert agrees(found["fail"], 300, 1 - (1 - alone) ** 3)
    assert f"{found['fail']} failed and {found['pass']} passed of 300" in DOCS.read_text()


def test_a_fall_of_the_margin_is_seldom_judged(project: Project) -> None:
    """The baseline hits 9 in 10; the run beside it 6 in 10 of the same draws."""
    case = {"runs": 200, "claim": "margin=0.3", "trials": 10}
    assert simulated(project, *UPDATE, rate=0.9, **case) == {"pass": 200}
    found = simulated(project, rate=0.6, **case)
    assert at_or_under(found["pass"], 200, 0.05)
    assert at_or_under(found["fail"], 200, 0.05)
    assert f"{found['fail']} failed and {found['pass']} passed of 200" in DOCS.read_text()
