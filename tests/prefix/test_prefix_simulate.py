"""Prompt caches by their rules; for each rule, a session in which it alone changes the result."""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.prefix.rules import SECTIONS, TEMPLATE, Rule, load_rules
from pytest_ctxguard.prefix.simulate import simulate
from tests.factories import LetterCounter, assistant, encoder, system, tool, user
from tests.prefix.letters import LetterEncoder, sent


def rule(match, **fields):
    day = date(2026, 11, 30)
    given_ = {"name": "mine", "dated": day, "source": "a test", "seen": day, "match": match}
    weights = {"order": SECTIONS, "read": 0, "write": 1}
    return Rule(**{**given_, **weights, **fields})


def taken(requests, rules, **options):
    """Return (read, written, plain) of each call."""
    calls = simulate(requests, rule=rules, counter=LetterEncoder(), **options).calls
    return [(call.read, call.written, call.plain) for call in calls]


def read(requests, rules, **options):
    return [found[0] for found in taken(requests, rules, **options)]


def misses(requests, rules, **options):
    return [
        call.miss
        for call in simulate(requests, rule=rules, counter=LetterEncoder(), **options).calls
    ]


# 13 tokens with the generation prompt, then 26, then 39: each goes on from the one before
GROWING = [
    sent(*(user("x" * 4), assistant("y" * 4), user("z" * 5), assistant("w" * 9), user("vv"))[:n])
    for n in (1, 3, 5)
]
SIZES = [7, 20, 35]


def test_a_growing_session_is_read_as_far_as_it_was_sent():
    assert [LetterEncoder().count(each.messages) for each in GROWING] == SIZES
    for rules in (rule("prefix"), rule("units"), rule("slots")):
        assert taken(GROWING, rules) == [(0, 7, 0), (7, 13, 0), (20, 15, 0)]
        assert misses(GROWING, rules) == ["first call", "", ""]


def test_the_prompt_to_answer_belongs_to_no_block():
    rules = rule("breakpoints")
    assert taken(GROWING, rules) == [(0, 6, 1), (6, 13, 1), (19, 15, 1)]
    assert misses(GROWING, rules) == ["first call", "", ""]


@pytest.mark.parametrize(("match", "second"), [("prefix", 20), ("breakpoints", 19)])
def test_a_shorter_prefix_than_the_minimum_is_not_kept(match, second):
    assert read(GROWING, rule(match, minimum=second)) == [0, 0, second]
    high = rule(match, minimum=second + 1)
    assert read(GROWING, high) == [0, 0, 0]
    assert misses(GROWING, high)[1:] == [f"below the minimum of {second + 1} tokens"] * 2


def test_only_whole_blocks_of_tokens_are_found():
    assert taken(GROWING, rule("prefix", granularity=4)) == [(0, 4, 3), (4, 16, 0), (20, 12, 3)]
    assert read(GROWING, rule("prefix", granularity=16)) == [0, 0, 16]


def test_some_tokens_are_always_computed():
    twice = [GROWING[0], GROWING[0]]
    for match in ("prefix", "slots"):
        assert read(twice, rule(match)) == [0, 7]
        assert read(twice, rule(match, always_computed=1)) == [0, 6]
    assert read([GROWING[1]] * 2, rule("prefix", granularity=4, always_computed=1)) == [0, 16]


@pytest.mark.parametrize("match", ["prefix", "breakpoints", "units", "slots"])
def test_entries_expire_and_are_kept_by_use(match):
    kept = read(GROWING, rule(match))
    assert read(GROWING, rule(match, ttl_seconds=60), pace=60) == kept  # used at 60, too
    assert read(GROWING, rule(match, ttl_seconds=60), pace=61) == [0, 0, 0]
    why = "expired: unused for 61 s, kept for 60"
    assert misses(GROWING, rule(match, ttl_seconds=60), pace=61)[1:] == [why, why]


def test_recorded_times_are_used_and_a_stated_pace_over_them():
    timed = [
        replace(each, at=at) for each, at in zip(GROWING, (1000.0, 1010.0, 1100.0), strict=True)
    ]
    rules = rule("prefix", ttl_seconds=60)
    assert read(timed, rules) == [0, 7, 0]
    found = simulate(timed, rule=rules, counter=LetterEncoder())
    assert (found.times, found.calls[2].at) == ("as recorded", 100.0)
    assert read(timed, rules, pace=1) == [0, 7, 20]
    unknown = simulate([*timed[:2], GROWING[2]], rule=rules, counter=LetterEncoder())
    assert unknown.times == "no times on record: all calls at once"
    back = simulate(timed[::-1], rule=rules, counter=LetterEncoder())
    assert back.times == "times on record are not in order: all calls at once"


@pytest.mark.parametrize("pace", [-1, float("nan"), True, "fast"])
def test_a_pace_is_a_number_of_seconds(pace):
    with pytest.raises(UsageError, match="pace="):
        read(GROWING, rule("prefix"), pace=pace)


def test_no_requests_are_no_session():
    with pytest.raises(UsageError, match="at least one request"):
        read([], rule("prefix"))


