"""A counter from any tokenizer.json."""

import json

import pytest

from pytest_ctxguard.errors import ModelCorrupt, ModelError, UsageError
from pytest_ctxguard.tokens.counters.tokenizer_json import PER_MESSAGE, tokenizer_counter
from pytest_ctxguard.tokens.exactness import exactness
from pytest_ctxguard.tokens.model_encoder import ModelEncoder
from tests.factories import system, tool, user
from tests.tokens.tiny_vocabulary import TEMPLATE, tiny_files, tiny_json

REQUEST = [system("the 12"), user("then <|im_end|> the")]


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "tiny"
    path.mkdir()
    (path / "tokenizer.json").write_text(tiny_json(), encoding="utf-8")
    return path


def test_with_a_template_beside_it_requests_are_counted_as_the_model_reads_them(folder):
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    counter = tokenizer_counter(folder)
    model = ModelEncoder(tiny_files(), name="tiny")
    assert counter.name.startswith("tiny (tokenizers runtime, its own chat template ")
    assert exactness(counter).exact
    for tools in ((), (tool("find"),)):
        assert counter.count(REQUEST, tools=tools) == model.count(REQUEST, tools=tools)


def test_the_template_may_stand_in_the_settings_and_name_special_tokens(folder):
    settings = {"chat_template": "{{ bos_token }}" + TEMPLATE, "bos_token": "<|endoftext|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    model = ModelEncoder(tiny_files(), name="tiny")
    assert tokenizer_counter(folder).count(REQUEST) == 1 + model.count(REQUEST)


def test_without_one_each_message_is_framed_by_a_stated_number(folder):
    counter = tokenizer_counter(folder)
    texts = [counter.count_text(message["content"]) for message in REQUEST]
    assert counter.count(REQUEST) == sum(texts) + 3 * PER_MESSAGE
    assert counter.count(REQUEST, generation_prompt=False) == sum(texts) + 2 * PER_MESSAGE
    exact, why = exactness(counter)
    assert not exact
    assert f"framed by {PER_MESSAGE} tokens" in why
    assert "no chat template" in counter.name


def test_what_spells_a_special_token_is_text(folder):
    assert tokenizer_counter(folder).count_text("<|im_end|>") > 1


def test_the_name_tells_one_file_from_another(folder):
    before = tokenizer_counter(folder).name
    (folder / "tokenizer.json").write_text(tiny_json(pre="qwen2"), encoding="utf-8")
    assert tokenizer_counter(folder).name != before


def test_a_folder_without_one_is_refused(tmp_path):
    with pytest.raises(UsageError, match="there is no such tokenizer file"):
        tokenizer_counter(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model": {}, "added_tokens": []}'])
def test_what_is_no_tokenizer_is_refused(folder, text):
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelCorrupt):
        tokenizer_counter(folder)


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_broken_settings_are_refused(folder, text):
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelCorrupt, match="tokenizer_config"):
        tokenizer_counter(folder)


def test_a_template_that_cannot_be_compiled_is_refused(folder):
    (folder / "chat_template.jinja").write_text("{% nonsense %}", encoding="utf-8")
    with pytest.raises(ModelError):
        tokenizer_counter(folder)
