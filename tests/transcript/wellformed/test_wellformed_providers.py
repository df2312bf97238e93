"""What holds for the rules of every provider: no false alarm, no exception, sources named."""

import copy
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.transcript.library import builtin_folder, find
from pytest_ctxguard.transcript.wellformed import PROVIDERS, Sound, openai_rules
from tests.factories import assistant, call, calling, result, user

BUILT_IN = sorted(path.stem for path in builtin_folder().glob("*.jsonl"))
TOLERANT = ("openai", "openai-responses")  # of text that is empty or white space
per_provider = pytest.mark.parametrize("provider", PROVIDERS)


def spoken(history):
    """Put a word for each text without one, which some providers refuse."""
    return [
        message
        if message["content"] is None or message["content"].strip()
        else {**message, "content": "x"}
        for message in history
    ]


def test_providers_by_name():
    assert list(PROVIDERS) == ["openai", "openai-responses", "anthropic", "gemini", "bedrock"]
    assert {name: provider.name for name, provider in PROVIDERS.items()} == dict(
        zip(PROVIDERS, PROVIDERS, strict=True)
    )
    assert openai_rules is PROVIDERS["openai"]


@given(ctx.histories())
def test_a_valid_history_has_no_problem(history):
    before = copy.deepcopy(history)
    for name, rules in PROVIDERS.items():
        request = history if name in TOLERANT else spoken(history)
        assert rules(request, history=request) == [], name
    assert history == before


@per_provider
@pytest.mark.parametrize("name", BUILT_IN)
def test_no_call_of_a_built_in_transcript_has_a_problem(provider, name):
    transcript = find(name)
    for each in transcript.calls:
        history = transcript.messages[: each.history]
        assert PROVIDERS[provider](history, transcript.tools, history=history) == []


@given(ctx.histories(), st.data())
def test_half_a_tool_round_is_found(history, data):
    parts = [i for i, m in enumerate(history) if m["role"] == "tool" or "tool_calls" in m]
    assume(parts)
    dropped = data.draw(st.sampled_from(parts))
    rest = history[:dropped] + history[dropped + 1 :]
    wanted = "unanswered-call" if history[dropped]["role"] == "tool" else "orphan-result"
    for name, rules in PROVIDERS.items():
        assert wanted in {problem.rule for problem in rules(rest, history=history)}, name


KEYS = ["role", "content", "tool_calls", "tool_call_id", "thinking_blocks", "reasoning_items"]
RUBBISH = st.recursive(
    st.sampled_from(["user", "tool", "assistant", "system", "", " ", "\ud800", None, 3, True]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "type", "text", "function", "name", "arguments", "cache_control"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(st.sampled_from(KEYS), RUBBISH), max_size=5),
    st.lists(st.dictionaries(st.sampled_from(["type", "function"]), RUBBISH), max_size=2),
)
def test_rubbish_is_reported_not_raised(messages, tools):
    for rules in PROVIDERS.values():
        for problem in rules(messages, tools, history=messages) + rules(messages, history=[]):
            assert problem.index is None or 0 <= problem.index < len(messages)
            assert problem.what
            assert problem.remedy


@per_provider
def test_a_message_is_looked_into_once_where_requests_share_it(provider):
    good, bad = {"role": "user", "content": "a"}, {"role": "user", "content": "\ud83d"}
    sound = Sound()
    assert PROVIDERS[provider]([good], sound=sound) == []
    assert sound.alone == {id(good)}
    assert [p.rule for p in PROVIDERS[provider]([bad], sound=sound)] == ["lone-surrogate"]
    assert sound.alone == {id(good)}
    assert PROVIDERS[provider]([bad], sound=Sound(alone={id(bad)})) == []


POOL = (
    user("a"),
    assistant("b"),
    calling(call("c1")),
    result("x", "c1"),
    calling(call("c1"), call("c2")),
    result("y", "c2"),
    calling(call("c3"), call("c3")),
)


@st.composite
def grown(draw):
    """Requests that begin alike, each cut somewhere and gone on with otherwise."""
    requests, request = [], []
    for _ in range(draw(st.integers(2, 6))):
        kept = draw(st.integers(0, len(request)))
        request = [*request[:kept], *draw(st.lists(st.sampled_from(POOL), max_size=6))]
        requests.append(tuple(request))
    return requests


@per_provider
@given(requests=grown())
def test_requests_judged_one_after_the_other_are_judged_as_each_alone(provider, requests):
    sound = Sound()
    for request in requests:
        assert PROVIDERS[provider](request, sound=sound) == PROVIDERS[provider](request)


@per_provider
def test_every_rule_names_its_source_and_date(provider):
    for id_, rule in PROVIDERS[provider].rules.items():
        assert rule.id == id_
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", id_)
        assert re.fullmatch(r"https://[a-z.]+/\S+", rule.source)
        assert re.fullmatch(r"20\d\d(-\d\d){0,2}", rule.date)
