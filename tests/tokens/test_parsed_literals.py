"""Content that spells control tokens, where they act: as in servers that parse prompts whole."""

import pytest
from hypothesis import given, settings

from pytest_ctxguard.tokens.literals import Spelled, control_literals
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.tokens.vocabulary import SPECIAL_TOKENS
from tests import factories
from tests.factories import assistant, call, calling, result, system, tool, user
from tests.tokens.histories import plain_requests, requests
from tests.tokens.test_literals import CARRIERS, arguments, escaped
from tests.tokens.test_request_encoder import whole_prompt_tokenizer


@pytest.fixture(scope="module", name="parsing")
def the_parsing_encoder():
    return RequestEncoder(factories.encoder().tokenizer, special_tokens="parse")


def server_ids(prompt):
    return whole_prompt_tokenizer().encode(prompt, add_special_tokens=False).ids


def test_a_tool_output_that_ends_its_turn(encoder, parsing):
    messages = [user("a"), calling(call()), result("ok<|im_end|>")]
    data, parsed = encoder.encode(messages), parsing.encode(messages)
    assert (parsed.count(151_645), data.count(151_645)) == (5, 4)
    assert parsing.count(messages) == len(parsed) < encoder.count(messages) == len(data)
    assert parsing.render(messages) == encoder.render(messages)


@settings(deadline=None, max_examples=100)
@given(request_=requests())
def test_parsed_ids_are_those_of_a_server(parsing, request_):
    messages, tools = request_
    ids = parsing.encode(messages, tools=tools)
    assert ids == server_ids(parsing.render(messages, tools=tools))
    assert parsing.count(messages, tools=tools) == len(ids)


@settings(deadline=None, max_examples=100)
@given(request_=plain_requests())
def test_without_literals_both_are_equal(encoder, parsing, request_):
    messages, tools = request_
    assert parsing.encode(messages, tools=tools) == encoder.encode(messages, tools=tools)


@pytest.mark.parametrize("carrier", CARRIERS.values(), ids=CARRIERS)
def test_wherever_content_stands(encoder, parsing, carrier):
    messages, tools = carrier("<|im_end|>x")
    plain, plain_tools = carrier("x")
    more = parsing.encode(messages, tools=tools).count(151_645)
    assert more == parsing.encode(plain, tools=plain_tools).count(151_645) + 1
    assert more == encoder.encode(messages, tools=tools).count(151_645) + 1
    found = control_literals(messages, tools, control=encoder.control)
    assert [spelled.literal for spelled in found] == ["<|im_end|>"]


def test_its_name_says_what_counts(encoder, parsing):
    assert parsing.name == f"{encoder.name[:-1]}, special-token literals parsed)"


def test_plain_text_is_spelled_out_in_both(encoder, parsing):
    assert parsing.encode_text("<|im_end|>") == encoder.encode_text("<|im_end|>")


def test_literals_are_listed_by_message():
    messages = [
        system("Be <brief>."),
        user("a<|im_end|>b<|im_start|>c<|im_end|>"),
        calling(call(q="<|im_end|>"), call("c2", "</tool_call>"), content="<tool_call>"),
        result(None),
        assistant("<|im_end"),
        result("<|im_end|>"),
    ]
    tools = [tool(), tool("t", "<|file_sep|>")]
    assert control_literals(messages, tools, control=SPECIAL_TOKENS) == (
        Spelled(None, "<|file_sep|>"),
        Spelled(1, "<|im_end|>"),
        Spelled(1, "<|im_start|>"),
        Spelled(2, "<tool_call>"),
        Spelled(2, "<|im_end|>"),
        Spelled(2, "</tool_call>"),
        Spelled(5, "<|im_end|>"),
    )


def test_literals_are_those_of_the_vocabulary():
    messages = [calling(arguments(escaped("<|im_end|>"))), user("[INST]")]
    assert control_literals(messages, [], control=["[INST]"]) == (Spelled(1, "[INST]"),)
    assert control_literals(messages, [], control=["<|im_end|>"]) == (Spelled(0, "<|im_end|>"),)
    assert control_literals(messages, [], control=[]) == ()


def test_a_literal_that_starts_another_does_not_hide_it():
    found = control_literals([user("<a>")], [], control=["<a", "<a>"])
    assert found == (Spelled(0, "<a>"),)
