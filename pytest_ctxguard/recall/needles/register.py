"""The register: one-line records that differ in nothing but their values.

After "needle by position" and "needle by length" of the field report in docs/field-notes.md: a
ticket, its owner, and the owner's 4-digit extension; one owner is asked about.

One *trial* is one drawn register, and its cells share it: those of other depths ask about the
record that stands *there*, those of other lengths have the records around the same middle one.
So cells are compared on the same draws, and all questions of a trial have the same long
beginning, which is computed once.

A ticket can never be read as an extension: its second digit is 0, and the first two digits of
an extension are not, so that no four digits of a ticket are an extension of any register.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from pytest_ctxguard.drawing import distinct
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.needles.depths import record_at
from pytest_ctxguard.recall.needles.haystack import Haystack

FIRST = (
    "Amira", "Bjørn", "Chidi", "Dolores", "Emeka", "Farah", "Giulia", "Hiroshi", "Ingrid", "João",
    "Kwame", "Lucía", "Mehmet", "Nadia", "Oksana", "Pavel", "Quynh", "Rashid", "Siobhán", "Tomasz",
    "Uma", "Viktor", "Wanjiru", "Xiomara", "Yusuf", "Zoë", "Anneke", "Darnell",
)  # fmt: skip
LAST = (
    "Abara", "Bianchi", "Castillo", "Dlamini", "Eriksen", "Fofanah", "García", "Haddad", "Ivanova",
    "Jankowski", "Kowalczyk", "Lindqvist", "Mbeki", "Nakamura", "O'Rourke", "Petrović", "Qureshi",
    "Raghavan", "Szabó", "Tanaka", "Ueda", "Vasquez", "Whitfield", "Xu", "Yılmaz", "Zhang",
    "de Vries", "Smith-Okoro",
)  # fmt: skip
PLACES = (
    "Juniper", "Harbour", "Cedar", "Lantern", "Meadow", "Quarry", "Saffron", "Willow", "Granite",
    "Heron", "Marble", "Orchard",
)  # fmt: skip

MOST = len(FIRST) * len(LAST)
"""Records a register can have: owners are unique."""

SYSTEM = "You look up records in a register. Answer with the value alone."
HEAD = "This is the register of open tickets:\n"
SHAPE = r"(?<![A-Za-z0-9_-])[0-9]{4}(?![A-Za-z0-9_-])"
NO_ZERO = "123456789"


@dataclass(frozen=True, slots=True)
class Record:
    """One record.

    Attributes:
        ticket: ``OPS-`` and five digits, the second of which is 0.
        owner: first and last name; no other record has both.
        extension: four digits, the first two of which are not 0.
        place: a word for where else the owner can be reached.
    """

    ticket: str
    owner: str
    extension: str
    place: str

    def line(self, reach: str) -> str:
        """Return the record as a line that says how the owner is reached."""
        return f"Ticket {self.ticket} is assigned to {self.owner}, reachable {reach}."

    @property
    def by_extension(self) -> str:
        """The line with the extension."""
        return self.line(f"on extension {self.extension}")

    def otherwise(self, rank: int) -> str:
        """Return the line with a room or a mailbox, in turns: nothing that looks like a number."""
        room = f"in room {self.place}"
        return self.line(room if rank % 2 else f"at {self.place.lower()}@desk.example")


def register(records: int, *, seed: int, trial: int) -> tuple[Record, ...]:
    """Draw a register.

    Records are drawn from the middle outwards, so that a shorter register of the same trial is
    the part of a longer one around the middle record, ``(records - 1) // 2``.

    Raises:
        UsageError: no register has so many records.
    """
    if not 1 <= records <= MOST:
        raise UsageError(f"records={records}: a register has 1 to {MOST} records")
    numbers = (
        list(islice(distinct(f"{seed}/{trial}/{what}", of), records))
        for what, of in (("ticket", 9_000), ("owner", MOST), ("extension", 8_100), ("place", 9_000))
    )
    drawn = [_record(*each) for each in zip(*numbers, strict=True)]
    return tuple(drawn[rank] for rank in outward(records))


def outward(records: int) -> tuple[int, ...]:
    """Return, for each place of a register, when it was drawn: the middle first, then outwards."""
    after, before = range(1, records, 2), range(2, records, 2)
    return (*reversed(before), 0, *after)


def register_haystack(
    records: int, *, depth: float, seed: int, trial: int, look_alikes: int | None = None
) -> Haystack:
    """Return a register with a question about the record at a depth.

    Args:
        records: how many.
        depth: 0 the first, 1 the last.
        seed: of the sample.
        trial: number of the draw.
        look_alikes: how many of the other records state an extension, too; the others state a
            room or a mailbox. Default: all. Which ones is drawn.

    Raises:
        UsageError: a register cannot be like that.
    """
    drawn = register(records, seed=seed, trial=trial)
    gold = record_at(depth, records)
    others = [i for i in distinct(f"{seed}/{trial}/look-alikes", records) if i != gold]
    if look_alikes is not None and not 0 <= look_alikes < records:
        raise UsageError(
            f"look_alikes={look_alikes}: of {records} records, 0 to {records - 1} can look like "
            "the one asked for"
        )
    alike = {*others[:look_alikes], gold}
    lines = _lines(drawn, alike)
    return Haystack(
        system=SYSTEM,
        whole=HEAD + "\n".join(lines),
        parts=(HEAD + lines[0], *lines[1:]),
        gold=gold,
        question=f"What is the extension of {drawn[gold].owner}?",
        value=drawn[gold].extension,
        look_alikes=tuple(drawn[i].extension for i in sorted(alike - {gold})),
        shape=SHAPE,
    )


def _record(ticket: int, owner: int, extension: int, place: int) -> Record:
    first, rest = divmod(ticket, 1_000)
    tens, ones = divmod(extension, 100)
    given, family = divmod(owner, len(LAST))
    return Record(
        ticket=f"OPS-{NO_ZERO[first]}0{rest:03}",
        owner=f"{FIRST[given]} {LAST[family]}",
        extension=f"{NO_ZERO[tens // 9]}{NO_ZERO[tens % 9]}{ones:02}",
        place=PLACES[place % len(PLACES)],
    )


def _lines(drawn: Sequence[Record], alike: set[int]) -> tuple[str, ...]:
    return tuple(
        record.by_extension if i in alike else record.otherwise(i) for i, record in enumerate(drawn)
    )
