from __future__ import annotations

from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.engine.prefix import Plan, Prefixes, chunks, shared_length

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
    assert short == Plan(slot=1 - long.slot, source=long.slot, reuse=50)
    assert ask(prefixes, list(range(1000))).reuse == 998


def test_a_third_prompt_replaces_the_one_unused_for_longest():
    prefixes = Prefixes()
    first, second, third = ([n] * 10 for n in range(3))
    ask(prefixes, first)
    ask(prefixes, second)
    ask(prefixes, first)
    ask(prefixes, third)
    assert {prefixes.held(slot)[0] for slot in range(2)} == {0, 2}


def test_rows_are_forgotten_before_they_are_overwritten():
    prefixes = Prefixes()
    ask(prefixes, list(range(100)))
    plan = prefixes.begin([*range(60), *range(500, 540)])  # no commit: the computation failed
    assert prefixes.held(plan.slot) == tuple(range(60))
    assert ask(prefixes, list(range(100))).reuse == 60


@given(st.lists(TOKENS.filter(len), max_size=8))
def test_what_is_reused_is_what_the_source_holds(prompts):
    prefixes = Prefixes()
    for prompt in prompts:
        held = [prefixes.held(slot) for slot in range(2)]
        plan = prefixes.begin(prompt)
        assert held[plan.source][: plan.reuse] == tuple(prompt[: plan.reuse])
        assert plan.reuse <= max(0, len(prompt) - 2)
        prefixes.commit(plan.slot, prompt)
