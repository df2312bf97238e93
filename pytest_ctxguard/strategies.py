"""Hypothesis strategies for texts in many scripts, messages and histories.

Optional: importing it needs ``hypothesis``, which the package does not depend on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from hypothesis import strategies as st

from pytest_ctxguard.tokens.corpus.kinds import kind_text, kinds
from pytest_ctxguard.tokens.corpus.texts import corpus, scripts
from pytest_ctxguard.tokens.estimates.samples import chosen

Message = dict[str, Any]
Kind = Literal["chat", "agentic", "any"]

# Script or kind of text -> characters it is drawn from.
ALPHABETS: Mapping[str, str | st.SearchStrategy[str]] = {
    "english": "etaoin shrdlu ETA.,'\n",
    "log": "0123456789abcdef:-./[] =\n",
    "json": '{}[]":,\\ 0123456789truefalsn',
    "accented": "àéîõüçñßøå aeiou",
    "russian": "абвгдежзийклмнопрстуфхцчшщъыьэюя ,.",
    "greek": "αβγδεζηθικλμνξοπρστυφχψω ",
    "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهوي ",
    "hindi": "अआइईउऊकखगघचजटडतदनपबमयरलवशसह ािी",
    "chinese": st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF),
    "japanese": st.characters(min_codepoint=0x3041, max_codepoint=0x30FF),
    "korean": st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3),
    "emoji": st.characters(min_codepoint=0x1F300, max_codepoint=0x1FAFF),
    # everything but the surrogates, which no text has alone
    "any": st.characters(max_codepoint=0xD7FF) | st.characters(min_codepoint=0xE000),
}
IMAGES = (
    "https://example.com/a.png",
    "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=",
)
HUGE = 4_000  # characters
LITERALS = ("<|im_start|>", "<|im_end|>", "<tool_call>", "assistant", "\n")


@cache  # building a strategy costs more than drawing from it
def texts(*, max_size: int = 30) -> st.SearchStrategy[str]:
    """Draw a text in one script or kind of content; never half a surrogate pair.

    Args:
        max_size: most characters drawn; special-token literals count as one.
    """
    by_alphabet = (st.text(alphabet, max_size=max_size) for alphabet in ALPHABETS.values())
    literals = st.lists(st.sampled_from(LITERALS), max_size=max_size).map("".join)
    return st.one_of(*by_alphabet, literals)


@cache
def long_texts(*, max_size: int = 30, max_repeat: int = 40) -> st.SearchStrategy[str]:
    """Draw a text that may be long: a short one, repeated."""
    return st.builds(
        lambda text, times: text * times, texts(max_size=max_size), st.integers(1, max_repeat)
    )


@cache
def script_texts(script: str, *, max_size: int = 30) -> st.SearchStrategy[str]:
    """Draw a text from the characters of one script's texts in the corpus.

    Args:
        script: its name, such as ``Devanagari``; an unknown one is an error that names all.
        max_size: most characters drawn.
    """
    (name,) = chosen([script], scripts(), what="script_texts")
    characters = {c for text in corpus() if text.script == name for c in text.text}
    return st.text(st.sampled_from(sorted(characters)), max_size=max_size)


@cache
def kind_texts(kind: str, *, max_size: int = 200) -> st.SearchStrategy[str]:
    """Draw a part of a text of one kind of content, such as ``hex``, from another seed each time.

    Args:
        kind: its name; an unknown one is an error that names all.
        max_size: most characters drawn.
    """
    (name,) = chosen([kind], tuple(kinds()), what="kind_texts")

    def part(seed: int, start: int, size: int) -> str:
        text = kind_text(name, seed=seed)
        first = start % len(text)
        return text[first : first + size]

    return st.builds(part, st.integers(0, 2**16), st.integers(0, 2**12), st.integers(0, max_size))


@cache
def messages(
    roles: tuple[str, ...] = ("system", "developer", "user", "assistant"),
) -> st.SearchStrategy[Message]:
    """Draw one message without tool calls, of one of the roles."""
    return st.fixed_dictionaries({"role": st.sampled_from(roles), "content": texts()})


@st.composite
def tool_rounds(draw: st.DrawFn, *, max_calls: int = 3) -> list[Message]:
    """Draw a tool round: an assistant message with 1 to ``max_calls`` calls, and the results.

    Results may come in another order than their calls. Call ids are unique within the round.
    """
    count = draw(st.integers(1, max_calls))
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {
                "name": draw(st.sampled_from(["read_file", "search-logs", "get_metric"])),
                "arguments": json.dumps({"q": draw(texts(max_size=12))}, ensure_ascii=False),
            },
        }
        for number in range(count)
    ]
    results = [
        {"role": "tool", "tool_call_id": f"call_{number}", "content": draw(long_texts())}
        for number in draw(st.permutations(range(count)))
    ]
    content = draw(st.none() | texts(max_size=12))
    return [{"role": "assistant", "content": content, "tool_calls": calls}, *results]


@st.composite
def turns(draw: st.DrawFn, *, max_rounds: int = 3, answered: bool = True) -> list[Message]:
    """Draw a turn: a user message, tool rounds, and the answer unless ``answered`` is false."""
    turn = [draw(messages(("user",)))]
    for tool_round in draw(st.lists(tool_rounds(), max_size=max_rounds)):
        turn += tool_round
    if answered:
        turn.append(draw(messages(("assistant",))))
    return turn


@st.composite
def histories(
    draw: st.DrawFn, *, kind: Kind = "any", max_turns: int = 6, max_rounds: int = 8
) -> list[Message]:
    """Draw a well-formed history as it stands before a call: it ends in a user or tool message.

    A *chat* has several turns of few tool rounds, an *agentic* history one turn of many. A
    system or developer message may stand first. Call ids are unique in the whole history.
    """
    if kind == "any":
        kind = draw(st.sampled_from(["chat", "agentic"]))
    history = draw(st.lists(messages(("system", "developer")), max_size=1))
    if kind == "chat":
        for turn in draw(st.lists(turns(max_rounds=2), max_size=max_turns - 1)):
            history += turn
        history += draw(turns(max_rounds=2, answered=False))
    else:
        history += draw(turns(max_rounds=max_rounds, answered=False))
    return _renumbered(history)


@st.composite
def contents(draw: st.DrawFn) -> Any:
    """Draw the content of a user message: a text, or parts, images among them."""
    if draw(st.booleans()):
        return draw(texts())
    text = texts(max_size=12).map(lambda text: {"type": "text", "text": text})
    image = st.sampled_from(IMAGES).map(
        lambda url: {"type": "image_url", "image_url": {"url": url}}
    )
    return draw(st.lists(text | image, min_size=1, max_size=3))


@st.composite
def rich_histories(
    draw: st.DrawFn, *, max_turns: int = 4, unanswered: bool = False
) -> list[Message]:
    """Draw a well-formed history with all that makes histories hard.

    Images and several parts in user messages, parts in tool results, texts of some thousand
    characters, instructions in the middle, answers twice in a row, two user messages in a row.

    Args:
        draw: given by Hypothesis.
        max_turns: most turns.
        unanswered: whether a turn may end in calls that never got a result (their process died),
            or the history in calls of which one is still pending; no provider takes these.
    """
    history = draw(st.lists(messages(("system", "developer")), max_size=2))
    for number in range(draw(st.integers(1, max_turns))):
        if number:
            history += draw(st.lists(messages(("assistant",)), max_size=2))
            history += draw(st.lists(messages(("developer", "user")), max_size=1))
        history.append({"role": "user", "content": draw(contents())})
        for tool_round in draw(st.lists(tool_rounds(), max_size=3)):
            history += draw(_enriched(tool_round))
        if unanswered and history[-1]["role"] == "tool" and draw(st.booleans()):
            history.pop()
    if history[-1]["role"] == "assistant":
        history.append(draw(messages(("user",))))
    return _renumbered(history)


@st.composite
def _enriched(draw: st.DrawFn, tool_round: list[Message]) -> list[Message]:
    """Make a result of a round huge, or one of parts."""
    place = draw(st.integers(1, len(tool_round) - 1))
    kind = draw(st.sampled_from(["as it is", "huge", "parts"]))
    if kind == "as it is":
        return tool_round
    text = draw(texts(max_size=12)) or "x"
    content = text * (HUGE // len(text)) if kind == "huge" else [{"type": "text", "text": text}] * 2
    changed = {**tool_round[place], "content": content}
    return [*tool_round[:place], changed, *tool_round[place + 1 :]]


@cache
def policy_histories() -> st.SearchStrategy[list[Message]]:
    """Draw a history that a policy may meet: small or not, a chat or one long turn, plain or rich.

    One in a few has calls that were never answered, which no provider takes; a policy may send
    them as they are.
    """
    return st.one_of(
        histories(max_turns=2, max_rounds=2),
        histories(kind="chat", max_turns=5),
        histories(kind="agentic", max_rounds=8),
        rich_histories(),
        rich_histories(max_turns=3, unanswered=True),
    )


def _renumbered(history: list[Message]) -> list[Message]:
    fresh: dict[str, str] = {}
    renumbered, total = [], 0
    for message in history:
        if "tool_calls" in message:
            calls = []
            for call in message["tool_calls"]:
                fresh[call["id"]] = f"call_{total}"
                calls.append({**call, "id": f"call_{total}"})
                total += 1
            message = {**message, "tool_calls": calls}
        elif message["role"] == "tool":
            message = {**message, "tool_call_id": fresh[message["tool_call_id"]]}
        renumbered.append(message)
    return renumbered
