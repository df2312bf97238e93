"""Counterexamples are small, and the test they are printed as fails until the policy is mended."""

import re
from functools import partial

import pytest

from pytest_ctxguard import SlidingWindow
from pytest_ctxguard.checks.finding import Judgement
from pytest_ctxguard.checks.laws.judging import LawPlan, judge_laws
from pytest_ctxguard.checks.laws.result import LawResult
from pytest_ctxguard.checks.laws.shrinking import shrink
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.wellformed import openai_rules
from tests.checks.laws import faulty
from tests.checks.laws.faulty import FAULTY, NOTE, characters, fitted


def tool_round(number, calls=1, size=5):
    ids = [f"c{number}_{n}" for n in range(calls)]
    made = [
        {"id": i, "type": "function", "function": {"name": "read", "arguments": '{"q": 1}'}}
        for i in ids
    ]
    return [
        {"role": "assistant", "content": None, "tool_calls": made},
        *({"role": "tool", "tool_call_id": i, "content": "x" * size} for i in ids),
    ]


def session(turns):
    history = [{"role": "system", "content": "You help."}]
    for n in range(turns):
        history += [{"role": "user", "content": f"question {n}"}, *tool_round(n, calls=3)]
        history += [{"role": "assistant", "content": f"answer {n}"}]
    return history


def run_printed(text):
    """Run a printed test as pytest would; return whether it passed."""
    names = {}
    exec(compile(text, "printed", "exec"), names)  # noqa: S102 - that it runs is what is tested
    [test] = [value for name, value in names.items() if name.startswith("test_")]
    try:
        test()
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("law", FAULTY)
def test_the_printed_test_fails_until_the_policy_is_mended(law, monkeypatch):
    policy = FAULTY[law]
    declares = (law,) if law in ("identity-below-budget", "idempotent", "always-extended") else ()
    verdict = judge_laws(
        LawPlan(partial(policy), counter=characters, declares=declares, max_examples=30)
    )  # no process is started for a partial of a name
    [text] = verdict.tests
    assert text.count('"role"') <= 6
    assert run_printed(text) is False
    mended = FAULTY.get(None, faulty.MENDED[law])
    if law == "nothing-invented":
        text = text.replace("counter=", f"inserts={NOTE!r}, counter=")
    monkeypatch.setattr(faulty, policy.__name__, mended)
    assert run_printed(text) is True


@pytest.mark.parametrize("turns", [8, 20])
def test_a_counterexample_of_a_long_transcript_has_a_few_messages(turns):
    transcript = Transcript(name="long", messages=tuple(session(turns)[:-1]))
    verdict = judge_laws(
        LawPlan(
            lambda: faulty.splits_rounds,
            counter=characters,
            transcripts=(transcript,),
            max_examples=0,
        )
    )
    [finding] = verdict.judgement.findings
    assert re.search(r"a history of [345] messages, found in transcript long$", finding.where)


def test_shrinking_leaves_out_all_that_is_not_needed():
    def breaks(tried):
        for place, history in enumerate(tried):
            if any("answer 3" in str(m["content"]) for m in history) and history[-1] == last:
                return place, len(history)
        return None

    history = tuple(session(6)[:-1])
    last = history[-1]
    small, found = shrink(history, 0, breaks=breaks, rules=openai_rules)
    assert openai_rules(small) == []
    assert found == len(small) == 4  # a user first, the answer, and a round of one call
    assert [m["role"] for m in small] == ["user", "assistant", "assistant", "tool"]
    assert small[1]["content"] == "answer 3"


def test_shrinking_keeps_a_history_that_breaks_nothing_smaller():
    history = tuple(session(2)[:-1])
    assert shrink(history, 7, breaks=lambda tried: None, rules=openai_rules) == (history, 7)


def test_the_source_of_a_policy_without_a_name_says_where_it_is():
    verdict = judge_laws(
        LawPlan(lambda: SlidingWindow(last=1), counter=characters, max_examples=20)
    )
    [text] = verdict.tests
    assert re.search(r"# policy: put yours here \(<function .*test_laws_counterexamples", text)
    with pytest.raises(NameError, match="policy"):
        run_printed(text)


@pytest.mark.parametrize(
    ("policy", "options", "source"),
    [
        (SlidingWindow(last=1), {}, '"current-turn", SlidingWindow(last=1), history'),
        (SlidingWindow, {"sweep": {"last": (1,)}}, 'SlidingWindow, history, knobs={"last": 1}'),
        (partial(faulty.forgets_the_task), {}, "partial(forgets_the_task)"),
        (
            SlidingWindow(last=1),
            {"inserts": (re.compile("a.c", re.IGNORECASE), 'say "so"')},
            "re.compile('a.c', re.IGNORECASE)",
        ),
        (SlidingWindow(last=1), {"refuses": (ValueError,)}, "refuses=(ValueError,)"),
        (SlidingWindow(last=1), {"inserts": "any"}, 'inserts="any"'),
        (SlidingWindow(last=1), {"provider": "anthropic"}, 'provider="anthropic"'),
    ],
)
def test_a_policy_is_written_as_it_was_given(policy, options, source):
    verdict = judge_laws(LawPlan(policy, counter=characters, max_examples=25, **options))
    [text] = [text for text in verdict.tests if '"current-turn"' in text]
    assert source in re.sub(r"\s+", " ", text)
    assert run_printed(text) is False


def test_long_repeated_texts_are_short_in_the_source():
    def drops_long(messages):
        return [m for m in messages if len(str(m["content"])) < 3_000 or m["role"] == "assistant"]

    verdict = judge_laws(LawPlan(lambda: drops_long, counter=characters))
    [text] = [text for text in verdict.tests if '"well-formed"' in text]
    assert '"t" * 3' in text
    assert len(text) < 1_500


def test_the_same_in_every_run():
    first, second = (
        judge_laws(LawPlan(lambda: faulty.splits_rounds, counter=characters, max_examples=20))
        for _ in range(2)
    )
    assert first == second
    assert (
        judge_laws(LawPlan(lambda: fitted, counter=characters, max_examples=5, seed=1)).tests == ()
    )


def test_what_is_pasted_is_one_module_whose_imports_come_first():
    one = "import json\nfrom os import path\n\n\ndef test_one():\n    assert json\n"
    two = "import json\nfrom os import sep\n\n\ndef test_two():\n    assert sep\n"
    result = LawResult("fit", Judgement("policy_laws", ""), (one, two))
    assert result.paste == (
        "To see it again, and to keep it mended, paste:\n\n"
        "import json\nfrom os import path\nfrom os import sep\n\n\n"
        "def test_one():\n    assert json\n\n\n"
        "def test_two():\n    assert sep\n"
    )
    assert LawResult("fit", Judgement("policy_laws", "")).paste == ""
