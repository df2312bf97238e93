"""What changed from one request to the next."""

import copy
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.prefix.changes import changes
from pytest_ctxguard.prefix.rules import TEMPLATE
from tests.factories import (
    LetterCounter,
    assistant,
    call,
    calling,
    encoder,
    result,
    system,
    tool,
    user,
)
from tests.prefix.letters import LetterEncoder, sent


def change(before, after, *, counter=None, **options):
    [only] = changes([before, after], counter=counter or LetterEncoder(), **options)
    return only


ASKED = (system("Help."), user("What?"))
ANSWERED = (*ASKED, assistant("That."), user("And?"))


def test_an_identical_request():
    found = change(sent(*ASKED), sent(*copy.deepcopy(ASKED)))
    assert (found.kind, found.breaks, found.where) == ("identical", False, "")
    assert found.shared_tokens == found.before_tokens == found.tokens == 15


def test_an_extended_request_shares_all_of_the_one_before():
    found = change(sent(*ASKED), sent(*ANSWERED))
    assert (found.kind, found.breaks, found.call) == ("extended", False, 1)
    assert (found.shared_tokens, found.before_tokens, found.tokens) == (15, 15, 28)
    assert found.level == "tokens"


def test_a_truncated_request_is_a_beginning_of_the_one_before():
    found = change(sent(*ANSWERED), sent(*ASKED))
    assert (found.kind, found.breaks, found.section) == ("truncated", True, None)
    assert found.shared_tokens == 15


def test_a_diverged_request_says_where_and_shows_both_texts():
    found = change(sent(*ANSWERED), sent(*ANSWERED[:2], assistant("Thus."), user("And?")))
    assert (found.kind, found.section, found.message) == ("diverged", "messages", 2)
    assert (found.path, found.character) == ("content", 2)
    assert (found.before, found.after) == ("That.", "Thus.")
    assert found.where == "messages, message 2, content, character 2"
    assert found.shared_tokens == 7 + 7 + 3


def test_a_long_text_is_shown_around_the_difference():
    one, other = (sent(user("a" * 99 + letter + "c" * 99), user("z")) for letter in "bd")
    found = change(one, other)
    assert found.before == "…" + "a" * 30 + "b" + "c" * 29 + "…"
    assert found.character == 99


def test_tools_come_first_or_where_the_template_has_them():
    one, other = sent(*ASKED, tools=(tool("a"),)), sent(*ASKED, tools=(tool("b"),))
    found = change(one, other)
    assert (found.section, found.message, found.shared_tokens) == ("tools", 0, 0)
    assert change(one, other, order=TEMPLATE).shared_tokens == 7  # the system message


def test_a_changed_system_message_keeps_the_tools_only_where_they_come_first():
    one = sent(*ASKED, tools=(tool("a"),))
    other = sent(system("Wait."), user("What?"), tools=(tool("a"),))
    assert change(one, other).section == "system"
    assert change(one, other).shared_tokens == 2  # tool a, BEGIN
    assert change(one, other, order=TEMPLATE).shared_tokens == 1


def test_without_encoding_messages_are_shared_whole():
    found = change(sent(user("abcd"), user("efgh")), sent(user("abcd"), user("efgi")),
                   counter=LetterCounter())  # fmt: skip
    assert (found.level, found.shared_tokens, found.tokens) == ("messages", 4, 9)


def test_requests_without_a_message_in_common_are_of_two_sessions():
    one, other = sent(*ASKED), sent(system("Help."), user("Other."))
    assert change(one, other).kind == "new session"
    assert change(one, other).breaks
    known = change(*(replace(each, session=3) for each in (one, other)))
    assert (known.kind, known.section) == ("diverged", "messages")


