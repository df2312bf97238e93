"""What counts as invented, as lost, as irreducible, as a refusal."""

import re

import pytest

from pytest_ctxguard import broken_law
from pytest_ctxguard.checks.laws.judging import LawPlan, judge_laws
from pytest_ctxguard.checks.laws.limits import irreducible
from pytest_ctxguard.checks.laws.terms import make_terms
from pytest_ctxguard.checks.laws.texts import invented
from pytest_ctxguard.errors import UsageError
from tests.checks.laws.faulty import characters, fitted


def user(content):
    return {"role": "user", "content": content}


def assistant(content=None, *calls):
    made = [
        {"id": i, "type": "function", "function": {"name": "read", "arguments": arguments}}
        for i, arguments in calls
    ]
    return {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}


def result(call, content):
    return {"role": "tool", "tool_call_id": call, "content": content}


IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
HISTORY = [
    {"role": "system", "content": "Be brief."},
    user("Read the two\n reports, please."),
    assistant(None, ("c1", '{"path": "a.csv", "rows": 40}')),
    result("c1", "rows: 1, 2, 3, 4, 5"),
    user([{"type": "text", "text": "And this?"}, IMAGE]),
]


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (user("Read the two reports"), ""),
        (user("Read the …, please."), ""),
        (user("reports... please"), ""),
        (user("Read the three reports"), "the text 'Read the three reports'"),
        (user("rows: 1, 2"), "the text 'rows: 1, 2'"),  # a tool said that
        ({"role": "system", "content": "rows: 1, 2 Be brief."}, "the text 'rows: 1, 2 Be brief.'"),
        ({"role": "system", "content": "[pinned] Read the two reports, please."}, ""),
        (user("[pinned]"), ""),
        (user("[cut 12 characters]"), ""),
        (user("[cut twelve characters]"), "the text '[cut twelve characters]'"),
        (user(""), ""),
        (user([IMAGE]), ""),
        (user([{"type": "input_audio"}]), "a part of type 'input_audio'"),
        (assistant(None, ("c1", "{}")), ""),
        (assistant(None, ("c1", '{"path": "a.csv", "rows": 40}')), ""),
        (assistant(None, ("c1", '{"path": "b.csv"}')), "the argument 'b.csv' of tool call 'c1'"),
        (assistant(None, ("c2", "{}")), "a tool call with id 'c2'"),
        (result("c1", "[unavailable]"), "the text '[unavailable]'"),
    ],
)
def test_what_is_invented(message, what):
    terms = make_terms(characters, inserts=("[pinned]", re.compile(r"\[cut \d+ characters\]")))
    assert invented(message, HISTORY, terms) == what


def test_a_renamed_tool_call_is_invented():
    call = assistant(None, ("c1", "{}"))
    call["tool_calls"][0]["function"]["name"] = "write"
    assert invented(call, HISTORY, make_terms(characters)) == "the name of tool call 'c1'"


def test_a_summary_may_say_anything_where_inserts_are_any():
    assert invented(user("A summary."), HISTORY, make_terms(characters, inserts="any")) == ""


def test_what_nothing_can_leave_out():
    assert irreducible(HISTORY) == {0, 1, 4}
    assert irreducible(HISTORY[:4]) == {0, 1, 2, 3}
    assert irreducible([user("a"), assistant("b"), user("c"), assistant("d"), user("e")]) == {0, 4}


CHAT = [user("What is the plan?"), assistant("None."), user("Then make one, in ten steps.")]
LOOP = [user("Read it."), assistant(None, ("c1", "{}")), result("c1", "a long result")]


def keeps(*messages):
    return lambda history: list(messages) if len(history) == 3 else list(history)


