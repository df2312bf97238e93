"""What ``ctx_estimator`` says of an audit."""

import re

import pytest

from pytest_ctxguard.checks.estimator import EstimatorBound, judge_properties, make_bounds
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.estimates.audit import audit
from tests.factories import encoder


def exact(text):
    return len(encoder().encode_text(text))


def findings(estimator, *, max_under=0.0, max_over=0.0, **kept):
    kept = {"scripts": ("Thai",), "kinds": ("hex",), **kept}
    bound = EstimatorBound(against=exact, max_under=max_under, max_over=max_over, **kept)
    judgement = bound.judge(audit(estimator, against=exact))
    return {finding.rule: finding for finding in judgement.findings}, judgement


def test_what_is_exact_is_kept():
    found, judgement = findings(exact)
    assert found == {}
    assert judgement.verdict == "pass"
    assert judgement.summary == "of 2 texts 0 low, 0 high"


@pytest.mark.parametrize(
    ("factor", "bounds", "rules"),
    [
        (2, {"max_over": 1.0}, set()),
        (2, {"max_over": 0.99}, {"ctx_estimator.over"}),
        (0.5, {"max_under": 0.5}, set()),
        (0.5, {"max_under": 0.49}, {"ctx_estimator.under"}),
    ],
)
def test_a_bound_is_a_share_of_the_tokens_and_is_kept_at_it(factor, bounds, rules):
    assert set(findings(lambda text: factor * exact(text), **bounds)[0]) == rules


def test_one_that_says_nothing_is_all_under_and_has_no_bound_to_accept():
    found, judgement = findings(lambda text: 0)
    low = found["ctx_estimator.under"]
    assert "by 100%" in low.what
    assert low.remedy == "judge only the scripts= and kinds= you send"
    assert judgement.summary.startswith("of 2 texts 2 low (worst 100%, ")


def test_large_and_broken_numbers_are_readable():
    measured = findings(lambda text: exact(text) * 100_000 / 3)[0]["ctx_estimator.over"].measured
    assert re.match(r"\d+,\d{3},\d{3}\.\d estimated, \d+ counted; in short, ", measured)


def test_one_that_raises_is_told_so_and_not_that_it_is_under():
    def no_thai(text):
        text.encode("ascii")
        return exact(text)

    found, _ = findings(no_thai)
    assert set(found) == {"ctx_estimator.raised"}
    assert found["ctx_estimator.raised"].where == "Thai"
    assert found["ctx_estimator.raised"].measured.startswith("UnicodeEncodeError: ")


def test_only_what_is_sent_is_judged():
    def bad_at_hex(text):
        return 1 if text.isalnum() and text.isascii() else exact(text)

    assert findings(bad_at_hex)[0]
    assert findings(bad_at_hex, kinds=())[0] == {}
    with pytest.raises(UsageError, match="nothing would be judged"):
        findings(bad_at_hex, scripts=(), kinds=("tool-call",))


def test_a_property_has_a_finding_of_its_own():
    calls = iter(range(10_000))
    (finding,) = judge_properties(audit(lambda t: next(calls), against=exact, kinds=())).findings
    assert finding.rule == "ctx_estimator.repeats"
    assert finding.allowed == "the same number"


def test_one_mark_is_one_bound_for_each_counter():
    bounds = make_bounds((), {"against": ["qwen2.5", exact], "max_under": 0, "max_over": 1})
    assert [bound.subject for bound in bounds] == ["qwen2.5", "exact"]
