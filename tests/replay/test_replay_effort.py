"""A replay's work grows with the session, not with its square."""

from collections import Counter

import pytest

from pytest_ctxguard.checks.wellformed import Wellformed
from pytest_ctxguard.policies.declare import persists
from pytest_ctxguard.replay import carried, history, origin
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.tokens import growing, known, request
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.wellformed import pairs
from tests.factories import (
    LetterCounter,
    call,
    calling,
    case_of,
    employee,
    encoder,
    result,
    system,
    tool,
    user,
)


class CountingTokenizer:
    def __init__(self, tokenizer):
        self.tokenizer, self.encoded = tokenizer, 0

    def encode(self, text, *, add_special_tokens):
        self.encoded += 1
        return self.tokenizer.encode(text, add_special_tokens=add_special_tokens)

    def get_added_tokens_decoder(self):
        return self.tokenizer.get_added_tokens_decoder()


def texts_encoded(calls, policy):
    messages = [system(), user("Read them all.")]
    for n in range(calls):
        messages += [calling(call(f"c{n}", page=n)), result(f"line {n}", f"c{n}")]
    counting = CountingTokenizer(encoder().tokenizer)
    counter = RequestEncoder(counting)
    transcript = Transcript(name="long", messages=tuple(messages), tools=(tool(),))
    replay = run(Plan(transcript=transcript, policy=policy, counter=counter))
    assert replay.tokens.final == encoder().count(replay.final.request.messages, tools=[tool()])
    return counting.encoded


@pytest.mark.parametrize("policy", [list, lambda messages: messages[-5:]], ids=["all", "window"])
def test_texts_encoded_grow_in_step_with_the_calls(policy):
    short, long = (texts_encoded(calls, lambda messages: policy(messages)) for calls in (50, 100))
    assert 1.8 < long / short < 2.2


def long_loop(calls):
    messages = [system(), user("Read them all.")]
    for n in range(calls):
        messages += [calling(call(f"c{n}", page=n)), result(f"line {n}", f"c{n}")]
    return Transcript(name="long", messages=tuple(messages), tools=(tool(),))


SHAPES = {
    "all": list,
    "copies": lambda messages: [dict(message) for message in messages],
    "shortens": lambda messages: [*messages[:1], *map(dict, messages[-5:])],
    "persists": persists(lambda messages: messages[-5:]),
}


@pytest.mark.parametrize("policy", SHAPES.values(), ids=SHAPES)
def test_messages_copied_and_written_out_grow_in_step_with_the_calls(policy, monkeypatch):
    done = Counter()

    def counted(module, name):
        original = getattr(module, name)

        def function(*args):
            done[name] += 1
            return original(*args)

        monkeypatch.setattr(module, name, function)

    counted(history, "copy_json")
    counted(origin, "message_key")
    work = []
    for calls in (50, 100):
        done.clear()
        run(Plan(transcript=long_loop(calls), policy=policy, counter=LetterCounter()))
        work.append(done.total())
    assert work[0] > 50
    assert work[1] < 2.2 * work[0]


def test_what_is_recorded_of_summaries_is_what_was_shown():
    def policy(messages, summarise):
        summarise(messages[-2:])
        return list(messages)

    for calls in (50, 100):
        plan = Plan(
            transcript=long_loop(calls),
            policy=policy,
            counter=LetterCounter(),
            summariser=lambda shown: "x",
        )
        shown = [s for summaries in run(plan).summaries for s in summaries]
        assert sum(len(summary.shown) for summary in shown) == 2 * (calls + 1)


def test_messages_counted_grow_in_step_with_the_calls(monkeypatch):
    read = Counter()

    def counted(module):
        original = module.see

        def see(message, index):
            read["messages"] += 1
            return original(message, index)

        monkeypatch.setattr(module, "see", see)

    counted(request)
    counted(growing)
    work = {}
    for policy in (list, lambda messages: messages[-5:]):
        for calls in (50, 100):
            read.clear()
            counter = RequestEncoder(encoder().tokenizer)
            run(Plan(transcript=long_loop(calls), policy=policy, counter=counter))
            work[policy, calls] = read.total()
        assert 50 < work[policy, 100] < 2.2 * work[policy, 50]


def test_messages_searched_for_a_fact_grow_in_step_with_the_calls(monkeypatch):
    searched = Counter()
    original = carried.full_text

    def full_text(message):
        searched["messages"] += 1
        return original(message)

    monkeypatch.setattr(carried, "full_text", full_text)
    work = []
    for calls in (50, 100):
        messages = [system(), user("My employee number is 4417."), *long_loop(calls).messages[2:]]
        transcript = Transcript(
            name="long", messages=tuple(messages), facts=(employee(asked_at=None),)
        )
        replay = run(Plan(transcript=transcript, policy=list, counter=LetterCounter()))
        searched.clear()
        assert replay.carried("employee").at("every")
        work.append(searched.total())
    assert 50 < work[1] < 2.2 * work[0]


def test_messages_read_for_a_policy_that_counts_grow_in_step_with_the_calls(monkeypatch):
    read = Counter()
    original = known.see

    def see(message, index):
        read["messages"] += 1
        return original(message, index)

    monkeypatch.setattr(known, "see", see)
    work = []
    for calls in (50, 100):
        read.clear()
        counter = RequestEncoder(encoder().tokenizer)
        plan = Plan(
            transcript=long_loop(calls),
            policy=lambda messages, count: messages[-count(messages) :],
            counter=counter,
        )
        assert run(plan).final.request.counted.times == 1
        work.append(read.total())
    assert 50 < work[1] < 2.2 * work[0]


@pytest.mark.parametrize("policy", SHAPES.values(), ids=SHAPES)
def test_messages_judged_grow_in_step_with_the_calls(policy, monkeypatch):
    judged = Counter()
    original = pairs.call_ids

    def call_ids(message):
        judged["messages"] += 1
        return original(message)

    monkeypatch.setattr(pairs, "call_ids", call_ids)
    work = []
    for calls in (50, 100):
        replay = run(Plan(transcript=long_loop(calls), policy=policy, counter=LetterCounter()))
        judged.clear()
        Wellformed().judge(case_of(replay))
        work.append(judged.total())
    assert 50 < work[1] < 2.2 * work[0]
