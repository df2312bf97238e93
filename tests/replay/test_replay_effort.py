"""A replay's work grows with the session, not with its square."""

import pytest

from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.model import Transcript
from tests.factories import call, calling, encoder, result, system, tool, user


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
