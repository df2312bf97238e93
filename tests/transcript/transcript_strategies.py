"""Hypothesis strategies for whole transcripts, with facts, tools and what recorders add."""

import re

from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.transcript.model import Compaction, Fact, ToolProbe, Transcript
from tests.factories import tool, user

# Any code point, half surrogate pairs and line separators among them: JSON can carry them all.
ANYTHING = st.text(max_size=20) | st.sampled_from(["\ud83d", "\u2028", "a\r\nb", "\x00", "\x85"])
NAMES = st.text("abcdefgh-0123456789", min_size=1, max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANYTHING,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANYTHING, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(ANYTHING, JSON, max_size=3)
WORDS = st.text("abcdefgh", min_size=1, max_size=8)
PROBE = ToolProbe(name="read_log", argument="service")
QUESTIONS = st.lists(ANYTHING.map(lambda text: f"{text}?"), min_size=1, max_size=3).map(tuple)


@st.composite
def facts(draw, *, name, value, planted_at, asked_at, tools=(), before=()):
    """A fact of which every field is drawn; its value is not part of any text drawn here."""
    others = st.lists(WORDS.map(lambda word: f"{word}-other"), max_size=2).map(tuple)
    linked = tuple(fact.name for fact in before if not fact.must_be_gone)
    kinds = ["identifier", "rule", "forbidden"] + ["update"] * bool(before)
    kind = draw(st.sampled_from([*kinds, *["multi-hop"] * bool(linked)]))
    lifetimes = ["session"] if kind == "forbidden" else ["session", "turn", "durable"]
    match = draw(st.sampled_from(["word", "exact", "text", "regex"]))
    accepts = [(), (value,), (value, f"it is {value}")]
    return Fact(
        name=name,
        value=value,
        kind=kind,
        planted_at=planted_at,
        wordings=draw(QUESTIONS),
        shape=draw(st.sampled_from([re.escape(value), r"value-\w+", ".+"])),
        asked_at=draw(st.sampled_from([None, asked_at])),
        accepts=draw(st.sampled_from(accepts[1:] if match == "regex" else accepts)),
        look_alikes=draw(others),
        lifetime=draw(st.sampled_from(lifetimes)),
        match=match,
        supersedes=tuple(fact.value for fact in before) if kind == "update" else (),
        links=linked if kind == "multi-hop" else (),
        tool=draw(st.sampled_from([None, PROBE])) if tools else None,
    )


@st.composite
def compactions(draw, messages):
    """Compactions of a session of so many messages, in order."""
    places = sorted(draw(st.lists(st.integers(0, messages), max_size=2)))
    return tuple(
        Compaction(
            at=at,
            kept_from=draw(st.integers(0, at)),
            inserted=draw(st.lists(ANYTHING.map(user), max_size=2).map(tuple)),
            recorded=draw(OBJECTS),
        )
        for at in places
    )


@st.composite
def transcripts(draw):
    """A transcript that keeps the format's rules."""
    start = draw(ctx.histories(max_turns=2, max_rounds=2))
    planted = []
    for number in range(draw(st.integers(0, 2))):
        planted.append((len(start), f"value-{number}"))
        start.append(user(f"{draw(ANYTHING)} value-{number} {draw(ANYTHING)}"))
    messages = [*start, user(draw(ANYTHING))]
    answers = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    known = st.dictionaries(st.sampled_from(answers), OBJECTS) if answers else st.just({})
    tools = tuple(tool(description=d) for d in draw(st.lists(ANYTHING, max_size=2)))
    asked = []
    for number, (at, value) in enumerate(planted):
        place = {"planted_at": at, "asked_at": len(messages) - 1, "value": value}
        asked.append(draw(facts(name=f"fact {number}", **place, tools=tools, before=tuple(asked))))
    return Transcript(
        name=draw(NAMES),
        messages=tuple(messages),
        tools=tools,
        facts=tuple(asked),
        recorded=draw(known),
        compactions=draw(compactions(len(messages))),
        provenance=draw(OBJECTS),
    )
