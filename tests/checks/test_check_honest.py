"""``ctx_honest``: acts, does not fail open, does not grow, counts everything, says so."""

import pytest

from pytest_ctxguard.checks.honest import Honest, floor, least
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.declare import mutates, persists
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from pytest_ctxguard.policies.three_step_fit import (
    CLEARED_NOTE,
    CountedThreeStepFit,
    ThreeStepFit,
)
from pytest_ctxguard.replay.again import repeater
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.tokens.estimators import MessageEstimator, chars_per_4
from pytest_ctxguard.transcript.messages import content_text
from tests.factories import (
    LetterCounter,
    assistant,
    call,
    calling,
    case_of,
    encoder,
    result,
    session,
    system,
    tool,
    user,
)


def loop(rounds=10, letters=60):
    """An agent's one turn: a task, then tool rounds."""
    messages = [system("You help."), user("Read them all.")]
    for n in range(rounds):
        messages += [calling(call(f"c{n}", page=n)), result("x" * letters, f"c{n}")]
    return session(messages=tuple(messages), facts=())


def judged(policy, *, transcript=None, budget=None, counter=None, **promise):
    plan = Plan(
        transcript=transcript or loop(),
        policy=policy,
        counter=counter or LetterCounter(),
        budget=budget,
    )
    again = repeater(plan)
    case = case_of(run(plan), again=again)
    return Honest(**promise).judge(case)


def rules(judgement):
    return [finding.rule.removeprefix("ctx_honest.") for finding in judgement.findings]


WORDS = "the log says that all is well and nobody was paged tonight " * 5
PROSE = tuple({**m, "content": WORDS} if m["role"] == "tool" else m for m in loop(30).messages)
CHAT = (system(), *(m for n in range(20) for m in (user(WORDS + str(n)), assistant(WORDS))))
WELL_BEHAVED = {
    "three-step-fit": (ThreeStepFit, CHAT, 900),
    "three-step-fit-counted": (CountedThreeStepFit, PROSE, 900),
    "a window": (SlidingWindow, PROSE, None),
}


@pytest.mark.parametrize(("policy", "messages", "budget"), WELL_BEHAVED.values(), ids=WELL_BEHAVED)
def test_reference_policies_raise_no_alarm(policy, messages, budget):
    transcript = session(messages=messages, facts=())
    judgement = judged(policy, transcript=transcript, budget=budget, counter=encoder())
    assert (judgement.promise, rules(judgement)) == ("honest", [])
    assert not judgement.summary.startswith("0 of")


def test_a_policy_that_never_acts():
    judgement = judged(list, budget=100_000)
    assert rules(judgement) == ["idle"]
    assert judgement.findings[0].measured == "0 of 11 requests"


def fails_open(messages, budget, count):
    """Cut small histories, and give up on large ones."""
    cut = [*messages[:2], *messages[-2:]] if len(messages) < 14 else messages
    return list(messages) if count(messages) <= budget else list(cut)


def test_returning_the_input_over_the_budget():
    judgement = judged(fails_open, budget=300)
    assert rules(judgement) == ["fail-open"]
    finding = judgement.findings[0]
    assert finding.measured == "834 tokens, in 5 requests uncut"
    assert finding.allowed == "300 tokens; instructions, task and newest round alone have 114"
    assert finding.where == "transcript small, policy fails_open, call 10"


def test_what_nobody_could_cut_is_no_failing_open():
    """The task alone is too long: the input is all there is."""
    messages = (user("a" * 50), assistant("Yes."), user("a" * 200))
    judgement = judged(
        lambda m: m[-1:], transcript=session(messages=messages, facts=()), budget=150
    )
    assert rules(judgement) == ["infeasible"]


def test_a_budget_that_no_policy_can_meet():
    messages = (system("s" * 90), user("a" * 12), assistant("Yes."), user("b" * 12))
    transcript = session(messages=messages, facts=())
    judgement = judged(lambda m: [m[0], m[-1]], transcript=transcript, budget=100)
    assert rules(judgement) == ["infeasible"]
    finding = judgement.findings[0]
    assert finding.measured == (
        "113 tokens without any history: 101 of instructions, tools and template, and the newest "
        "user message"
    )
    assert finding.remedy == "the smallest budget that works here is 113, plus what is to be kept"
    assert judged(lambda m: [m[0], m[-1]], transcript=transcript, budget=113).verdict == "pass"


def test_a_budget_that_is_met_by_shortening_what_is_new_can_be_met():
    messages = (system("s" * 20), user("a" * 12), assistant("Yes."), user("b" * 200))
    transcript = session(messages=messages, facts=())

    def shortened(messages):
        return [messages[0], {**messages[-1], "content": f"{messages[-1]['content'][:20]} [cut]"}]

    assert judged(shortened, transcript=transcript, budget=100, announce="never").verdict == "pass"
    assert rules(judged(lambda m: [m[0], m[-1]], transcript=transcript, budget=100)) == [
        "infeasible"
    ]


def test_making_a_request_larger():
    def notes(messages):
        return [messages[0], user("A note. " * 20), *messages[1:]]

    judgement = judged(notes, budget=600)
    assert rules(judgement) == ["grew"]
    finding = judgement.findings[0]
    assert finding.measured == "674 tokens given, 833 sent; 3 requests grew"
    assert judged(notes, budget=5000).verdict == "pass"  # below the budget a note may be added


def test_growth_is_judged_against_what_was_given():
    def grows(messages):
        return [*messages[2:], user("y" * 500)] if len(messages) > 8 else list(messages)

    assert rules(judged(persists(grows), budget=300)) == ["grew"]


