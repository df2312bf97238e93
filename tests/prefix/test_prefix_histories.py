"""Laws of prefixes, on generated histories."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.prefix.rules import load_rules
from pytest_ctxguard.transcript.model import Transcript
from tests.factories import LetterCounter, encoder, replayed


def transcripts():
    either = ctx.histories() | ctx.rich_histories()
    return either.map(lambda messages: Transcript(name="drawn", messages=tuple(messages)))


@settings(max_examples=25)
@given(transcripts(), st.booleans(), st.sampled_from(sorted(load_rules())))
def test_the_full_history_is_always_extended_and_costs_no_more_than_it_sends(drawn, encodes, name):
    if not drawn.calls:
        return
    counter = encoder() if encodes else LetterCounter()
    replay = replayed(full_history, drawn, counter=counter)
    changes = replay.changes
    assert len(changes) == len(replay.steps) - 1
    for change, tokens in zip(changes, replay.tokens.by_call, strict=False):
        assert change.kind in ("extended", "identical")
        assert change.before_tokens == tokens
    cost = replay.cost(name)
    assert cost.sent == replay.tokens.billed
    assert cost.weighted <= cost.sent * max(1, cost.simulation.rule.write)
    assert replay.cuts(name) == {}
