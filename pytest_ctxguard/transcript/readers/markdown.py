"""Chats exported as Markdown, where it is plain who says what.

Recognised only if every message stands under a line of one form, ``## User`` or ``**User:**``, the
first is the user's or the system's, and the speaker changes at each. Lines in code blocks are text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.reading import Reader, Reading

ROLE_OF = {
    **{"system": "system", "user": "user", "human": "user", "you": "user"},
    **{"assistant": "assistant", "ai": "assistant", "chatgpt": "assistant"},
    **{"claude": "assistant", "gemini": "assistant", "copilot": "assistant"},
}
WHO = "|".join(ROLE_OF)
HEADING = re.compile(rf"(#{{1,6}}) +(?:\*\*)?({WHO}):?(?:\*\*)?:? *", re.IGNORECASE)
BOLD = re.compile(rf"(\*\*|__)({WHO})(?::\1|\1:)(.*)", re.IGNORECASE)
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
BREAK = re.compile(r" {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})")
HEAD = 2**16  # characters, among which a first message begins
LINE = re.compile(r"\r?\n")
TITLE = 10  # lines that may stand before the first message: a title, a date, a model


@dataclass(slots=True)
class _Said:
    """One message: who, in what form it says so, where it begins, and its lines."""

    role: str
    form: str
    line: int
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Chat:
    """What a file holds: lines before the first message, messages, and an open code block."""

    before: list[str] = field(default_factory=list)
    said: list[_Said] = field(default_factory=list)
    open_block: int | None = None


def recognises(document: Document) -> bool:
    """Tell by the lines that say who speaks."""
    if document.data.lstrip()[:1] in (b"{", b"["):
        return False
    try:
        text = document.text
    except TranscriptError:
        return False
    if not any(_speaker(line)[1] for line in LINE.split(text[:HEAD])):
        return False
    chat = _parsed(text)
    roles = [said.role for said in chat.said if said.role != "system"]
    return (
        len(chat.before) <= TITLE
        and len(set(roles)) == 2
        and chat.said[0].role != "assistant"
        and [said.role for said in chat.said].count("system") <= 1
        and all(a.role != b.role for a, b in zip(chat.said, chat.said[1:], strict=False))
    )


def read(document: Document) -> Reading:
    """Read the messages as they stand, without the blank lines around each."""
    chat = _parsed(document.text)
    if chat.open_block is not None:
        raise document.fail(
            "a code block begins here and does not end, so it cannot be told which messages come "
            "after it. Close it; the file may be truncated.",
            chat.open_block,
        )
    passed_over = {"line before the first message": len(chat.before)} if chat.before else {}
    texts = [_stripped(said.lines) for said in chat.said]
    between = texts[:-1]
    if between and all(text and BREAK.fullmatch(text[-1]) for text in between):
        last = [texts[-1]] if texts[-1] and BREAK.fullmatch(texts[-1][-1]) else []
        passed_over["line between messages"] = len(between) + len(last)
        for text in (*between, *last):
            text.pop()
    builder = Builder(document)
    for said, text in zip(chat.said, texts, strict=True):
        message = {"role": said.role, "content": "\n".join(_stripped(text))}
        builder.add(message, line=said.line)
    transcript = builder.build()
    return Reading(
        format=READER.name,
        runs=(transcript,),
        passed_over=passed_over,
        notes=tuple(builder.notes),
    )


READER = Reader(name="markdown", recognises=recognises, read=read)


def _parsed(text: str) -> _Chat:
    """Split a text at the lines that have the form of the first one that says who speaks."""
    chat = _Chat()
    fence = ""
    for number, line in enumerate(LINE.split(text), 1):
        form, role, rest = ("", "", "") if fence else _speaker(line)
        if role and (not chat.said or form == chat.said[0].form):
            chat.said.append(_Said(role, form, number, [rest] if rest else []))
            continue
        mark = FENCE.fullmatch(line)
        if mark and not fence:
            if "`" not in mark[2] or mark[1][0] == "~":
                fence, chat.open_block = mark[1], number
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fence, chat.open_block = "", None
        if chat.said:
            chat.said[-1].lines.append(line)
        elif line.strip():
            chat.before.append(line)
    return chat


def _speaker(line: str) -> tuple[str, str, str]:
    """Return form, role and text of a line that says who speaks; empty for any other."""
    line = line.rstrip()
    heading, bold = HEADING.fullmatch(line), BOLD.fullmatch(line)
    if heading:
        return heading[1], ROLE_OF[heading[2].lower()], ""
    if bold:
        return bold[1], ROLE_OF[bold[2].lower()], bold[3].strip()
    return "", "", ""


def _stripped(lines: Sequence[str]) -> list[str]:
    """Return lines without blank ones at either end."""
    filled = [index for index, line in enumerate(lines) if line.strip()]
    return list(lines[filled[0] : filled[-1] + 1]) if filled else []