CLOCKS = [
    ("It is Fri 6 Mar 2026, 10:00.", "It is Fri 6 Mar 2026, 10:01."),
    ("Today's date: Tue Jun 16 2026", "Today's date: Wed Jun 17 2026"),
    ("at 2026-03-01T10:00:00Z", "at 2026-04-01T10:00:01.5+02:00"),
    ("since 1772791200", "since 1772791201"),
    ("8:05 pm", "8:06 pm"),
    ("Today is Tuesday.", "Today is Wednesday."),
    ("in June", "in July"),
]
NO_CLOCKS = [("my friend", "my monkey"), ("sunny", "saturated"), ("thus 7", "thus 8")]
CAUSES = {
    "order of the tools": (sent(*ASKED, tools=(tool("a"), tool("b"))),
                           sent(*ASKED, tools=(tool("b"), tool("a")))),
    "tools added": (sent(*ASKED, tools=(tool("a"),)),
                    sent(*ASKED, tools=(tool("b"), tool("a")))),
    "tools taken away": (sent(*ASKED, tools=(tool("a"), tool("b"))),
                         sent(*ASKED, tools=(tool("b"),))),
    "tools edited": (sent(*ASKED, tools=(tool("a"),)), sent(*ASKED, tools=(tool("b"),))),
    "no system any more": (sent(*ANSWERED), sent(*ANSWERED[1:])),
    "2 messages dropped": (sent(*ANSWERED, assistant("Yes.")),
                           sent(ANSWERED[0], *ANSWERED[3:], assistant("Yes."))),
    "1 message inserted": (sent(*ASKED), sent(ASKED[0], user("Note."), ASKED[1])),
    "2 messages replaced by 1": (sent(*ANSWERED), sent(ASKED[0], user("In short."), ANSWERED[3])),
    "order of the messages": (sent(user("a"), user("b")), sent(user("b"), user("a"))),
    "order of the lines": (sent(user("a\nb"), user("c")), sent(user("b\na"), user("c"))),
    "tool result cleared": (
        sent(user("a"), calling(call()), result("a long text")),
        sent(user("a"), calling(call()), result("[cleared]"), user("b")),
    ),
    "injected block moved to a later message": (
        sent(user("a\n<mode>x</mode>"), user("b")),
        sent(user("a"), user("b"), user("c\n<mode>x</mode>")),
    ),
    "block injected": (sent(user("a"), user("b")), sent(user("a <now>"), user("b"))),
    "injected block taken off": (sent(user("a <now>"), user("b")), sent(user("a"), user("b"))),
    "history edited": (sent(user("abc"), user("b")), sent(user("xyz"), user("b"))),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), CLOCKS)
def test_a_clock_is_told(before, after):
    found = change(sent(system(before), user("a")), sent(system(after), user("a")))
    assert (found.cause, found.why) == ("clock", "clock")


@pytest.mark.parametrize(("before", "after"), NO_CLOCKS)
def test_words_that_begin_like_a_day_are_no_clock(before, after):
    found = change(sent(system(before), user("a")), sent(system(after), user("a")))
    assert found.cause == "history edited"


@pytest.mark.parametrize(("cause", "requests"), CAUSES.items(), ids=CAUSES)
def test_the_likely_cause(cause, requests):
    found = change(*requests)
    assert (found.kind, found.cause) == ("diverged", cause)


def arguments(text):
    return {**calling(), "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": text}}
    ]}  # fmt: skip


SAME = {
    "key order": (arguments('{"a": 1, "b": 2}'), arguments('{"b": 2, "a": 1}')),
    "spacing or escapes": (arguments('{"a": 1}'), arguments('{"a":1}')),
    "number format": (arguments('{"a": 1.0}'), arguments('{"a": 1}')),
    "text or blocks": (user("a"), user([{"type": "text", "text": "a"}])),
    "null or missing": (calling(call()), {k: v for k, v in calling(call()).items() if v}),
    "ids": (calling(call("c1")), calling(call("c2"))),
    "key order, text or blocks": (
        {**arguments('{"a": 1, "b": 2}'), "content": "x"},
        {**arguments('{"b": 2, "a": 1}'), "content": [{"type": "text", "text": "x"}]},
    ),
}


@pytest.mark.parametrize(("ways", "messages"), SAME.items(), ids=SAME)
@pytest.mark.parametrize("counter", [LetterEncoder(), LetterCounter()], ids=["encoded", "counted"])
def test_the_same_meaning_in_other_bytes_is_named_and_breaks(ways, messages, counter):
    one, other = (sent(user("q"), message, user("z")) for message in messages)
    found = change(one, other, counter=counter)
    assert (found.kind, found.message) == ("diverged", 1)
    assert found.why == f"same meaning, different bytes ({ways})"
    assert found.shared_tokens <= 5  # whatever the counter's template makes of it


def test_escapes_are_told_from_key_order():
    one, other = arguments(json.dumps({"a": "é"})), arguments('{"a": "é"}')
    assert change(sent(user("q"), one), sent(user("q"), other)).same_meaning == (
        "spacing or escapes",
    )


