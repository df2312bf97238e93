"""Why a prefix changed, where the text tells: plain words, or nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_ctxguard.prefix.differing import Difference
from pytest_ctxguard.prefix.sent import Part
from pytest_ctxguard.transcript.messages import content_text

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
DAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
CLOCK = re.compile(
    rf"\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"  # ISO 8601
    rf"|\b\d{{1,2}}:\d\d(?::\d\d)?(?:\s?[ap]m)?\b"  # 10:01
    rf"|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}\b"  # 6.3.2026
    rf"|\b(?:{DAY},? )?(?:\d{{1,2}}\.? {MONTH}|{MONTH} \d{{1,2}})(?:,? \d{{4}})?\b"  # Tue Jun 16
    rf"|\b{DAY}\b|\b{MONTH}\b|\b1\d{{9}}(?:\d{{3}})?(?:\.\d+)?\b",  # Tuesday; seconds since 1970
    re.IGNORECASE,
)


def likely_cause(
    before: Sequence[Part], after: Sequence[Part], *, at: int, diff: Difference
) -> str:
    """Say why two requests part at their ``at``-th part, or nothing where the text does not tell.

    Args:
        before: the parts of the first request.
        after: of the second.
        at: the first part that differs; both have one there.
        diff: their first difference.
    """
    one, other = before[at], after[at]
    if one.section != other.section:
        lost, section = one.section != "messages" and one.section, other.section
        return f"no {lost} any more" if lost and section != "tools" else f"{section} added"
    if one.section == "tools":
        return _tools(before, after)
    if diff.before and _without_clock(diff.before) == _without_clock(diff.after):
        return "clock"
    return _moved(before, after, at) or _edited(before, after, at)


def _without_clock(text: str) -> str:
    return CLOCK.sub("<time>", text)


def _tools(before: Sequence[Part], after: Sequence[Part]) -> str:
    one = {part.text for part in before if part.section == "tools"}
    other = {part.text for part in after if part.section == "tools"}
    if one == other:
        return "order of the tools"
    if one < other:
        return "tools added"
    return "tools taken away" if other < one else "tools edited"


def _moved(before: Sequence[Part], after: Sequence[Part], at: int) -> str:
    """Tell messages that were dropped or inserted in front of others that were sent before."""
    texts, others = [p.text for p in before[at:]], [p.text for p in after[at:]]
    if sorted(texts) == sorted(others[: len(texts)]):
        return "order of the messages"
    if others[0] in texts:
        number = texts.index(others[0])
        dropped = texts[number:] == others[: len(texts) - number]
        return f"{_messages(number)} dropped" if dropped else ""
    if texts[0] in others:
        return f"{_messages(others.index(texts[0]))} inserted"
    return ""


def _edited(before: Sequence[Part], after: Sequence[Part], at: int) -> str:
    one, other = before[at].value, after[at].value
    if one.get("role") != other.get("role"):
        return _replaced(before, after, at)
    old, new = content_text(one), content_text(other)
    if one.get("role") == "tool" and one.get("tool_call_id") == other.get("tool_call_id"):
        return "tool result cleared" if len(new) < len(old) else "tool result edited"
    block = _extra(old, new)
    if block and any(block in content_text(p.value) for p in after[at + 1 :]):
        return "injected block moved to a later message"
    if block:
        return "injected block taken off"
    if _extra(new, old):
        return "block injected"
    if old != new and sorted(old.splitlines()) == sorted(new.splitlines()):
        return "order of the lines"
    lost = set(one) - set(other)
    if lost and all(one[key] == other.get(key) for key in other):
        return f"{', '.join(sorted(lost))} taken off"
    return _replaced(before, after, at)


def _replaced(before: Sequence[Part], after: Sequence[Part], at: int) -> str:
    """Tell an edited message from others put in the place of a run of them."""
    later = {part.text: index for index, part in enumerate(before[at + 1 :], 1)}
    for index, part in enumerate(after[at + 1 :], 1):
        if part.text in later:
            gone = later[part.text]
            return "history edited" if gone == index else f"{_messages(gone)} replaced by {index}"
    return "history edited"


def _extra(long: str, short: str) -> str:
    """Return what one text has beside another, in one piece; nothing if it is not so."""
    if len(long) <= len(short):
        return ""
    start = 0
    while start < len(short) and long[start] == short[start]:
        start += 1
    size = len(long) - len(short)
    return long[start : start + size].strip() if long[start + size :] == short[start:] else ""


def _messages(number: int) -> str:
    return f"{number} message{'' if number == 1 else 's'}"
