"""Needle prompts: a register of records, and a question about one of them.

Owners are unique within a register; a ticket has six digits and an extension four, so a number
in the answer tells which kind it was copied from. Everything follows from the prompt's place in
the list; nothing was dropped or reworded because of how an engine answered it.
"""

from __future__ import annotations

import random
from typing import Any

RECORDS = (10, 12, 16, 20, 25, 30, 40, 60)
DEPTHS = 8  # equally spaced, the first and the last record included
FIRST = (
    "Maren", "Tobias", "Ines", "Rafael", "Yuki", "Amara", "Pavel", "Leila", "Hugo", "Signe",
    "Dario", "Noor", "Edith", "Kofi", "Vesna", "Bram", "Tamsin", "Joao", "Olena", "Farid", "Greta",
    "Milo", "Sanna", "Ulrich",
)  # fmt: skip
LAST = (
    "Oduya", "Lindqvist", "Barros", "Hayashi", "Novak", "Ferreira", "Okafor", "Brandt",
    "Castellan", "Duval", "Ekholm", "Farouk", "Grimaldi", "Horvat", "Iversen", "Jankovic",
    "Keller", "Lemaire", "Moreau", "Nakagawa", "Ostrowski", "Pereira", "Quist", "Roth",
)  # fmt: skip
SENTENCE = "Ticket {ticket}: owner {owner}, extension {extension}."
TABLE = "| {ticket} | {owner} | {extension} |"
OBJECT = '{{"ticket": {ticket}, "owner": "{owner}", "extension": {extension}}}'
RUSSIAN = "Заявка {ticket}: ответственный {owner}, добавочный {extension}."
HEADS = {
    SENTENCE: "Open tickets of the night shift:",
    TABLE: "| ticket | owner | extension |\n|---|---|---|",
    OBJECT: "Export of the ticket register, one object a line:",
    RUSSIAN: "Реестр заявок ночной смены:",
}
QUESTIONS = {
    SENTENCE: (
        "Which extension does {owner} have? Reply with the digits only.",
        "I need to call {owner}. What number do I dial?",
    ),
    TABLE: (
        "What is the extension of {owner}? Only the number, please.",
        "State {owner}'s extension in one short sentence.",
    ),
    OBJECT: (
        "Give the extension of {owner} as a bare number.",
        "On which extension can {owner} be reached?",
    ),
    RUSSIAN: (
        "Какой добавочный номер у {owner}? Ответь только цифрами.",
        "По какому номеру звонить, чтобы поговорить с {owner}?",
    ),
}


def needles() -> dict[str, list[dict[str, Any]]]:
    """Return the messages of each prompt by its name."""
    prompts = {}
    for row, records in enumerate(RECORDS):
        for depth in range(DEPTHS):
            form = tuple(HEADS)[(row + depth) % len(HEADS)]
            wording = (row // 2 + depth // 4) % 2
            name = f"needle-{records}-{depth}"
            text = _prompt(name, form, records=records, depth=depth, wording=wording)
            prompts[name] = [{"role": "user", "content": text}]
    return prompts


def _prompt(name: str, form: str, *, records: int, depth: int, wording: int) -> str:
    draw = random.Random(name)
    people = draw.sample([f"{first} {last}" for first in FIRST for last in LAST], records)
    tickets = draw.sample(range(100_000, 1_000_000), records)
    extensions = draw.sample(range(1_000, 10_000), records)
    lines = [
        form.format(ticket=ticket, owner=owner, extension=extension)
        for ticket, owner, extension in zip(tickets, people, extensions, strict=True)
    ]
    asked = people[round(depth * (records - 1) / (DEPTHS - 1))]
    question = QUESTIONS[form][wording].format(owner=asked)
    return "\n".join((HEADS[form], *lines, "", question))
