"""What is to be planted in a transcript, and the message where it goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.editing import Edit
from pytest_ctxguard.transcript.matching import Match
from pytest_ctxguard.transcript.messages import Message, is_instruction, is_user, tool_calls
from pytest_ctxguard.transcript.model import Fact, Kind, Lifetime, ToolProbe, Transcript

Level = Literal["user", "assistant", "tool", "system"]
LEVELS: tuple[Level, ...] = ("user", "assistant", "tool", "system")
Size = Callable[[Sequence[Message]], int]

SLOT = "{value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """Something to be said in a transcript.

    Attributes:
        text: what is said; added as a line of its own to a message that is there.
        level: who says it: the user, the assistant, a tool (in its result) or the system message.
        turn: in which turn, from 1. A tool's or the assistant's last message of the turn says it;
            where a turn has no assistant message, one is put at its end.
        depth: instead of a turn, where: 0 the start, 1 the end; the nearest message that can
            say it is taken. At system level neither.
        reply: what the assistant answers. The sentence then is a user message of its own, a turn
            before that turn; at user level only.
    """

    text: str
    level: Level = "user"
    turn: int | None = None
    depth: float | None = None
    reply: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant(Sentence):
    """A fact to be planted: a sentence with a value in it, and how it is asked for.

    ``text`` and ``accepts`` have ``{value}`` where the value goes. The other attributes are a
    :class:`~pytest_ctxguard.transcript.model.Fact`'s.

    Attributes:
        value: left out where values are drawn.
        shape: empty: as the value, with any letters and digits where it has digits; a value
            without digits has no other candidates.
        asked_turn: the turn whose user message a probe replaces, from 1; ``None`` appends it.
    """

    name: str
    wordings: tuple[str, ...]
    value: str = ""
    kind: Kind = "identifier"
    shape: str = ""
    asked_turn: int | None = None
    accepts: tuple[str, ...] = ()
    look_alikes: tuple[str, ...] = ()
    lifetime: Lifetime = "session"
    match: Match = "word"
    supersedes: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    tool: ToolProbe | None = None

    def fact(self, *, planted_at: int, asked_at: int | None) -> Fact:
        """Return the fact as it is declared once it stands in a message."""
        return Fact(
            name=self.name,
            value=self.value,
            kind=self.kind,
            planted_at=planted_at,
            asked_at=asked_at,
            wordings=tuple(self.wordings),
            shape=self.shape or shape_of(self.value),
            accepts=tuple(answer.replace(SLOT, self.value) for answer in self.accepts),
            look_alikes=tuple(self.look_alikes),
            lifetime=self.lifetime,
            match=self.match,
            supersedes=tuple(self.supersedes),
            links=tuple(self.links),
            tool=self.tool,
        )


def shape_of(value: str) -> str:
    """Return a regular expression of values like this one; only itself where it has no digit."""
    if not re.search(r"\d", value):
        return re.escape(value)
    if value.isdigit():
        return rf"\d{{{len(value)}}}"
    runs = re.findall(r"[A-Za-z]+|\d+|[^A-Za-z\d]+", value)
    return "".join(
        r"\d+" if run[0].isdigit() else r"[A-Za-z]+" if run[0].isalpha() else re.escape(run)
        for run in runs
    )


def turn_start(transcript: Transcript, turn: int) -> int:
    """Return the index of the user message that starts a turn, counted from 1.

    Raises:
        UsageError: there is no such turn.
    """
    turns = transcript.turns
    if isinstance(turn, bool) or not isinstance(turn, int) or not 1 <= turn <= len(turns):
        raise UsageError(
            f"turn {turn!r}: transcript {transcript.name!r} has turns 1 to {len(turns)}"
        )
    return turns[turn - 1].start


def place(
    sentence: Sentence, transcript: Transcript, *, text: str, before: int | None, size: Size
) -> Edit:
    """Return the edit that says a sentence in a transcript.

    Args:
        sentence: what, and where.
        transcript: the recording.
        text: the sentence with its value filled in.
        before: index of the first message that is too late; ``None``: none is.
        size: what depth is measured in: the tokens of messages, or their number.

    Raises:
        UsageError: the place is none, or no message there can say it.
    """
    _check(sentence)
    if sentence.level == "system":
        first = transcript.messages[0] if transcript.messages else {}
        if is_instruction(first):
            return Edit(0, text=text)
        return Edit(0, inserted=({"role": "system", "content": text},))
    if sentence.turn is None:
        at = _at_depth(sentence, transcript.messages[:before], size)
    else:
        found = _in_turn(sentence.level, sentence.turn, transcript)
        if found is None:
            return _own_answer(text, sentence.turn, transcript)
        at = found
    if sentence.reply is not None:
        asked = {"role": "user", "content": text}
        return Edit(at, inserted=(asked, {"role": "assistant", "content": sentence.reply}))
    return Edit(at, text=text)


def _check(sentence: Sentence) -> None:
    if sentence.level not in LEVELS:
        raise UsageError(f"level {sentence.level!r} is not one of {', '.join(LEVELS)}")
    given = [name for name in ("turn", "depth") if getattr(sentence, name) is not None]
    if sentence.level == "system" and given:
        raise UsageError(f"the system message has no {given[0]}; leave it out")
    if sentence.level != "system" and len(given) != 1:
        raise UsageError("say where: either a turn (from 1) or a depth (from 0 to 1)")
    if sentence.reply is not None and (sentence.level != "user" or not sentence.reply):
        raise UsageError("a reply is the text that answers a sentence of the user's")
    depth = sentence.depth
    if depth is not None and (
        isinstance(depth, bool) or not isinstance(depth, int | float) or not 0 <= depth <= 1
    ):
        raise UsageError(f"depth {depth!r} is not between 0 (the start) and 1 (the end)")


def _in_turn(level: Level, turn: int, transcript: Transcript) -> int | None:
    """Return the message of a turn that can say it; ``None``: the assistant says nothing there."""
    start = turn_start(transcript, turn)
    fitting = _sayers(level, transcript.messages, transcript.turns[turn - 1])
    if level == "user":
        return start
    if fitting:
        return fitting[-1]
    if level == "assistant":
        return None
    having = [
        n for n, t in enumerate(transcript.turns, 1) if _sayers("tool", transcript.messages, t)
    ]
    raise UsageError(f"turn {turn} has no tool result; {_turns_that_have(having)}")


def _turns_that_have(turns: Sequence[int]) -> str:
    return f"turns that have one: {', '.join(map(str, turns))}" if turns else "no turn has one"


def _at_depth(sentence: Sentence, messages: Sequence[Message], size: Size) -> int:
    fitting = _sayers(sentence.level, messages, range(len(messages)))
    if not fitting:
        raise UsageError(
            f"there is no {sentence.level} message to say it before message {len(messages)}"
        )
    whole = size(messages) or 1
    ends = 0 if sentence.reply is not None else 1  # what is added stands at a message's end

    def distance(at: int) -> float:
        return abs(size(messages[: at + ends]) / whole - (sentence.depth or 0.0))

    return min(fitting, key=distance)


def _sayers(level: Level, messages: Sequence[Message], among: range) -> list[int]:
    """Return which messages can say a sentence; an assistant that answers, if there is one."""
    if level == "user":
        return [i for i in among if is_user(messages[i])]
    found = [i for i in among if messages[i].get("role") == level]
    return [i for i in found if not tool_calls(messages[i])] or found


def _own_answer(text: str, turn: int, transcript: Transcript) -> Edit:
    end = transcript.turns[turn - 1].stop
    if end == len(transcript.messages):
        raise UsageError(
            f"turn {turn} is the last and still unanswered: the assistant says nothing in "
            "it. Choose another turn."
        )
    return Edit(end, inserted=({"role": "assistant", "content": text},))
