"""What policies cost with a cache: the table of docs/prefix.md."""

import pytest

from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from pytest_ctxguard.policies.three_step_fit import CountedThreeStepFit
from pytest_ctxguard.policies.user_messages import UserMessages
from pytest_ctxguard.transcript.library import find
from tests.factories import encoder, replayed


class RareAndDeep:
    """Cuts to 2,000 tokens, at a user message, whenever the request would be over 4,000."""

    def __init__(self):
        self.start = 1

    def __call__(self, messages, count):
        def kept(start):
            return [messages[0], *messages[start:]]

        if count(kept(self.start)) > 4000:
            starts = range(self.start, len(messages) - 1)
            self.start = next(
                (n for n in starts if messages[n]["role"] == "user" and count(kept(n)) <= 2000),
                len(messages) - 2,
            )
        return kept(self.start)


PROVIDERS = ("anthropic", "anthropic-opus-4-5", "openai", "deepseek", "vllm")
ROWS = {
    "full history": (
        full_history, None, 350_540, 0, 98, (45_284, 87_397, 46_988, 41_620, 7_724)
    ),
    "last 12 messages": (
        SlidingWindow(last=12), None, 166_244, 56, 77, (62_306, 166_244, 53_233, 53_982, 39_588)
    ),
    "user messages and last 4 turns": (
        UserMessages(last_turns=4), None, 187_323, 36, 87,
        (66_359, 187_323, 46_549, 44_661, 26_491),
    ),
    "three-step fit, by count, 4,000": (
        CountedThreeStepFit(), 4000, 229_613, 29, 76, (90_827, 229_613, 76_858, 75_235, 55_181)
    ),
    "cut to 2,000 whenever over 4,000": (
        RareAndDeep, None, 187_192, 3, 96, (28_949, 187_192, 30_059, 27_207, 7_800)
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row_of_the_table(row):
    policy, budget, raw, breaks, reused, costs = row
    replay = replayed(policy, find("incident-40"), budget=budget, counter=encoder())
    assert replay.tokens.billed == raw
    changes = replay.changes
    assert sum(change.breaks for change in changes) == breaks
    shared = sum(change.shared_tokens for change in changes)
    assert round(100 * shared / sum(change.tokens for change in changes)) == reused
    assert tuple(
        round(replay.cost(provider, pace=20).weighted) for provider in PROVIDERS
    ) == costs  # fmt: skip
