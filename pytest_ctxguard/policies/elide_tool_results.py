"""Replace the tool results of old turns by a line that says how to get them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.cutting import (
    called_arguments,
    called_name,
    calls_of_results,
    turn_numbers,
)
from pytest_ctxguard.transcript.messages import Message, content_text, turn_starts

ELIDED_NOTE = (
    "[Cleared to save context: the result of {tool} from turn {turn}, {characters} characters. "
    "Call {tool} again with {arguments} to read it.]"
)
KNOBS = ("tool", "turn", "characters", "arguments")


@dataclass(frozen=True, slots=True, kw_only=True)
class ElideToolResults:
    """Keep everything but the content of tool results that are older than the newest turns.

    Each is replaced by a line that names tool, turn, size and how to read it again. A turn's
    results are elided together and the line never changes, so the start of the request changes
    once a turn. A result not longer than its line is left alone. Inside one long turn nothing is
    old: such a session is sent whole.

    Attributes:
        last_turns: how many turns keep their results whole.
        note: the line; ``{tool}``, ``{turn}``, ``{characters}`` and ``{arguments}`` are filled in.
    """

    last_turns: int = 4
    note: str = ELIDED_NOTE

    def __post_init__(self) -> None:
        if self.last_turns < 1:
            raise UsageError(
                f"ElideToolResults(last_turns={self.last_turns}) would clear what the current "
                "turn just asked for; give at least 1"
            )
        try:
            self.note.format(**dict.fromkeys(KNOBS, ""))
        except (KeyError, IndexError, ValueError) as error:
            raise UsageError(
                f"ElideToolResults(note=…) cannot be filled in ({error!r}); it may name "
                f"{', '.join('{' + knob + '}' for knob in KNOBS)}"
            ) from None

    def __call__(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages to send."""
        starts = turn_starts(messages)
        whole_from = starts[-self.last_turns] if len(starts) > self.last_turns else 0
        turns, calls = turn_numbers(messages), calls_of_results(messages[:whole_from])
        sent = list(messages)
        for index, call in calls.items():
            content = content_text(messages[index])
            line = self.note.format(
                tool=called_name(call),
                turn=turns[index],
                characters=len(content),
                arguments=called_arguments(call),
            )
            if len(content) > len(line):
                sent[index] = {**messages[index], "content": line}
        return sent
