"""DeepSeek's tokens, from the package that carries the tokenizer."""

import pytest

from pytest_ctxguard.errors import ModelMissing
from pytest_ctxguard.tokens.counters.deepseek import deepseek_counter
from pytest_ctxguard.tokens.exactness import exactness
from tests.factories import assistant, call, calling, result, system, tool, user

BEGIN, END = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"
USER, ASSISTANT = "<｜User｜>", "<｜Assistant｜>"


@pytest.fixture(scope="module")
def counter():
    try:
        return deepseek_counter()
    except ModelMissing as error:
        pytest.skip(str(error))


def test_a_chat_is_framed_by_v3s_marks(counter):
    chat = [system("Be brief."), user("Hi"), assistant("Yes."), user("Go on")]
    assert counter.render(chat) == (
        f"{BEGIN}Be brief.{USER}Hi{ASSISTANT}Yes.{END}{USER}Go on{ASSISTANT}"
    )
    texts = sum(len(counter.encode_text(message["content"])) for message in chat)
    assert counter.count(chat) == texts + 6
    assert counter.count(chat, generation_prompt=False) == texts + 5


def test_calls_and_results_stand_between_marks(counter):
    text = counter.render(
        [user("Hi"), calling(call("c1", "find", q=1)), result("found", "c1")],
        generation_prompt=False,
    )
    assert text == (
        f"{BEGIN}{USER}Hi{ASSISTANT}<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>"
        'find\n```json\n{"q": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>' + END + ""
        "<｜tool▁output▁begin｜>found<｜tool▁output▁end｜>"
    )
    assert counter.control.keys() >= {"<｜tool▁calls▁begin｜>", "<｜tool▁output▁end｜>"}


def test_definitions_are_counted_and_called_approximate(counter):
    bare, offered = (counter.count([user("Hi")], tools=tools) for tools in ((), [tool("find")]))
    assert offered > bare
    exact, why = exactness(counter)
    assert not exact
    assert "not published" in why
    assert "framing of DeepSeek-V3" in counter.name


def test_digits_are_taken_by_three(counter):
    assert len(counter.encode_text("123456")) == 2


def test_what_spells_a_mark_is_text(counter):
    assert len(counter.encode_text(USER)) > 1
