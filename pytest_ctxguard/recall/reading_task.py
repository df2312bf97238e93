"""A long reading task out of a seed, broken off while there is room left.

Report A tells of sub-agents that were to read 40 chapters and stopped after two, with a quarter of
their budget used, because they did not know that old results would be cleared for them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.drawing import below
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.transcript.messages import Message

READ_CHAPTER: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "read_chapter",
        "description": "Read one chapter of the book.",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "integer", "description": "The chapter's number."}},
            "required": ["number"],
        },
    },
}
NOTICE = (
    "When this session grows past what the model accepts, the oldest tool results are cleared "
    "for you and the newest stay. Do not end a long task to save space; read a chapter again if "
    "you need what was cleared."
)
SHARE = 4  # the task is broken off at one part in four of the budget
READ = (2, 3, 4, 5)  # chapters read by then

PLACES = ("lighthouse", "ferry", "quarry", "mill", "archive", "harbour", "greenhouse", "signal box")
PEOPLE = ("Ansel", "Birte", "Corin", "Dagny", "Ewan", "Fenna", "Gideon", "Hedda", "Ivo", "Jorun")
DOINGS = ("mended", "counted", "painted", "carried off", "sketched", "weighed", "hid", "sold")
THINGS = ("lanterns", "ledgers", "nets", "bricks", "bells", "crates of salt", "maps", "ropes")
TIMES = ("Before dawn", "At noon", "In the third week", "After the storm", "That winter", "Later")


@dataclass(frozen=True, slots=True)
class ReadingTask:
    """One draw of the task.

    Attributes:
        id: ``draw/number``.
        read: chapters read so far.
        messages: the session up to the newest chapter; the next step is the model's.
        tokens: size of the request, tool definitions included.
    """

    id: str
    read: int
    messages: tuple[Message, ...]
    tokens: int

    def noticed(self) -> ReadingTask:
        """Return the same task with the notice about clearing in the system message."""
        first, *rest = self.messages
        told = {**first, "content": f"{first['content']} {NOTICE}"}
        return ReadingTask(self.id, self.read, (told, *rest), self.tokens)


def reading_task(
    number: int, *, seed: int, budget: int, chapters: int, counter: Counter
) -> ReadingTask:
    """Draw a task: who reads what, how much of it was read, and the texts.

    Args:
        number: of the draw.
        seed: another one is another sample.
        budget: tokens the reader is told that it has; a quarter of them are used.
        chapters: of the book.
        counter: counts the tokens.

    Raises:
        UsageError: a quarter of the budget has no room for the chapters.
    """
    draw = random.Random(f"{seed}/{number}/reading")  # noqa: S311 - a sample, no secret
    read = READ[below(draw, len(READ))]
    person, place = _pick(draw, PEOPLE), _pick(draw, PLACES)
    if chapters <= max(READ):
        raise UsageError(f"chapters={chapters}: a long task has more than {max(READ)} chapters")
    head: list[Message] = [
        {
            "role": "system",
            "content": f"You are a sub-agent of a librarian, with room for {budget} tokens. Read "
            "every chapter that you are given, one after the other, with read_chapter, and then "
            "report.",
        },
        {
            "role": "user",
            "content": f"Read all {chapters} chapters of 'The {place}' and then tell me all that "
            f"{person} did.",
        },
    ]
    rounds = [[_call(n), _result(n, "")] for n in range(1, read + 1)]
    empty = _count(counter, [*head, *(m for each in rounds for m in each)])
    room = (budget // SHARE - empty) // read
    if room < 1:
        raise UsageError(
            f"budget={budget}: a quarter of it has no room for {read} chapters beside the "
            f"{empty} tokens of the task itself; give more"
        )
    messages = list(head)
    for n in range(1, read + 1):
        messages += [_call(n), _result(n, _chapter(draw, person, place, room, counter))]
    return ReadingTask(f"draw/{number}", read, tuple(messages), _count(counter, messages))


def _chapter(draw: random.Random, person: str, place: str, tokens: int, counter: Counter) -> str:
    """Return sentences up to a number of tokens, at least one."""
    nothing = counter.count([_said("")])
    sentences: list[str] = []
    left = tokens
    for sentence in _sentences(draw, person, place):
        left -= counter.count([_said(f" {sentence}")]) - nothing
        if sentences and left < 0:
            break
        sentences.append(sentence)
    return " ".join(sentences)


def _sentences(draw: random.Random, person: str, place: str) -> Iterator[str]:
    while True:
        who = person if below(draw, 3) == 0 else _pick(draw, PEOPLE)
        yield (
            f"{_pick(draw, TIMES)} {who} {_pick(draw, DOINGS)} {2 + below(draw, 88)} "
            f"{_pick(draw, THINGS)} near the {place}."
        )


def _pick(draw: random.Random, words: tuple[str, ...]) -> str:
    return words[below(draw, len(words))]


def _count(counter: Counter, messages: list[Message]) -> int:
    return counter.count(messages, tools=[READ_CHAPTER])


def _said(text: str) -> Message:
    return {"role": "user", "content": text}


def _call(number: int) -> Message:
    function = {"name": "read_chapter", "arguments": json.dumps({"number": number})}
    call = {"id": f"chapter-{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _result(number: int, text: str) -> Message:
    content = f"Chapter {number}\n{text}"
    return {"role": "tool", "tool_call_id": f"chapter-{number}", "content": content}
