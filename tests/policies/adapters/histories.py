"""The histories that contract vectors are made on, and richer ones for properties.

``chat`` is a talk of many turns with one tool round each; ``agentic`` is one task and a long tool
loop. Both plant a fact in the first user message and another in the system message.
"""

import hashlib
import json

from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx

FACT, STANDING = "HERON-2290", "RULE-58"
SYSTEM = f"You answer for the harbour office, with care. Standing order: {STANDING}."


def chat(*, turns=8, pad=60):
    """System, then per turn: user, call, result, answer; a result has about 22 * pad letters."""
    history = [{"role": "system", "content": SYSTEM}]
    for number in range(turns):
        history += [_asked(number), *_round(number, pad)]
        history.append({"role": "assistant", "content": f"Crate {3000 + number} has left."})
    return history


def agentic(*, rounds=8, pad=60, system=True):
    """System, one user message, then rounds of call and result."""
    history = [{"role": "system", "content": SYSTEM}] if system else []
    history.append(_asked(0))
    for number in range(rounds):
        history += _round(number, pad)
    return history


BUILDERS = {"chat": chat, "agentic": agentic}


def _asked(number):
    text = f"Item {number}: please find crate {3000 + number}."
    return {"role": "user", "content": text + (f" The gate code is {FACT}." if not number else "")}


def _round(number, pad):
    function = {"name": "locate", "arguments": json.dumps({"crate": 3000 + number})}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    seen = f"crate {3000 + number}: " + f"checked at station {number}; " * pad
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": seen},
    ]


def calls(history):
    """Return the history of each call: up to every user message, and every end of a round."""
    ends = [
        index + 1
        for index, message in enumerate(history)
        if message["role"] in ("user", "tool")
        and (index + 1 == len(history) or history[index + 1]["role"] != "tool")
    ]
    return [history[:end] for end in ends]


def digest(history):
    """Return the sha256 of a history's canonical JSON."""
    text = json.dumps(history, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="  # noqa: E501


def _parts():
    text = st.builds(lambda value: {"type": "text", "text": value}, ctx.texts())
    marked = text.map(lambda part: {**part, "cache_control": {"type": "ephemeral"}})
    image = st.just({"type": "image_url", "image_url": {"url": PIXEL}, "size": {"bytes": 70}})
    opaque = st.just({"type": "opaque", "of": "anthropic/document", "data": {"title": "x"}})
    return st.lists(text | marked | image | opaque, min_size=1, max_size=4)


@st.composite
def rich_histories(draw, **shape):
    """Draw a history with parts, names, reasoning, errors and argument texts of odd spelling."""
    history = []
    for message in draw(ctx.histories(**shape)):
        message = dict(message)
        if message["role"] in ("user", "tool") and draw(st.booleans()):
            message["content"] = draw(_parts())
        if message["role"] == "user" and draw(st.booleans()):
            message["name"] = "ana"
        if message["role"] == "assistant" and draw(st.booleans()):
            message["reasoning_content"] = draw(ctx.texts())
            message["model"] = "some-model"
        if message["role"] == "tool" and draw(st.booleans()):
            message |= {"name": "read_file", "is_error": True}
        for call in message.get("tool_calls", ()):
            if draw(st.booleans()):
                odd = draw(st.sampled_from(['{ "q" :1.0 }', "{}", "", '{"q": ', "[1]", '"x"']))
                call["function"] = {**call["function"], "arguments": odd}
        history.append(message)
    return history
