"""What an answer to a probe amounts to."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pytest_ctxguard.backend import Completion
from pytest_ctxguard.recall.phrases import declines
from pytest_ctxguard.transcript.messages import Message, full_text
from pytest_ctxguard.transcript.model import Fact

Outcome = Literal["hit", "neighbour", "invented", "abstained", "other", "error"]
OUTCOMES: tuple[Outcome, ...] = ("hit", "neighbour", "invented", "abstained", "other", "error")

WORD = string.ascii_letters + string.digits + "_-"
"""What words are made of, as for :func:`~pytest_ctxguard.transcript.matching.contains`."""

RULES = "2"
"""Version of the rules below, the phrases that decline included; part of every fingerprint, so
that a change is not a regression."""


def judged_text(completion: Completion) -> str:
    """Return all that an answer says: its text, then tool-call names and arguments."""
    calls = (f"{call.name} {call.arguments}" for call in completion.tool_calls)
    return "\n".join(filter(None, [completion.text, *calls]))


def judge(
    text: str,
    fact: Fact,
    request: Sequence[Message],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
) -> Outcome:
    """Classify an answer.

    *hit*: an accepted value, and no value known to be wrong; *neighbour*: another candidate that
    stands in the request; *invented*: a candidate that stands nowhere in it; *abstained*: it
    declines; *other*: anything else. A candidate is a look-alike, a superseded value or a match
    of the fact's shape. A wrong candidate outweighs a phrase that declines: it is what the user
    acts on. An accepted value outweighs it, too.

    Args:
        text: what is judged of the answer.
        fact: what was asked for.
        request: the messages the model was shown.
        tools: the tool definitions it was shown; a candidate may stand in one.
    """
    wrong = [value for value in fact.wrong if fact.finds(value, text)]
    if not wrong and fact.matches(text):
        return "hit"
    wrong += _shaped(text, fact)
    if wrong:
        shown = "\n".join([*map(full_text, request), json.dumps(list(tools), ensure_ascii=False)])
        return "neighbour" if any(fact.finds(value, shown) for value in wrong) else "invented"
    return "abstained" if declines(text) else "other"


def _shaped(text: str, fact: Fact) -> list[str]:
    """Return the words of a text that have the fact's shape and are no accepted answer.

    A match is widened to whole words: where the value is 4417, 44170 is a wrong answer.
    """
    words = (
        text[len(text[: m.start()].rstrip(WORD)) : len(text) - len(text[m.end() :].lstrip(WORD))]
        for m in re.finditer(fact.shape, text, re.IGNORECASE)
        if m.group()
    )
    return [word for word in words if not fact.matches(word)]
