"""What holds for every estimator, each broken by one that real programs have had."""

import functools
import itertools
import json

import pytest

from pytest_ctxguard.tokens.estimates.asking import asked
from pytest_ctxguard.tokens.estimates.properties import broken_properties
from pytest_ctxguard.tokens.estimators import MessageEstimator, by_script, chars_per_4
from pytest_ctxguard.transcript.messages import content_text, tool_calls


def broken(estimator, takes="messages"):
    return {each.name: each for each in broken_properties(asked(estimator, takes=takes))}


def size(text):
    return -(-len(text) // 4)


def message_size(message):
    calls = "".join(str(call["function"]) for call in tool_calls(message))
    return 4 + size(content_text(message)) + size(calls)


def whole(messages):
    return 3 + sum(map(message_size, messages))


def test_those_of_this_package_have_them_all():
    assert broken(by_script, "text") == broken(chars_per_4, "text") == {}
    assert broken(MessageEstimator().request) == {}
    assert broken(whole) == {}


def test_a_text_that_spells_a_control_token_is_text():
    def refusing(text):
        if "<|endoftext|>" in text:
            raise ValueError("special token in text")
        return size(text)

    found = broken(refusing, "text")["accepts"]
    assert found.where == "control tokens, spelled"
    assert found.measured == "ValueError: special token in text"


def test_half_a_surrogate_pair_is_text():
    assert broken(lambda text: len(text.encode()), "text")["accepts"].where == (
        "half a surrogate pair"
    )


def test_the_same_text_is_the_same_number():
    calls = itertools.count()
    assert "repeats" in broken(lambda text: size(text) + next(calls), "text")


def test_a_longer_text_is_not_less():
    assert "grows" in broken(lambda text: size(text) if len(text) < 5000 else 0, "text")


def test_more_messages_are_not_less():
    """One path with calls, another without: as in a public report."""

    def two_paths(messages):
        called = [str(call["function"]) for m in messages for call in tool_calls(m)]
        texts = called or [content_text(m) for m in messages]
        return sum(map(size, texts))

    found = broken(two_paths)
    assert found["grows"].where.startswith("message 2 (assistant) of a session")
    assert "adds-up" in found


def test_a_message_adds_the_same_wherever_it_stands():
    def by_role(messages):
        return sum(message_size(m) * (2 if n > 3 else 1) for n, m in enumerate(messages))

    assert set(broken(by_role)) == {"adds-up"}


def test_a_text_part_is_the_text():
    def dumped(messages):
        return sum(size(str(m["content"])) + size(str(tool_calls(m))) for m in messages)

    found = broken(dumped)
    assert "reads-blocks" in found
    assert "as a list with one text part" in found["reads-blocks"].measured


def test_an_image_is_not_billed_by_its_base64():
    def serialised(messages):
        def plain(message):
            content = message["content"]
            parts = content if isinstance(content, list) else []
            text = "".join(json.dumps(p) for p in parts if p["type"] != "text")
            return message_size(message) + size(text)

        return sum(map(plain, messages))

    assert set(broken(serialised)) == {"prices-images"}


def test_an_estimator_that_knows_strings_only_is_told_so():
    def strings_only(messages):
        return sum(len(m["content"] or "") + len(m["content"].split()) for m in messages)

    found = broken(strings_only)
    assert found
    assert any("AttributeError" in each.measured for each in found.values())


@pytest.mark.parametrize("takes", ["text", "messages"])
def test_nothing_given_is_changed_by_what_an_estimator_does_to_it(takes):
    def taking(given):
        if isinstance(given, list):
            total = whole(given)
            for message in given:
                message.clear()
            return total
        return size(given)

    assert broken(taking, takes) == {}


def test_a_partial_has_a_name():
    assert asked(functools.partial(int, base=2), takes="text").name == "partial"
