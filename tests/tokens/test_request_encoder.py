"""Ids of whole requests: piece by piece, they are what the whole prompt would give."""

from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from tokenizers import Tokenizer

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.tokens.request import RequestEncoder
from tests import factories
from tests.factories import assistant, call, calling, result, system, tool, user
from tests.tokens.histories import plain_requests


@cache
def whole_prompt_tokenizer():
    """One for which special tokens in the text act, as in a server that encodes a prompt."""
    return Tokenizer.from_str(factories.encoder().tokenizer.to_str())


def whole(messages, **options):
    prompt = factories.encoder().render(messages, **options)
    return whole_prompt_tokenizer().encode(prompt, add_special_tokens=False).ids


@settings(deadline=None, max_examples=200)
@given(plain_requests())
def test_pieces_joined_are_the_whole_prompt(request_):
    messages, tools = request_
    ids = factories.encoder().encode(messages, tools=tools)
    assert ids == whole(messages, tools=tools)
    assert factories.encoder().count(messages, tools=tools) == len(ids)


ROUND = [calling(call("a"), call("b")), result("x", "a"), result("y", "b")]
SHAPES = {
    "nothing": [],
    "no system message": [user("a"), assistant("b"), user("c")],
    "a system message alone": [system()],
    "two system messages": [system("a"), system("b"), user("c")],
    "a system message in the middle": [system(), user("a"), system("now"), user("b")],
    "an empty system message": [system(""), user("a")],
    "results first": [result("x"), user("a")],
    "results after a user message": [user("a"), result("x"), result("y")],
    "parallel calls": [user("a"), *ROUND, assistant("c")],
    "rounds in a row": [user("a"), *ROUND, *ROUND],
    "an empty answer with calls": [user("a"), calling(call(), content="")],
    "an answer without content or calls": [user("a"), {"role": "assistant", "content": None}],
    "an empty list of calls": [user("a"), {**assistant("b"), "tool_calls": []}],
    "white space at every seam": [user("\n"), assistant(" \n\n"), user("\n\n\n")],
    "results of white space": [user("a"), calling(call()), result("\n\n"), result(" ")],
    "marks at every seam": [user("\u0301"), assistant("\u0338"), result("\u0327\u0301")],
}


