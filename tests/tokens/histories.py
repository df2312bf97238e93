"""Histories that try the seams between a template's pieces."""

import re
import unicodedata

from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.tokens.vocabulary import SPECIAL_TOKENS
from tests.factories import tool

CONTROL = re.compile("|".join(map(re.escape, SPECIAL_TOKENS)))
SUBSTITUTE = "¤"

TREATMENTS = {
    "as drawn": lambda text: text,
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "a combining mark first": lambda text: f"\u0301{text}",
    "a combining mark last": lambda text: f"{text}\u0338",
    "marks between": lambda text: "\u0327".join(text),
    "white space around": lambda text: f" \n\t{text}\n\n ",
    "a noncharacter": lambda text: f"\ufdd0{text}3\ufdd1",
}


def without_literals(text):
    """Spell no control token; what takes its place cannot make another one."""
    return CONTROL.sub(SUBSTITUTE, text)


def each_text(value, change):
    """Change every text that content, calls and tools carry."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [each_text(item, change) for item in value]
    if isinstance(value, dict):
        kept = ("role", "id", "type", "tool_call_id", "name")
        return {k: v if k in kept else each_text(v, change) for k, v in value.items()}
    return value


@st.composite
def requests(draw):
    """Messages and tools of a request: control tokens may be spelled anywhere in them."""
    messages = draw(ctx.histories(max_turns=3, max_rounds=4))
    treatment = TREATMENTS[draw(st.sampled_from(sorted(TREATMENTS)))]
    messages = [
        {**message, "content": message["content"] and treatment(message["content"])}
        for message in messages
    ]
    if draw(st.booleans()):
        place = draw(st.integers(0, len(messages)))
        messages.insert(place, {"role": "system", "content": draw(ctx.texts())})
    if draw(st.booleans()):
        messages.append({"role": "assistant", "content": draw(ctx.texts())})
    tools = [tool(description=text) for text in draw(st.lists(ctx.texts(), max_size=2))]
    return messages, tools


def plain_requests():
    """The same, but no text spells a control token."""
    return requests().map(lambda pair: tuple(each_text(part, without_literals) for part in pair))