def test_the_very_list_it_was_given():
    def window(messages):
        return messages if len(messages) < 6 else messages[-4:]

    judgement = judged(window)
    assert rules(judgement) == ["same-list"]
    assert judgement.findings[0].measured == "2 requests"
    assert rules(judged(lambda messages: messages)) == ["idle", "same-list"]

    @mutates
    def declared(messages):
        del messages[2:-2]

    assert judged(declared).verdict == "pass"


def clears(note):
    def policy(messages):
        old = messages[:-4]
        return [{**m, "content": note} if m["role"] == "tool" else m for m in old] + messages[-4:]

    return policy


@pytest.mark.parametrize("note", ["[cleared]", CLEARED_NOTE, "… 60 characters OMITTED"])
def test_what_tells_the_model(note):
    assert judged(clears(note)).verdict == "pass"


def test_clearing_in_silence():
    judgement = judged(clears(".."))
    assert rules(judgement) == ["not-announced"]
    finding = judgement.findings[0]
    assert finding.what == "messages were cleared, and nothing tells the model"
    assert finding.where == "transcript small, policy clears.<locals>.policy, call 3, message 3"
    assert finding.measured == "8 requests without a notice: '..'"
    assert judged(clears(".."), phrases=["…", ".."]).verdict == "pass"
    assert judged(clears(".."), announce="never").verdict == "pass"


def test_the_instructions_may_say_it():
    told = system("You help. Old tool results may be Cleared; read them again.")
    transcript = session(messages=(told, *loop().messages[1:]), facts=())
    assert judged(clears(".."), transcript=transcript).verdict == "pass"


def test_dropping_in_silence_counts_if_it_is_asked_for():
    def drops(note):
        return lambda m: [m[0], *note, *m[-2:]] if len(m) > 4 else list(m)

    assert judged(drops([])).verdict == "pass"
    judgement = judged(drops([]), announce="dropped")
    assert rules(judgement) == ["not-announced"]
    assert judgement.findings[0].measured == "9 requests without a notice"
    note = [user("[4 messages were left out here]")]
    assert judged(drops(note), announce="dropped").verdict == "pass"


def estimated(*, text=content_text, skip=()):
    """A window by an estimate of its own: the newest messages that fit, by what it looks at."""

    def size(message):
        return 0 if message["role"] in skip else len(text(message)) + 1

    def policy(messages, budget):
        left = budget - size(messages[0])
        kept = []
        for message in reversed(messages[1:]):
            left -= size(message)
            if left < 0:
                break
            kept.insert(0, message)
        return [messages[0], *kept]

    return policy


def test_a_counter_of_its_own_that_sees_text_only():
    judgement = judged(estimated(), budget=400)
    assert rules(judgement) == ["fail-open", "blind-counter"]
    finding = judgement.findings[-1]
    assert finding.what == (
        "the policy's counter does not see tool-call arguments and tool definitions"
    )
    talk = tuple(
        {**m, "content": "z" * 30} if m["role"] == "assistant" else m for m in loop().messages
    )
    transcript = session(messages=talk, facts=())
    blind = judged(estimated(skip=("system", "tool")), transcript=transcript, budget=100)
    assert "instructions, tool results, tool-call arguments, tool definitions" in (
        blind.findings[-1].measured
    )


def test_the_reference_estimate_sees_everything():
    policy = ThreeStepFit(estimator=MessageEstimator(chars_per_4))
    assert "blind-counter" not in rules(judged(policy, budget=200, transcript=loop(20)))


def test_a_policy_that_counts_no_tokens_has_no_counter():
    assert judged(SlidingWindow(last=4), budget=5000).verdict == "pass"


def test_what_was_counted_with_the_replays_own_counter_is_known():
    def window(messages, budget, count):
        start = next(i for i in range(2, len(messages) + 1) if count(messages[i:]) <= budget)
        return [*messages[:2], *messages[start:]]

    judgement = judged(window, budget=300)
    assert rules(judgement) == ["blind-counter"]
    assert judgement.findings[0].what == "the policy's counter does not see instructions"

    def contents(messages, budget, count):
        bare = [{"role": "user", "content": m["content"]} for m in messages]
        start = next(i for i in range(2, len(messages) + 1) if count(bare[i:]) <= budget)
        return [*messages[:2], *messages[start:]]

    judgement = judged(contents, budget=300)
    assert judgement.findings[-1].what == (
        "the policy's counter does not see instructions and tool results and tool-call arguments"
    )
    assert judged(CountedThreeStepFit(), budget=300, announce="never").verdict == "pass"


def test_the_least_that_can_be_sent():
    messages = loop(3).messages
    assert floor(messages) == list(messages[:2])
    assert least(messages) == [*messages[:2], *messages[-2:]]
    assert least(messages[:2]) == list(messages[:2])
    assert least((system(), assistant("Hello."))) == [system(), assistant("Hello.")]
    later = (*messages, assistant("Done."), user("More?"))
    assert least(later) == [messages[0], user("More?")]


@pytest.mark.parametrize(
    "arguments", [{"announce": "all"}, {"phrases": "cleared"}, {"phrases": [""]}, {"phrases": [1]}]
)
def test_impossible_arguments(arguments):
    with pytest.raises(UsageError, match=r"ctx_honest: .*Usage: ctx_honest"):
        Honest(**arguments)


def test_a_session_without_tools_has_no_definitions_to_miss():
    chat = [system()]
    for n in range(10):
        chat += [user("x" * 40 + str(n)), assistant("y" * 40)]
    transcript = session(messages=tuple(chat), tools=(), facts=())
    assert judged(estimated(), transcript=transcript, budget=200).verdict == "pass"
    with_tools = session(messages=tuple(chat), tools=(tool(),), facts=())
    assert rules(judged(estimated(), transcript=with_tools, budget=200)) == ["blind-counter"]
