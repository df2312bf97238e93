"""Hypothesis strategies for texts in many scripts, messages and histories.

Optional: importing it needs ``hypothesis``, which the package does not depend on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from hypothesis import strategies as st

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
