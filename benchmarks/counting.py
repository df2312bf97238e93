"""Counting against the bare tokenizer, and against litellm: ``python benchmarks/counting.py``.

*Once*: the history of a session is counted whole, each text for the first time; the bare tokenizer
encodes the same texts, one call each, which is the least a counter can do. *Growing*: the request
of every call of the session is counted, each longer than the one before; the least is still each
text once. litellm's ``token_counter`` counts the same messages without tools, as
:class:`~pytest_ctxguard.tokens.openai.OpenAICounter` is made to. Times are the processor's, the
best of a few runs; both take turns. A library that is not installed is left out, with the reason.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.processes import machine, say
from benchmarks.sessions import session
from pytest_ctxguard.errors import ModelMissing
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.tokens.counters.functions import definitions, texts
from pytest_ctxguard.tokens.growing import growing
from pytest_ctxguard.tokens.openai import OpenAICounter, load_encoding
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.tokens.vocabulary import load_tokenizer
from pytest_ctxguard.transcript.model import Transcript

SIZES = (50, 200)  # tool calls
REPEATS = 3
OPENAI_MODEL = "gpt-4o"  # o200k_base

Timed = Callable[[], object]


def seconds(work: Timed) -> float:
    """Return the processor's seconds that work takes."""
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


def fastest(works: dict[str, Callable[[], Timed]], *, repeats: int) -> dict[str, float]:
    """Return each work's best time; they take turns, made anew for each run."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(repeats):
        for name, make in works.items():
            best[name] = min(best[name], seconds(make()))
    return best


def requests(transcript: Transcript) -> list[Sequence[Any]]:
    """Return the messages of every request of a session under full history."""
    return [transcript.messages[: call.history] for call in transcript.calls]


def all_texts(transcript: Transcript, *, tools: bool) -> list[str]:
    """Return every text of a history."""
    found = [text for message in transcript.messages for text in texts(message)]
    return [*found, definitions(transcript.tools)] if tools else found


def against_bare(transcript: Transcript, *, repeats: int) -> Iterator[dict[str, Any]]:
    """Compare our counters with the runtimes they stand on."""
    tokenizer = load_tokenizer()

    def encode_qwen() -> Timed:
        words = all_texts(transcript, tools=True)
        return lambda: [tokenizer.encode(text, add_special_tokens=False) for text in words]

    yield _compared(
        "qwen2.5", transcript, encode_qwen, lambda: RequestEncoder(tokenizer), repeats=repeats
    )
    try:
        encoding = load_encoding("o200k_base")
    except ModelMissing as error:
        yield {"counter": "o200k", "left_out": str(error)}
        return
    ready = OpenAICounter()

    def encode_openai() -> Timed:
        words = all_texts(transcript, tools=True)
        return lambda: [encoding.encode_ordinary(text) for text in words]

    def forgetful() -> Counter:
        ready._count.cache_clear()
        return ready

    yield _compared("o200k", transcript, encode_openai, forgetful, repeats=repeats)


def _compared(
    name: str,
    transcript: Transcript,
    bare: Callable[[], Timed],
    make: Callable[[], Counter],
    *,
    repeats: int,
) -> dict[str, Any]:
    tools, sent = transcript.tools, requests(transcript)

    def once() -> Timed:
        counter = make()
        return lambda: counter.count(transcript.messages, tools=tools)

    def each() -> Timed:
        size = growing(make(), tools=tools)
        return lambda: [size(messages) for messages in sent]

    best = fastest({"bare": bare, "once": once, "growing": each}, repeats=repeats)
    return {
        "counter": name,
        "requests": len(sent),
        "tokens": make().count(transcript.messages, tools=tools),
        "bare_s": round(best["bare"], 5),
        "once_of_bare": round(best["once"] / best["bare"], 2),
        "growing_of_bare": round(best["growing"] / best["bare"], 2),
    }


def against_litellm(transcript: Transcript, *, repeats: int) -> dict[str, Any]:
    """Compare the o200k counter with litellm's on the same messages, without tools."""
    try:
        from litellm import token_counter
    except ImportError as error:
        return {"peer": "litellm", "left_out": f"litellm is not installed here ({error})"}
    try:
        ours = OpenAICounter()
    except ModelMissing as error:
        return {"peer": "litellm", "left_out": str(error)}
    plain = [dict(message) for message in transcript.messages]
    sent = [plain[: call.history] for call in transcript.calls]

    def theirs(messages: list[dict[str, Any]]) -> int:
        return int(token_counter(model=OPENAI_MODEL, messages=messages))

    def forgetful() -> None:
        ours._count.cache_clear()

    def ours_once() -> Timed:
        forgetful()
        return lambda: ours.count(plain)

    def ours_each() -> Timed:
        forgetful()
        return lambda: [ours.count(messages) for messages in sent]

    def ours_growing() -> Timed:
        forgetful()
        size = growing(ours, tools=())
        return lambda: [size(messages) for messages in sent]

    best = fastest(
        {
            "theirs_once": lambda: lambda: theirs(plain),
            "ours_once": ours_once,
            "theirs_each": lambda: lambda: [theirs(messages) for messages in sent],
            "ours_each": ours_each,
            "ours_growing": ours_growing,
        },
        repeats=repeats,
    )
    return {
        "peer": "litellm",
        "requests": len(sent),
        "tokens": {"ours": ours.count(plain), "theirs": theirs(plain)},
        "once_times_faster": round(best["theirs_once"] / best["ours_once"], 2),
        "each_whole_times_faster": round(best["theirs_each"] / best["ours_each"], 1),
        "growing_times_faster": round(best["theirs_each"] / best["ours_growing"], 1),
    }


def main() -> None:
    """Measure and print a JSON report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="tool calls")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args()
    rows = []
    for size in options.sizes:
        say(f"{size} tool calls")
        transcript = session("agentic", size)
        rows.append(
            {
                "tool_calls": size,
                "bare": list(against_bare(transcript, repeats=options.repeats)),
                "litellm": against_litellm(transcript, repeats=options.repeats),
            }
        )
    print(json.dumps({"machine": machine(), "sizes": rows}, indent=2))


if __name__ == "__main__":
    main()
