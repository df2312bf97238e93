from __future__ import annotations

from pytest_ctxguard.report.properties import MOST, properties
from tests.report.runs import HOSTILE, cell, judgement, metric, recall, replay, result


def test_a_test_has_its_verdict_and_what_it_judged():
    kept = judgement(metrics={"answered.shard": metric(5, of=6), "billed_input_tokens": metric(1)})
    test = result("a::t", replay(kept, policy="fit", label="narrow", budget=4000))
    assert dict(properties(test)) == {
        "ctxguard.verdict": "pass",
        "ctxguard.transcript[narrow]": "incident-40",
        "ctxguard.policy[narrow]": "fit",
        "ctxguard.budget[narrow]": 4000,
        "ctxguard.billed_input_tokens[narrow]": 168_550,
        "ctxguard.answered.shard[narrow]": "5 of 6",
    }


def test_a_recall_has_its_haystack():
    kept = judgement(metrics={"needle_recall": metric(27, of=32)})
    test = result("a::t", recall(kept, cells=(cell(),)))
    assert dict(properties(test)) == {
        "ctxguard.verdict": "pass",
        "ctxguard.haystack": "register",
        "ctxguard.policy": "fit",
        "ctxguard.needle_recall": "27 of 32",
    }


def test_they_are_few_small_and_printable():
    subjects = [replay(judgement(), label=f"{HOSTILE}{n}", name=HOSTILE) for n in range(100)]
    found = properties(result("a::t", *subjects))
    assert len(found) == MOST
    assert all(part.isprintable() for row in found for part in row if isinstance(part, str))
