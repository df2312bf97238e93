"""Find control tokens that a request's content spells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_ctxguard.tokens.masking import Masker
from pytest_ctxguard.tokens.seen import parse_or_keep, see
from pytest_ctxguard.transcript.messages import Message


class Spelled(NamedTuple):
    """A control token that content spells: in message ``message``, or (None) in a tool."""

    message: int | None
    literal: str


def control_literals(
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]],
    *,
    control: Iterable[str],
) -> tuple[Spelled, ...]:
    """List where a request's content spells a control token, each literal once per message.

    Tool definitions come first, then messages in order; text, call names and call arguments
    are looked at, arguments as the template writes them.
    """
    masker = Masker(control)
    found = dict.fromkeys(
        Spelled(None, token) for text in _texts(list(tools)) for token in masker.spelled(text)
    )
    for index, message in enumerate(messages):
        seen = see(message, index)
        calls = [[name, parse_or_keep(arguments)] for name, arguments in seen.calls]
        for text in _texts([seen.text, calls]):
            found |= dict.fromkeys(Spelled(index, token) for token in masker.spelled(text))
    return tuple(found)


def _texts(value: Any) -> Iterator[str]:
    """Yield every text of a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _texts(item)
