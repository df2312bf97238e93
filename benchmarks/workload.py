"""What every engine is given: token ids made once, the same for all.

The probe workload is report B's: one session under six conditions, two facts in six wordings each,
and a register of look-alike records with one question at nine depths.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pytest_ctxguard.policies.catalogue import Setting, reference_policies
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.recall.outcomes import judge
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.library import available, find
from pytest_ctxguard.transcript.matching import contains
from pytest_ctxguard.transcript.messages import (
    Message,
    content_text,
    full_text,
    tool_calls,
    turn_starts,
)
from pytest_ctxguard.transcript.model import Fact

LENGTHS = (512, 2048, 8192)
DECODED = 32
"""Tokens decoded after each prompt of the speed run."""
ANSWER_TOKENS = 48
TRANSCRIPT = "incident-40"
BUDGET = 4000
"""Of the two fits, in tokens; what ``pytest-ctxguard table`` gives by default."""
WHOLE_TURNS = 4
RECORDS, DEPTHS, TRIALS = 25, 9, 8
FIRST = ("Amara", "Boris", "Chen", "Dalia", "Emil", "Farah", "Goran", "Hana", "Idris", "Jonas")
LAST = ("Aldous", "Brandt", "Costa", "Duran", "Eriksen", "Fontaine", "Gupta", "Horvat", "Ivanov")
FIRST_MARKER = 1000
"""Plain-text token ids from here on open the speed prompts, so that no two share a prefix."""


@dataclass(frozen=True, slots=True)
class Question:
    """One prompt and what counts as its answer.

    Attributes:
        kind: ``policy`` or ``needle``.
        group: the condition, or the depth.
        ids: the prompt's token ids.
        right: tells whether an answer's text is right.
    """

    kind: str
    group: str
    ids: tuple[int, ...]
    right: Callable[[str], bool]


def corpus(encoder: RequestEncoder) -> tuple[int, ...]:
    """Return the ids of the built-in transcripts' text: prose, code, logs, tables."""
    texts = (
        full_text(message)
        for name in sorted(available())
        for message in find(name).messages
        if content_text(message)
    )
    return tuple(encoder.encode_text("\n".join(texts)))


def speed_prompt(text: Sequence[int], *, length: int, serial: int) -> list[int]:
    """Return the ``serial``-th prompt of exactly ``length`` ids; no two share their first id."""
    start = (serial * 997) % len(text)
    rotated = [*text[start:], *text[:start]]
    while len(rotated) < length:
        rotated += rotated
    return [FIRST_MARKER + serial, *rotated[: length - 1]]


def elided_results(messages: Sequence[Message]) -> list[Message]:
    """Replace the content of tool results older than four turns by a line that stands for it."""
    starts = turn_starts(messages)
    if len(starts) <= WHOLE_TURNS:
        return list(messages)
    names = {
        call.get("id"): call["function"]["name"]
        for message in messages
        for call in tool_calls(message)
    }
    kept: list[Message] = []
    for index, message in enumerate(messages):
        if message.get("role") == "tool" and index < starts[-WHOLE_TURNS]:
            name = names.get(message.get("tool_call_id"), "a tool")
            turn = sum(start <= index for start in starts)
            size = len(content_text(message))
            line = f"[result of {name} in turn {turn}, {size} characters; run {name} to read it]"
            message = {**message, "content": line}
        kept.append(message)
    return kept


def conditions() -> Mapping[str, Policy]:
    """Return the six conditions: the package's reference policies, and elided results."""
    setting = Setting(find(TRANSCRIPT), BUDGET)
    made = {name: entry.make(setting) for name, entry in reference_policies().items()}
    names = ("full-history", "sliding-window", "user-messages")
    fits = ("three-step-fit", "three-step-fit-counted")
    return {
        **{name: made[name] for name in names},
        "elided-results": elided_results,
        **{name: made[name] for name in fits},
    }


def policy_questions(encoder: RequestEncoder) -> tuple[Question, ...]:
    """Return 6 conditions x 12 wordings over the built-in session, tools in the prompt."""
    transcript = find(TRANSCRIPT)
    questions = []
    for name, policy in conditions().items():
        replay = run(Plan(transcript=transcript, policy=policy, counter=encoder, budget=BUDGET))
        for fact in transcript.facts:
            for request in replay.probes[fact.name]:
                ids = encoder.encode(request.messages, tools=transcript.tools)
                hit = partial(_answers_fact, fact=fact, request=request.messages)
                questions.append(Question("policy", name, tuple(ids), hit))
    return tuple(questions)


def needle_questions(encoder: RequestEncoder) -> tuple[Question, ...]:
    """Return 9 depths x 8 trials: 25 look-alike records, one of which is asked for."""
    records = _records()
    questions = []
    for depth in range(DEPTHS):
        place = round(depth * (RECORDS - 1) / (DEPTHS - 1))
        for trial in range(TRIALS):
            gold = records[trial * RECORDS // TRIALS]
            others = [record for record in records if record is not gold]
            lines = [_line(record) for record in (*others[:place], gold, *others[place:])]
            text = (
                "Here is the register of open tickets.\n\n"
                + "\n".join(lines)
                + f"\n\nWhat is the extension of {gold[1]}? Answer with the number only."
            )
            ids = encoder.encode([{"role": "user", "content": text}])
            wrong = tuple(record[2] for record in others)
            right = partial(_answers_needle, gold=gold[2], wrong=wrong)
            questions.append(Question("needle", f"depth {depth}/{DEPTHS - 1}", tuple(ids), right))
    return tuple(questions)


def groups(questions: Sequence[Question]) -> dict[tuple[str, str], list[Question]]:
    """Return the questions by kind and group, in their order."""
    grouped: dict[tuple[str, str], list[Question]] = {}
    for question in questions:
        grouped.setdefault((question.kind, question.group), []).append(question)
    return grouped


def _records() -> tuple[tuple[str, str, str], ...]:
    """Return (ticket, owner, extension) of each record, drawn once from a fixed seed."""
    draw = random.Random(4417)  # noqa: S311  a fixed text, not a secret
    owners = draw.sample([f"{one} {other}" for one in FIRST for other in LAST], RECORDS)
    tickets = draw.sample(range(10_000, 99_999), RECORDS)
    extensions = draw.sample(range(1_000, 9_999), RECORDS)
    rows = zip(tickets, owners, extensions, strict=True)
    return tuple((f"OPS-{ticket}", owner, str(number)) for ticket, owner, number in rows)


def _line(record: tuple[str, str, str]) -> str:
    ticket, owner, extension = record
    return f"Ticket {ticket} is handled by {owner}, who can be reached at extension {extension}."


def _answers_needle(text: str, *, gold: str, wrong: Sequence[str]) -> bool:
    return contains(text, gold) and not any(contains(text, number) for number in wrong)


def _answers_fact(text: str, *, fact: Fact, request: Sequence[Message]) -> bool:
    return judge(text, fact, request) == "hit"
