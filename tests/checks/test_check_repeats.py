"""``ctx_no_repeats``: what stands in a request twice, and what it wastes."""

import pytest

from pytest_ctxguard.checks.repeats import NoRepeats, repeated
from pytest_ctxguard.errors import UsageError
from tests.factories import assistant, case_of, replayed, session, user

BLOCK = "<rules>\nnever page\nask first\n</rules>"


def judged(*messages, **promise):
    replay = replayed(list, session(messages=messages, facts=(), tools=()))
    return NoRepeats(**promise).judge(case_of(replay))


def chat(block, copies):
    turns = [user(f"question {n}\n{block}") for n in range(copies)]
    return [m for n, turn in enumerate(turns) for m in (turn, assistant(f"answer {n}"))][:-1]


def test_a_block_of_lines_is_counted_with_what_it_wastes():
    judgement = judged(*chat(BLOCK, 4), min_tokens=20)
    assert (judgement.promise, judgement.verdict) == ("no_repeats", "fail")
    size = len(BLOCK)
    (finding,) = judgement.findings
    assert finding.rule == "ctx_no_repeats.repeated"
    assert finding.what == f"a block of {size} tokens stands 4 times in one request"
    assert finding.measured.startswith(f"{3 * size} tokens of 1 blocks are repeats; it begins ")
    assert finding.where == "transcript small, policy list, call 3"
    assert judgement.summary.startswith(f"{3 * size} of ")


@pytest.mark.parametrize(
    "promise", [{"min_tokens": len(BLOCK) + 1}, {"min_tokens": 20, "allowed": ["<rules>"]}]
)
def test_what_may_be_repeated(promise):
    judgement = judged(*chat(BLOCK, 4), **promise)
    assert judgement.verdict == "pass"
    assert judgement.summary.startswith("0 of ")


def test_a_block_once_is_no_repeat():
    assert judged(*chat(BLOCK, 1), min_tokens=1).verdict == "pass"


def test_runs_end_with_their_message_and_at_blank_lines_nothing_begins():
    messages = [user("a\n\nb"), user("x\na\n\nb"), user("b"), user("\n\n")]
    assert list(repeated(messages)) == ["a\n\nb", "b"]


def test_a_text_that_repeats_itself():
    assert list(repeated([user("a\na\na\na")])) == ["a", "a\na"]


@pytest.mark.parametrize("arguments", [{"min_tokens": 0}, {"allowed": "rules"}, {"allowed": [1]}])
def test_impossible_arguments(arguments):
    with pytest.raises(UsageError, match=r"ctx_no_repeats: .*Usage: ctx_no_repeats"):
        NoRepeats(**arguments)
