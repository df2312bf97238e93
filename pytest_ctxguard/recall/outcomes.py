"""What an answer to a probe amounts to."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Literal

from pytest_ctxguard.backend import Completion
from pytest_ctxguard.transcript.messages import Message, full_text
from pytest_ctxguard.transcript.model import Fact, contains

Outcome = Literal["hit", "neighbour", "invented", "abstained", "other", "error"]
OUTCOMES: tuple[Outcome, ...] = ("hit", "neighbour", "invented", "abstained", "other", "error")

WORD = string.ascii_letters + string.digits + "_-"
"""What words are made of, as for :func:`~pytest_ctxguard.transcript.model.contains`."""

RULES = "1"
"""Version of the rules below; part of every fingerprint, so that a change is not a regression."""

ABSTENTIONS = re.compile(
    r"\b(?:"
    r"(?:(?:do(?:es)?|did|was|were|is|are|has|have|could|can) ?n[o'’]t|can['’]t)\b[^.!?\n]{0,40}"
    r"\b(?:know|recall|remember|mention|mentioned|specif|provid|given|stated|available|found|find"
    r"|contain|include|see|say|said|sure|aware|information|access)"
    r"|(?:cannot|can['’]t|unable to)"
    r" (?:find|determine|tell|say|answer|provide|know|see|recall|identify)"
    r"|(?:no|none|not|nothing)\b[^.,!?\n]{0,40}"
    r"\b(?:available|specified|mentioned|provided|known|given|found|stated)"
    r"|unknown|no (?:such )?(?:information|record|mention)|i['’]?m not sure"
    r")"
    r"|не (?:знаю|помню|указан\w*|упомина\w*|найден\w*|могу)|нет (?:данных|информации|сведений)"
    r"|неизвест\w*"
    r"|不知道|不清楚|没有(?:提到|提及|提供|信息|说明)|无法(?:确定|回答|得知)|未(?:提及|提供|知)",
    re.IGNORECASE,
)
"""Phrases that decline to answer, in the languages the fixtures use (English, Russian, Chinese)."""


def judged_text(completion: Completion) -> str:
    """Return the text a probe is judged on: the answer, then tool-call names and arguments."""
    calls = (f"{call.name} {call.arguments}" for call in completion.tool_calls)
    return "\n".join([completion.text, *calls])


def judge(text: str, fact: Fact, request: Sequence[Message]) -> Outcome:
    """Classify an answer.

    *hit*: an accepted value and no declared look-alike; *neighbour*: another candidate that
    stands in the request; *invented*: a candidate that stands nowhere in it; *abstained*: it
    declines; *other*: anything else. A candidate is a look-alike or a match of the fact's
    shape. A wrong candidate outweighs a phrase that declines: it is what the user acts on.

    Args:
        text: the judged text of the answer.
        fact: what was asked for.
        request: the messages the model was shown.
    """
    wrong = [value for value in fact.look_alikes if contains(text, value)]
    if not wrong and any(contains(text, value) for value in fact.accepted):
        return "hit"
    wrong += _shaped(text, fact)
    if wrong:
        shown = "\n".join(map(full_text, request))
        return "neighbour" if any(contains(shown, value) for value in wrong) else "invented"
    return "abstained" if ABSTENTIONS.search(text) else "other"


def _shaped(text: str, fact: Fact) -> list[str]:
    """Return the words of a text that have the fact's shape and are no accepted answer.

    A match is widened to whole words: where the value is 4417, 44170 is a wrong answer.
    """
    words = (
        text[len(text[: m.start()].rstrip(WORD)) : len(text) - len(text[m.end() :].lstrip(WORD))]
        for m in re.finditer(fact.shape, text, re.IGNORECASE)
        if m.group()
    )
    return [w for w in words if not any(contains(w, value) for value in fact.accepted)]