def test_the_answer_is_kept_where_the_rules_say_so():
    answered = [replace(GROWING[0], answer=assistant("y" * 4)), GROWING[1]]
    for match in ("prefix", "units", "slots"):
        assert read(answered, rule(match)) == [0, 7]
        assert read(answered, rule(match, keeps_output=True)) == [0, 12]


BRANCHES = [sent(user("aaaa"), user(end)) for end in ("bbbb", "cccc", "dddd")]


def test_units_are_found_whole_or_not_at_all():
    assert read(BRANCHES, rule("prefix")) == [0, 7, 7]
    # A+C after A+B misses, although A is shared; then A is known to be common, and kept
    assert read(BRANCHES, rule("units")) == [0, 0, 7]
    assert misses(BRANCHES, rule("units"))[1] == "the 7 tokens shared are no whole unit"


def test_a_slot_holds_its_last_request_only():
    back = [BRANCHES[0], sent(user("zzzz")), BRANCHES[0]]
    assert read(back, rule("prefix")) == [0, 1, 13]
    assert read(back, rule("slots")) == [0, 1, 1]
    assert read(back, rule("slots", slots=2, similarity=0.5)) == [0, 0, 13]


def test_a_slot_must_be_similar_enough_to_be_chosen():
    # 7 of 13 tokens are shared
    assert read(BRANCHES[:2], rule("slots", slots=2, similarity=0.5)) == [0, 7]
    assert read(BRANCHES[:2], rule("slots", slots=2, similarity=0.6)) == [0, 0]
    assert misses(BRANCHES[:2], rule("slots", slots=2, similarity=0.6))[1] == (
        "no slot shares 60% of the request"
    )


def test_the_slot_unused_for_longest_gives_way():
    one, two, three = (sent(user(letter * 4)) for letter in "abc")
    assert read([one, two, three, two, one], rule("slots", slots=2, similarity=0.5)) == [
        0, 0, 1, 7, 1,
    ]  # fmt: skip


def marked(text):
    return {"role": "user", "content": [
        {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
    ]}  # fmt: skip


def test_entries_end_at_marks_and_are_found_within_the_look_back():
    one = sent(user("a"), marked("b"))
    later = sent(user("a"), marked("b").copy(), *(user("c") for _ in range(3)), marked("d"))
    plain = sent(user("a"), user([{"type": "text", "text": "b"}]),
                 *(user("c") for _ in range(3)), marked("d"))  # fmt: skip
    for second in (later, plain):
        assert read([one, second], rule("breakpoints")) == [0, 6]
    assert read([one, plain], rule("breakpoints", look_back=4)) == [0, 6]
    assert read([one, plain], rule("breakpoints", look_back=3)) == [0, 0]
    assert read([one, later], rule("breakpoints", look_back=3)) == [0, 6]  # marked there, too
    assert misses([one, plain], rule("breakpoints", look_back=3))[1] == (
        "no cache mark within 3 blocks after the last entry"
    )
    assert taken([one, plain], rule("breakpoints")) == [(0, 6, 1), (6, 12, 1)]


def test_what_stands_behind_the_last_mark_is_plain():
    assert taken([sent(marked("ab"), user("cd"))], rule("breakpoints")) == [(0, 4, 5)]


def test_content_blocks_are_counted_one_by_one():
    parts = [{"type": "text", "text": letter} for letter in "cccccc"]
    one, two = (
        sent(marked("b")),
        sent(user([{"type": "text", "text": "b"}]), user(parts), marked("d")),
    )
    assert read([one, two], rule("breakpoints", look_back=7)) == [0, 3]
    assert read([one, two], rule("breakpoints", look_back=6)) == [0, 0]


def test_more_marks_than_allowed_are_refused():
    request = sent(*(marked(letter) for letter in "abc"))
    assert taken([request], rule("breakpoints", max_marks=3)) == [(0, 9, 1)]
    assert taken([request], rule("breakpoints", max_marks=2)) == [(0, 0, 10)]
    assert misses([request], rule("breakpoints", max_marks=2)) == [
        "refused: 3 cache marks, 2 allowed"
    ]


def test_only_the_latest_entries_are_looked_at():
    growing = [sent(*(user(letter) for letter in "abcd"[:n])) for n in (1, 2, 3)]
    back = [*growing, sent(user("a"), user("z"))]
    fields = {"automatic": ("last",)}
    assert read(back, rule("breakpoints", **fields))[-1] == 3
    assert read(back, rule("breakpoints", latest_marks=2, **fields))[-1] == 0
    assert misses(back, rule("breakpoints", latest_marks=2, **fields))[-1] == (
        "not among the latest 2 entries"
    )


def test_marks_are_put_where_the_rules_say_into_requests_without_any():
    requests = [sent(system("s" * 9), user(text), tools=(tool("tttt"),)) for text in ("a", "b")]
    sizes = {"last": 0, "system": 15, "tools": 4}
    for name, size in sizes.items():
        assert read(requests, rule("breakpoints", automatic=(name,))) == [0, size], name
    assert read(requests, rule("breakpoints")) == [0, 15]  # tools, system, last


def test_some_settings_void_the_messages_only():
    def requests(**settings):
        messages = (system("s" * 9), user("a"))
        return [sent(*messages), sent(*messages, user("b"), settings=settings)]

    void = rule("breakpoints", void_messages=("tool_choice", "thinking"))
    assert read(requests(), void) == [0, 14]
    assert read(requests(tool_choice="none"), void) == [0, 11]  # the system message
    assert read(requests(tool_choice="none"), rule("breakpoints")) == [0, 14]
    assert misses(requests(tool_choice="none"), void)[1] == "tool_choice changed"


def test_images_void_the_messages_where_the_rules_say_so():
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}
    requests = [sent(system("s" * 9), user("a")), sent(system("s" * 9), user("a"), image)]
    assert read(requests, rule("breakpoints")) == [0, 14]
    assert read(requests, rule("breakpoints", void_messages=("images",))) == [0, 11]


