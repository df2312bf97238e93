from __future__ import annotations

import base64

import pytest

from pytest_ctxguard.report.files import FORMATS
from pytest_ctxguard.report.run import Effort, Run
from pytest_ctxguard.report.scrubbed import Scrubbing
from tests.report.runs import change, fact, finding, judgement, metric, replay, result

KEY = "9fQ2-xk7Lm-PLANTED-04"
OPENAI = "sk-proj-" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1b" * 2
ENVIRON = {"MY_API_KEY": KEY, "ODD": "correct-horse-7", "HOME": "/home/me"}


def planted_run() -> Run:
    bad = judgement("x", finding(what=f"it said {KEY}", where=OPENAI, remedy="correct-horse-7"))
    return Run(
        tests=(
            result(
                f"test_a.py::test_a[{KEY}]",
                replay(bad, name=KEY, policy=KEY, label=KEY, facts=(fact(KEY),)),
                note=KEY,
                details=f"Authorization: Bearer {KEY}",
                message=base64.b64encode(f"key {KEY} and more".encode()).decode(),
            ),
        ),
        findings=(finding(measured=KEY),),
        changes=(change("new", None, 1, metric=KEY),),
        effort=Effort(notes=(KEY,)),
    )


@pytest.mark.parametrize("suffix", list(FORMATS))
def test_a_planted_key_is_in_no_report(suffix):
    scrubbing = Scrubbing.from_environment(ENVIRON, names=["ODD", "NOT_SET"])
    text = FORMATS[suffix](scrubbing.run(planted_run()))
    for secret in (KEY, OPENAI, "correct-horse-7", base64.b64encode(KEY.encode()).decode()[:-4]):
        assert secret not in text
    assert "SCRUBBED" in text


def test_without_secrets_a_run_is_the_same():
    values = {"shard/1": "hit"}
    kept = judgement(metrics={"answered.shard": metric(1, of=1, trials=values)}, state="new")
    run = Run(
        tests=(result("test_a.py::test_a", replay(kept)),),
        changes=(change("unchanged", 5, 5, differing=("counter",), accepted="so"),),
        findings=(finding(),),
    )
    assert Scrubbing.from_environment(ENVIRON).run(run) == run


def test_fingerprints_stay_as_they_are():
    digests = {"transcript": "5d41402abc4b2a76b9719d911017c592" * 2, "model": "qwen sha256:0f0f0f"}
    told = judgement(metrics={"x": metric(1)})
    told.metrics["x"].fingerprint.update(digests)
    run = Run(tests=(result("test_a.py::test_a", replay(told)),))
    assert Scrubbing.from_environment(ENVIRON).run(run) == run
