"""What a watcher is told is the answer's text, however the answer arrives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.engine.reply import HALF, Reply
from pytest_ctxguard.engine.toolcalls import parse

TOOLS = {"look"}
CALL = '{"name": "look", "arguments": {"a": "}"}}'
FENCES = ["```", "```json\n", "\n", " ", "`", "<tool", "<tool_call>", "</tool_call>"]
TEXTS = ["{", "}", '{"a": 1}', '{"name": ', "word", "STOP", "ST"]
FRAGMENTS = st.sampled_from([CALL, f"<tool_call>\n{CALL}\n</tool_call>", *FENCES, *TEXTS])
ANSWERS = st.lists(FRAGMENTS, max_size=9).map("".join)
CUTS = st.lists(st.integers(1, 7), min_size=1, max_size=9)


def spell(data):
    """Return the text of tokens that are pieces of UTF-8."""
    return b"".join(data).decode("utf-8", "replace")


def cut(text, lengths):
    """Cut a text's bytes into tokens of the lengths given, over and over."""
    data, tokens = text.encode(), []
    while data:
        length = lengths[len(tokens) % len(lengths)]
        tokens.append(data[:length])
        data = data[length:]
    return tokens


def follow(tokens, **options):
    """Run a reply as a runner would; returns what was told, the answer and the tokens used."""
    told = []
    reply = Reply(spell, watch=lambda piece: not told.append(piece), **options)
    used = []
    for token in tokens:
        used.append(token)
        if reply.done(used):
            break
    return told, reply.finish(used, cut=False), reply


@given(ANSWERS, CUTS)
def test_with_tools_the_told_is_the_text_without_its_calls(answer, lengths):
    told, parsed, _ = follow(cut(answer, lengths), tools=TOOLS)
    assert "".join(told) == parsed.text
    assert parsed == parse(answer, tools=TOOLS)


@given(ANSWERS, CUTS, st.lists(st.sampled_from(["STOP", "OP", "word", "\n", "OP{"]), max_size=3))
def test_a_stop_text_cuts_in_one_place_however_the_answer_arrives(answer, lengths, stop):
    told, parsed, reply = follow(cut(answer, lengths), stop=stop)
    _, whole, at_once = follow([answer.encode()], stop=stop)
    assert "".join(told) == parsed.text == whole.text
    assert reply.stopped_by == at_once.stopped_by
    assert not any(text in parsed.text for text in stop)
    assert answer.startswith(parsed.text + (reply.stopped_by or ""))


@given(ANSWERS, CUTS, st.lists(st.sampled_from(["STOP", "}", '": "', "call"]), max_size=2))
def test_stop_texts_and_tools_together(answer, lengths, stop):
    told, parsed, _ = follow(cut(answer, lengths), stop=stop, tools=TOOLS)
    _, whole, _ = follow([answer.encode()], stop=stop, tools=TOOLS)
    assert "".join(told) == parsed.text
    assert parsed == whole


@given(st.text(max_size=20), CUTS)
def test_characters_are_told_whole(answer, lengths):
    told, parsed, _ = follow(cut(answer.replace(HALF, ""), lengths))
    assert "".join(told) == parsed.text
    assert not any(HALF in piece for piece in told)


def test_what_is_surely_text_is_told_at_once():
    told, _, _ = follow([b"I", b" will", b" look", b".", b"\n", CALL.encode()], tools=TOOLS)
    assert told[:5] == ["I", " will", " look", ".", ""]


def test_a_stop_text_ends_it_with_the_token_that_completes_it():
    reply = Reply(spell, stop=["bc", ""])
    assert not reply.done([b"ab"])
    assert reply.done([b"ab", b"cd"])
    assert reply.finish([b"ab", b"cd"], cut=False).text == "a"


def test_nothing_is_asked_of_the_runner_where_nothing_depends_on_it():
    assert Reply(spell, tools=TOOLS).done is None