def test_the_order_of_sections_decides_what_a_changed_tool_costs():
    requests = [sent(system("s" * 9), user("a"), tools=(tool(name),)) for name in ("x", "y")]
    assert read(requests, rule("prefix")) == [0, 0]
    assert read(requests, rule("prefix", order=TEMPLATE)) == [0, 11]
    assert misses(requests, rule("prefix"))[1].endswith("tools edited")


def test_the_three_tiers():
    base = {"tools": (tool("tttt"),)}
    one = sent(system("ssss"), user("aaaa"), **base)
    rules = rule("breakpoints")
    assert read([one, sent(system("ssss"), user("bbbb"), **base)], rules) == [0, 10]
    assert read([one, sent(system("rrrr"), user("aaaa"), **base)], rules) == [0, 4]
    assert read([one, sent(*one.messages, tools=(tool("uuuu"),))], rules) == [0, 0]


class Silent(LetterEncoder):
    """Puts nothing behind the messages, so that a request without any is empty."""

    def encode(self, messages, *, tools=(), generation_prompt=True):
        return super().encode(messages, tools=tools, generation_prompt=False)


@pytest.mark.parametrize("match", ["prefix", "breakpoints", "units", "slots"])
def test_an_empty_request_takes_nothing(match):
    fields = {"always_computed": 1} if match in ("prefix", "slots") else {}
    requests = [sent(), sent(user("a")), sent()]
    found = simulate(requests, rule=rule(match, **fields), counter=Silent())
    assert [call.tokens for call in found.calls] == [0, 3, 0]
    assert [call.read for call in found.calls] == [0, 0, 0]


def test_a_mark_on_the_message_is_one_on_its_last_block():
    request = sent({**user("ab"), "cache_control": {"type": "ephemeral"}}, user("cd"))
    assert taken([request], rule("breakpoints")) == [(0, 4, 5)]
    one = {"role": "tool", "tool_call_id": "c", "content": marked("ab")["content"]}
    assert taken([sent(one, user("cd"))], rule("breakpoints")) == [(0, 4, 5)]


def test_another_model_has_another_cache():
    requests = [replace(GROWING[0], model="a"), replace(GROWING[1], model="b"),
                replace(GROWING[2], model="a")]  # fmt: skip
    assert read(requests, rule("prefix")) == [0, 0, 7]
    assert misses(requests, rule("prefix"))[1] == "another model: a, then b"


def test_a_miss_names_what_changed():
    requests = [sent(system("It is 10:00."), user("a")), sent(system("It is 10:01."), user("a"))]
    assert misses(requests, rule("prefix"))[1] == (
        "system, message 0, content, character 10: clock"
    )


def test_without_encoding_messages_are_found_whole():
    found = simulate(BRANCHES, rule=rule("prefix"), counter=LetterCounter())
    assert (found.level, [call.read for call in found.calls]) == ("messages", [0, 4, 4])


@pytest.mark.parametrize("name", sorted(load_rules()))
def test_by_every_rule_of_ours_the_calls_add_up(name):
    requests = [sent(system("Help. " * 400), *each.messages, tools=(tool(),)) for each in GROWING]
    found = simulate(requests, rule=load_rules()[name], counter=encoder(), pace=1)
    for call, request in zip(found.calls, requests, strict=True):
        assert call.tokens == encoder().count(request.messages, tools=request.tools)
        assert min(call.read, call.written, call.plain) >= 0


TEXTS = st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=4)


@given(st.lists(TEXTS, min_size=1, max_size=5), st.sampled_from(["prefix", "breakpoints", "units",
                                                                 "slots"]))  # fmt: skip
def test_no_more_is_read_than_was_ever_sent(session, match):
    requests = [sent(*map(user, texts)) for texts in session]
    best = read(requests, rule("prefix"))
    found = simulate(requests, rule=rule(match), counter=LetterEncoder())
    for call, most, request in zip(found.calls, best, requests, strict=True):
        assert 0 <= call.read <= most
        assert call.tokens == LetterEncoder().count(request.messages)
        assert min(call.written, call.plain) >= 0
