"""One function that makes a counter of whatever names or is one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.buckets import Counter

Takes = Literal["messages", "text"]


CounterSource = Counter | Callable[..., int] | str | Path


def counter(named: CounterSource, *, takes: Takes = "messages") -> Counter:
    """Return a counter of requests.

    Args:
        named: ``qwen2.5``, ``o200k``, ``cl100k``, ``mistral`` or ``deepseek``; the path of a
            ``tokenizer.json``, or of the folder it lies in; the URL of a server that has a
            tokenize route; a function to tokens; or a counter, which is returned as it is.
        takes: what a function takes: the messages of a request (and its ``tools``, if it names
            them), or one text.

    Raises:
        UsageError: it is none of these.
        ModelMissing: the package that carries its tokenizer is not installed.
        ModelCorrupt: its tokenizer is broken, or not the one expected.
        ModelError: its chat template cannot be run here.
    """
    if takes not in get_args(Takes):
        raise UsageError(f"takes={takes!r}: a function takes messages or text")
    if isinstance(named, Path):
        return _of_file(named)
    if isinstance(named, str):
        return _named(named)
    is_value = not isinstance(named, type)
    if is_value and hasattr(named, "count") and hasattr(named, "name"):
        return named
    if is_value and callable(named):
        from pytest_ctxguard.tokens.counters.functions import FunctionCounter, TextCounter

        return FunctionCounter(named) if takes == "messages" else TextCounter(named)
    raise UsageError(
        f"counter={named!r} is no counter: give {', '.join(NAMES)}, the path of a tokenizer.json, "
        "a server's URL, a function from messages to tokens, or an object with .name and "
        ".count(messages, tools=…, generation_prompt=…)"
    )


def check_name(name: str, *, further: Collection[str] = ()) -> str:
    """Return the name of a counter, without loading anything.

    Args:
        name: the name.
        further: names of the user's own counters.

    Raises:
        UsageError: no counter is named so, and there is no such file.
    """
    if name not in {*NAMES, *further} and not _is_url(name) and not (name and Path(name).exists()):
        raise UsageError(
            f"no counter is named {name!r}; there are: {', '.join([*NAMES, *further])}, the path "
            "of a tokenizer.json or of its folder, and the http URL of a server's tokenize route"
        )
    return name


def _named(name: str) -> Counter:
    check_name(name)
    if name in NAMES:
        return NAMES[name]()
    if _is_url(name):
        from pytest_ctxguard.tokens.counters.served import ServedCounter

        return ServedCounter(name)
    return _of_file(Path(name))


def _is_url(name: str) -> bool:
    return name.startswith(("http://", "https://"))


def _of_file(path: Path) -> Counter:
    from pytest_ctxguard.tokens.counters.tokenizer_json import tokenizer_counter

    return tokenizer_counter(path)


def _qwen() -> Counter:
    from pytest_ctxguard.tokens.request import RequestEncoder

    return RequestEncoder()


def _openai(encoding: str) -> Counter:
    from pytest_ctxguard.tokens.openai import OpenAICounter

    return OpenAICounter(encoding)


def _mistral() -> Counter:
    from pytest_ctxguard.tokens.counters.mistral import MistralCounter

    return MistralCounter()


def _deepseek() -> Counter:
    from pytest_ctxguard.tokens.counters.deepseek import deepseek_counter

    return deepseek_counter()


NAMES: dict[str, Callable[[], Counter]] = {
    "qwen2.5": _qwen,
    "o200k": partial(_openai, "o200k_base"),
    "cl100k": partial(_openai, "cl100k_base"),
    "mistral": _mistral,
    "deepseek": _deepseek,
}
"""The counters that have a name; each is loaded when it is asked for."""