@pytest.mark.parametrize("tools", [[], [tool(), tool("now", "")]], ids=["no tools", "tools"])
@pytest.mark.parametrize("messages", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("prompt", [True, False])
def test_every_shape_of_request(encoder, messages, tools, prompt):
    ids = encoder.encode(messages, tools=tools, generation_prompt=prompt)
    assert ids == whole(messages, tools=tools, generation_prompt=prompt)
    assert encoder.count(messages, tools=tools, generation_prompt=prompt) == len(ids)


def test_the_start_of_the_answer_is_counted_unless_left_out(encoder):
    start = [151_644, *encoder.encode_text("assistant\n")]
    without = encoder.encode([user("a")], generation_prompt=False)
    assert encoder.encode([user("a")]) == [*without, *start]
    assert encoder.count([user("a")]) == len(without) + 3


def rendered_call(encoder, arguments):
    function = {"name": "f", "arguments": arguments}
    message = {"role": "assistant", "content": None, "tool_calls": [{"function": function}]}
    text = encoder.render([system(), message], generation_prompt=False)
    return text.partition('"arguments": ')[2].partition("\n</tool_call>")[0]


ARGUMENTS = {
    "json text is parsed, keys in their order": ('{"b": 1, "a": [true, null]}',) * 2,
    "white space is the template's": ('{"a":1,\n"b":2}', '{"a": 1, "b": 2}'),
    "an object is taken as it is": ({"b": "é", "a": 1.5}, '{"b": "é", "a": 1.5}'),
    "broken json stays a text": ('{"q": "lo', r'"{\"q\": \"lo"'),
    "a text is no object": ("report", '"report"'),
    "nothing": (None, "null"),
    "an empty text": ("", '""'),
    "escapes are resolved": (r'{"q": "\u0142\n"}', r'{"q": "ł\n"}'),
    "too deep to parse": ("[" * 5_000, f'"{"[" * 5_000}"'),
}


@pytest.mark.parametrize(("arguments", "shown"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments_of_calls(encoder, arguments, shown):
    assert rendered_call(encoder, arguments) == f"{shown}}}"


def test_a_developer_message_is_a_system_message(encoder):
    history = [{"role": "developer", "content": "Be brief."}, user("a")]
    assert encoder.encode(history) == encoder.encode([system("Be brief."), user("a")])


def test_text_parts_are_joined(encoder):
    parts = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]
    assert encoder.encode([user(parts)]) == encoder.encode([user("Hello")])


@pytest.mark.parametrize("role", ["bot", "function", None, "", ["user"], 3])
def test_a_role_that_no_template_renders(encoder, role):
    with pytest.raises(PolicyError) as caught:
        encoder.count([user("a"), {"role": role, "content": "x"}])
    assert str(caught.value) == (
        f"message 1 has role {role!r}; "
        "a request is made of system, developer, user, assistant, tool messages"
    )


NO_MESSAGES = {
    "content a number": {"role": "user", "content": 3},
    "content an object": {"role": "user", "content": {"text": "a"}},
    "a part a number": {"role": "user", "content": [3]},
    "a text of a part a number": {"role": "user", "content": [{"type": "text", "text": 3}]},
    "tool calls a number": {"role": "assistant", "content": "a", "tool_calls": 3},
    "a tool call a text": {"role": "assistant", "content": "a", "tool_calls": ["f"]},
    "a function a text": {"role": "assistant", "content": "", "tool_calls": [{"function": "f"}]},
}


@pytest.mark.parametrize("message", NO_MESSAGES.values(), ids=NO_MESSAGES)
def test_what_is_no_openai_message(encoder, message):
    with pytest.raises(PolicyError, match=rf"message 0 \({message['role']}\) is not an OpenAI"):
        encoder.count([message])


class CountingTokenizer:
    """The real tokenizer, and how often each text was encoded."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.encoded = Counter()

    def encode(self, text, *, add_special_tokens):
        self.encoded[text] += 1
        return self.tokenizer.encode(text, add_special_tokens=add_special_tokens)

    def get_added_tokens_decoder(self):
        return self.tokenizer.get_added_tokens_decoder()


def long_session(calls):
    history = [system(), user("Read them all.")]
    for number in range(calls):
        history += [
            calling(call(f"c{number}", page=number)),
            result(f"line {number}", f"c{number}"),
        ]
    return history


def test_a_message_is_encoded_once_in_a_session_of_400_calls(encoder):
    counting = CountingTokenizer(encoder.tokenizer)
    incremental = RequestEncoder(counting)
    history = long_session(400)
    for end in range(2, len(history) + 1, 2):
        incremental.count(history[:end], tools=[tool()])
    repeated = {text: n for text, n in counting.encoded.items() if n > 1}
    assert counting.encoded["user\n<tool_response>\nline 7\n</tool_response>"] == 1
    assert not any("line" in text or "page" in text or "Read" in text for text in repeated)
    # four texts for a call (start, before and after the tags, end), three for a result
    assert counting.encoded.total() < 8 * len(history)
    assert incremental.count(history, tools=[tool()]) == encoder.count(history, tools=[tool()])


def test_what_is_remembered_is_told_apart(encoder):
    """Equal texts in another role, or the same call with other arguments, are other units."""
    counts = [
        encoder.encode([user("a")]),
        encoder.encode([assistant("a")]),
        encoder.encode([result("a")]),
        encoder.encode([system("a")]),
        encoder.encode([calling(call(a=1), content="a")]),
        encoder.encode([calling(call(a=2), content="a")]),
        encoder.encode([calling(call(a=1))]),
    ]
    assert len({tuple(ids) for ids in counts}) == len(counts)


def test_its_name_says_what_counts(encoder):
    assert encoder.name == "qwen2.5 (tokenizers runtime, Qwen2.5 chat template)"
