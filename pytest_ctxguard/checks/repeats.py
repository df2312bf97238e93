"""``ctx_no_repeats``: no block of text stands in a request more than once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, is_count, require
from pytest_ctxguard.checks.requests import named_requests
from pytest_ctxguard.transcript.messages import Message, content_text


@dataclass(frozen=True, slots=True)
class NoRepeats:
    """The largest request has no run of lines twice: a reminder, a schema, a file read again.

    Attributes:
        min_tokens: smaller repeats do not matter.
        allowed: texts; a block that has one of them may be repeated.
    """

    min_tokens: int = 100
    allowed: Sequence[str] = ()

    marker: ClassVar[str] = "ctx_no_repeats"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = 'ctx_no_repeats(min_tokens=100, allowed=("<rules>",))'

    def __post_init__(self) -> None:
        ok = is_count(self.min_tokens, least=1)
        require(ok, self, f"min_tokens={self.min_tokens!r} is not a number of 1 or more")
        texts = not isinstance(self.allowed, str) and all(isinstance(t, str) for t in self.allowed)
        require(texts, self, f"allowed={self.allowed!r} is not a list of texts")

    @property
    def subject(self) -> str:
        """One such promise per test."""
        return ""

    def judge(self, case: Case) -> Judgement:
        """Look for repeated blocks; one finding, at the one that wastes most."""
        place, request = max(named_requests(case.replay), key=lambda item: item[1].tokens)
        sizes: dict[str, int] = {}
        copies: dict[str, int] = {}
        for block in repeated(request.messages):
            if block not in sizes:
                sizes[block] = _tokens(case, block)
            if sizes[block] >= self.min_tokens and not any(t in block for t in self.allowed):
                copies[block] = copies.get(block, 1) + 1
        wasted = {block: sizes[block] * (number - 1) for block, number in copies.items()}
        summary = f"{sum(wasted.values())} of {request.tokens} tokens are repeats"
        if not wasted:
            return Judgement(describe(self), summary, requests=1)
        worst = max(wasted, key=lambda block: wasted[block])
        finding = Finding(
            rule=f"{self.marker}.repeated",
            what=f"a block of {sizes[worst]} tokens stands {copies[worst]} times in one request",
            where=case.place(place),
            measured=f"{sum(wasted.values())} tokens of {len(wasted)} blocks are repeats; it "
            f"begins {worst[:60]!r}",
            allowed=f"each block of {self.min_tokens} tokens or more once",
            why="every copy is paid for at every later call, and hides what is new",
            remedy="put it in where it changed, or once at the end; what may stand twice is named "
            "with ctx_no_repeats(allowed=…)",
        )
        return Judgement(describe(self), summary, (finding,), requests=1)


def repeated(messages: Sequence[Message]) -> Iterator[str]:
    """Yield each run of lines that stood before, once for each copy after the first."""
    lines: list[str | None] = []
    for message in messages:
        lines += [*content_text(message).splitlines(), None]  # no run goes on in the next message
    first: dict[str, int] = {}
    i = 0
    while i < len(lines):
        line = lines[i]
        before = None if line is None or not line.strip() else first.setdefault(line, i)
        if before is None or before == i:
            i += 1
            continue
        length = 1
        while (
            before + length < i
            and lines[i + length] is not None
            and lines[i + length] == lines[before + length]
        ):
            length += 1
        yield "\n".join(part for part in lines[i : i + length] if part is not None)
        i += length


def _tokens(case: Case, text: str) -> int:
    """Return what a text adds to a request."""
    counter = case.replay.counter
    with_text = counter.count([{"role": "user", "content": text}])
    return with_text - counter.count([{"role": "user", "content": ""}])