@pytest.mark.parametrize(
    ("history", "sent", "what"),
    [
        (CHAT, [CHAT[2]], None),
        (CHAT, [CHAT[0], CHAT[1]], "is not sent"),
        (CHAT, [user("Then make one […]")], None),
        (CHAT, [user("Then make one")], "is shortened, and nothing in it says so"),
        (CHAT, [{"role": "system", "content": "Task: Then make one, in ten steps."}], None),
        (CHAT, [user("[summary] a plan is wanted")], "is not sent"),
        (LOOP, LOOP[1:], "the last user message (message 0 of the history) is not sent"),
        (LOOP, LOOP[:1], "the open round (message 1 of the history) is not sent"),
        (LOOP, [*LOOP[:2], result("c1", "[cleared]")], None),
        (LOOP, [*LOOP[:2], result("c1", "a long")], "is shortened, and nothing in it says so"),
        (LOOP, [*LOOP[:2], result("c1", "")], "is shortened, and nothing in it says so"),
    ],
)
def test_what_is_lost_of_the_current_turn(history, sent, what):
    broken = broken_law("current-turn", keeps(*sent), history, counter=characters)
    if what is None:
        assert broken is None
    else:
        assert what in broken.what


def test_an_image_of_the_current_message_is_not_dropped_without_a_mark():
    asked = user([{"type": "text", "text": "What is this?"}, IMAGE])
    for text, kept in (("What is this?", False), ("What is this? [image removed]", True)):
        policy = keeps(user([{"type": "text", "text": text}]))
        history = [*CHAT[:2], asked]
        broken = broken_law("current-turn", policy, history, counter=characters)
        assert (broken is None) == kept


class Overflow(Exception):
    """Nothing fits."""


def refusing(messages, budget, count):
    sent = fitted(messages, budget, count)
    if count(sent) > budget:
        raise Overflow(f"{count(sent)} > {budget}")
    return sent


def refusing_too_soon(messages, budget, count):
    if count(messages) >= budget:
        raise Overflow("too long")
    return list(messages)


def test_a_declared_refusal_is_an_answer_and_an_undeclared_one_is_not():
    options = {"counter": characters, "max_examples": 20}
    kept = judge_laws(LawPlan(lambda: refusing, refuses=Overflow, **options))
    assert kept.judgement.findings == ()
    [finding] = judge_laws(LawPlan(lambda: refusing, **options)).judgement.findings
    assert finding.rule == "ctx_policy_laws.answers"
    assert finding.measured.startswith("Overflow: ")


def test_a_history_that_fits_is_not_refused():
    broken = broken_law(
        "answers", refusing_too_soon, CHAT, budget=characters(CHAT), counter=characters,
        refuses=(Overflow,),
    )  # fmt: skip
    assert broken.call == 1
    assert broken.what == "the policy refused a history that fits"


def test_the_first_call_that_raises_is_found_and_those_before_it_are_judged():
    history = [m for n in range(6) for m in (user(f"u{n}"), assistant(f"a{n}"))][:-1]

    def fourth(messages):
        if len(messages) > 6:
            raise ValueError("too many")
        return messages[:-1] or list(messages)

    assert broken_law("answers", fourth, history, counter=characters).call == 3
    assert broken_law("current-turn", fourth, history, counter=characters).call == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"provider": "acme"}, "provider='acme': there are rules for"),
        ({"inserts": ("",)}, "inserts has ''"),
        ({"inserts": (3,)}, "inserts has 3"),
        ({"refuses": ("Overflow",)}, "refuses has 'Overflow'"),
        ({"counter": 3}, "counter=3"),
        ({"declares": "order"}, "declares='order': a policy may declare identity-below-budget"),
        ({"budgets": (0,)}, "budgets has 0"),
        ({"max_examples": 0}, "leave nothing to check"),
    ],
)
def test_an_impossible_option_is_refused(options, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        judge_laws(LawPlan(fitted, **{"counter": characters, **options}))


def test_identity_below_a_budget_needs_one():
    with pytest.raises(UsageError, match="the policy takes no budget"):
        judge_laws(LawPlan(lambda m: m, counter=characters, declares=("identity-below-budget",)))


def test_an_unknown_law():
    with pytest.raises(UsageError, match="no law is named 'tidy'; there are: answers, "):
        broken_law("tidy", fitted, CHAT, budget=3, counter=characters)