def test_keys_that_are_read_by_name_and_cache_marks_are_no_difference():
    marked = {"content": [{"text": "a", "cache_control": {"type": "ephemeral"}, "type": "text"}],
              "role": "user"}  # fmt: skip
    plain = user([{"type": "text", "text": "a"}])
    assert change(sent(plain), sent(marked)).kind == "identical"


def test_a_field_that_no_template_renders_breaks_the_prefix_all_the_same():
    thinking = {**assistant("So."), "thinking_blocks": [{"thinking": "well"}]}
    found = change(
        sent(user("a"), thinking, user("b")), sent(user("a"), assistant("So."), user("b"))
    )
    assert (found.message, found.cause) == (1, "thinking_blocks taken off")
    assert found.where == "messages, message 1, thinking_blocks, character 0"
    assert (found.before, found.after) == ('[{"thinking": "well"}]', "")
    assert found.shared_tokens == 4  # the message before, and the answer's beginning


def test_the_real_counter_compares_tokens_without_instructions_or_tools_too():
    thinking = {**assistant("So."), "thinking_blocks": [{"thinking": "well"}]}
    one, other = sent(user("a"), thinking, user("b")), sent(user("a"), assistant("So."), user("b"))
    found = change(one, other, counter=encoder())
    assert found.tokens == encoder().count(other.messages)
    assert found.shared_tokens == encoder().count([user("a")])  # and the answer's beginning
    assert (found.path, found.after) == ("thinking_blocks", "")
    lost = change(sent(user("a"), tools=(tool(),)), sent(user("a")), counter=encoder())
    assert (lost.section, lost.cause, lost.shared_tokens) == ("tools", "no tools any more", 0)


class Numbered(LetterEncoder):
    """A template that numbers its messages, which cannot be taken apart."""

    def encode(self, messages, *, tools=(), generation_prompt=True):
        numbered = [{**m, "content": f"{n}:{m['content']}"} for n, m in enumerate(messages)]
        return super().encode(numbered[::-1], tools=tools, generation_prompt=generation_prompt)


def test_a_template_that_cannot_be_taken_apart_is_compared_as_it_is():
    messages = [user(f"{n}") for n in range(12)]
    found = change(sent(*messages), sent(*messages), counter=Numbered())
    assert (found.kind, found.shared_tokens) == ("identical", Numbered().count(messages))


def test_arguments_that_are_no_json_or_spelt_unusually_are_compared_as_texts():
    found = change(sent(user("q"), arguments("a b")), sent(user("q"), arguments("a c")))
    assert (found.same_meaning, found.character) == ((), 2)
    spelt = change(sent(user("q"), arguments('{ "a":1}')), sent(user("q"), arguments('{"a": 1}')))
    assert spelt.same_meaning == ("spacing or escapes",)


def test_the_real_counter_compares_tokens():
    tools = (tool("read_log"), tool("now"))
    one = sent(system("You run payments."), user("Which shard is slow?"), tools=tools)
    other = sent(*one.messages, assistant("Shard 7."), user("Since when?"), tools=tools)
    for order in (None, TEMPLATE):
        options = {} if order is None else {"order": order}
        found = change(one, other, counter=encoder(), **options)
        assert found.shared_tokens == encoder().count(one.messages, tools=tools)
        assert found.tokens == encoder().count(other.messages, tools=tools)


MESSAGES = st.lists(
    st.builds(user, st.text("ab", max_size=3)) | st.builds(assistant, st.text("ab", max_size=3)),
    min_size=1,
    max_size=4,
)


@given(MESSAGES, MESSAGES, st.booleans())
def test_the_kinds_and_sizes_agree(one, other, encodes):
    counter = LetterEncoder() if encodes else LetterCounter()
    found = change(sent(*one), sent(*other), counter=counter)
    assert 0 <= found.shared_tokens <= min(found.before_tokens, found.tokens)
    assert found.before_tokens == counter.count(one)
    assert found.tokens == counter.count(other)
    extends = other[: len(one)] == one
    assert found.breaks == (not extends)
    assert (found.kind == "identical") == (one == other)
    assert (found.kind == "truncated") == (not extends and one[: len(other)] == other)
    assert (found.section is not None) == (found.kind == "diverged")
