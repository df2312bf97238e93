"""Plant facts in a transcript, without touching the recording."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.editing import edited
from pytest_ctxguard.transcript.facts import LISTS, check_facts
from pytest_ctxguard.transcript.messages import full_text
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.placing import SLOT, Plant, Sentence, Size, place, turn_start


def plant(
    transcript: Transcript,
    *plants: Plant,
    look_alikes: Sequence[Sentence] = (),
    count: Size = len,
) -> Transcript:
    """Return a transcript with facts planted and declared; the one given stays as it is.

    No tool round is split, roles alternate as before, and what points at messages (facts, what
    was recorded of calls, compactions) moves along. Turns are those of the transcript given.

    Args:
        transcript: the recording.
        plants: the facts.
        look_alikes: what is said besides, and not asked for.
        count: measures depth: the tokens of a list of messages; by default how many there are.

    Raises:
        UsageError: a place, sentence or fact that is none, or a value that stands in the
            transcript already, where it could not be told from what is planted.
    """
    if not plants:
        raise UsageError("no fact to plant")
    edits, asked = [], []
    for each in plants:
        try:
            _check(each, transcript)
            before = None if each.asked_turn is None else turn_start(transcript, each.asked_turn)
            text = each.text.replace(SLOT, each.value)
            edits.append(place(each, transcript, text=text, before=before, size=count))
        except UsageError as error:
            raise UsageError(f"plant {each.name!r}: {error}") from None
        asked.append(before)
    too_late = min((before for before in asked if before is not None), default=None)
    edits += (
        place(said, transcript, text=said.text, before=too_late, size=count) for said in look_alikes
    )
    done = edited(transcript, edits)
    facts = [
        each.fact(planted_at=at, asked_at=None if before is None else done.moved[before])
        for each, at, before in zip(plants, done.stated, asked, strict=False)
    ]
    planted = [*transcript.provenance.get("planted", ()), *(fact.name for fact in facts)]
    provenance = {**transcript.provenance, "planted": planted}
    whole = replace(done.transcript.with_facts(*facts), provenance=provenance)
    check_facts(whole)
    return whole


def _check(plant: Plant, transcript: Transcript) -> None:
    for name in LISTS:
        if isinstance(getattr(plant, name), str):
            raise UsageError(f"its {name} are one text; give a sequence of texts")
    if not plant.value:
        raise UsageError("it has no value")
    if SLOT not in plant.text:
        raise UsageError(f"its text {plant.text!r} has no {SLOT}, where the value goes")
    others = sorted(set(re.findall(r"\{\w+\}", plant.text)) - {SLOT})
    if others:
        raise UsageError(f"its text has {others[0]}; only {SLOT} is filled in")
    if plant.supersedes:  # an older value may come back
        return
    fact = plant.fact(planted_at=0, asked_at=None)
    for index, message in enumerate(transcript.messages):
        if fact.finds(plant.value, full_text(message)):
            raise UsageError(
                f"its value {plant.value!r} stands in message {index} ({message.get('role')}) "
                "already, so it could not be told from what is planted. Choose another value."
            )
