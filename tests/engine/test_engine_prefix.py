from __future__ import annotations

from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.engine.prefix import Plan, Prefixes, chunks, shared_by_all, shared_length

TOKENS = st.lists(st.integers(0, 2), max_size=40)


@given(TOKENS, TOKENS)
def test_shared_length_is_that_of_the_common_prefix(first, second):
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    assert shared_length(first, second) == len(list(same))


@given(st.integers(0, 50), st.integers(2, 900), st.integers(3, 300))
def test_chunks_cover_every_row_once_and_none_is_alone(start, count, size):
    parts = chunks(start, start + count, size=size)
    assert [row for a, b in parts for row in range(a, b)] == list(range(start, start + count))
    assert all(2 <= b - a <= size for a, b in parts)


def test_one_row_in_all_is_one_chunk():
    assert chunks(0, 1, size=256) == [(0, 1)]


def ask(prefixes: Prefixes, prompt: list[int]) -> Plan:
    plan = prefixes.begin(prompt)
    prefixes.commit(plan.slot, prompt)
    return plan


def test_the_last_two_tokens_are_always_computed():
    prefixes = Prefixes()
    prompt = list(range(100))
    ask(prefixes, prompt)
    assert ask(prefixes, prompt).reuse == 98
    assert ask(prefixes, prompt[:50]).reuse == 48


def test_a_growing_prompt_stays_in_its_slot():
    prefixes = Prefixes()
    first = ask(prefixes, list(range(100)))
    second = ask(prefixes, list(range(150)))
    assert second == Plan(slot=first.slot, source=first.slot, reuse=100)


def test_two_alternating_prefixes_both_stay_alive():
    prefixes = Prefixes()
    shared = list(range(20))
    for length in range(100, 500, 50):
        tools = ask(prefixes, [*shared, *range(1000, 1000 + length)])
        plain = ask(prefixes, [*shared, *range(5000, 5000 + length)])
        if length > 100:
            assert tools.reuse == 20 + length - 50
            assert plain.reuse == 20 + length - 50


def test_a_short_shared_prefix_is_copied_away_from_a_long_prompt():
    prefixes = Prefixes()
    long = ask(prefixes, list(range(1000)))
    short = ask(prefixes, [*range(50), 7, 7, 7])
    assert short == Plan(slot=long.slot + 1, source=long.slot, reuse=50)
    assert ask(prefixes, list(range(1000))).reuse == 998


def test_the_slot_unused_for_longest_is_evicted_first():
    prefixes = Prefixes()
    first, second, third = (ask(prefixes, [n] * 10).slot for n in range(3))
    ask(prefixes, [0] * 10)
    assert prefixes.evict(keep=[second]) == third
    assert prefixes.evict(keep=[]) == second
    assert prefixes.evict(keep=[first, None]) is None
    assert ask(prefixes, [0] * 10).reuse == 8


def test_a_copy_is_not_believed_in_before_it_is_made():
    prefixes = Prefixes()
    long = ask(prefixes, list(range(1000)))
    plan = prefixes.begin([*range(50), 7, 7, 7])  # no commit: there was no memory for the copy
    assert plan.source == long.slot
    assert prefixes.held(plan.slot) == ()


def test_rows_are_forgotten_before_they_are_overwritten():
    prefixes = Prefixes()
    ask(prefixes, list(range(100)))
    plan = prefixes.begin([*range(60), *range(500, 540)])  # no commit: the computation failed
    assert prefixes.held(plan.slot) == tuple(range(60))
    assert ask(prefixes, list(range(100))).reuse == 60


@given(st.lists(TOKENS.filter(len), max_size=8))
def test_what_is_reused_is_the_most_that_any_slot_holds(prompts):
    prefixes = Prefixes()
    live = {}
    for prompt in prompts:
        plan = prefixes.begin(prompt)
        best = max((shared_length(held, prompt) for held in live.values()), default=0)
        assert plan.reuse == max(0, min(best, len(prompt) - 2))
        if plan.source is not None:
            assert list(live[plan.source][: plan.reuse]) == prompt[: plan.reuse]
        prefixes.commit(plan.slot, prompt)
        live[plan.slot] = prompt


@given(st.lists(TOKENS.filter(lambda tokens: len(tokens) > 1), min_size=1, max_size=5))
def test_what_all_prompts_share_leaves_each_something_to_compute(prompts):
    shared = shared_by_all(prompts)
    assert all(prompt[:shared] == prompts[0][:shared] for prompt in prompts)
    assert all(len(prompt) - shared >= 2 for prompt in prompts)
    longer = {tuple(prompt[: shared + 1]) for prompt in prompts}
    assert len(longer) > 1 or min(map(len, prompts)) - shared == 2
