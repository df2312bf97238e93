"""Our count of a request against the one the provider billed, where a recording tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from pytest_ctxguard.tokens.openai import OpenAICounter, encoding_of, has_tools, is_framed
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Call, Transcript
from pytest_ctxguard.transcript.summary import parts_without_text, tokens_of

Kind = Literal["tool_free", "tools", "other"]
"""What is known of how a request is counted: the published rule is exact for tool-free chats of
text; tools are counted by what was measured; of all else, part is billed that is not seen here."""

UNSEEN_KEYS = ("reasoning_items", "reasoning_content", "thinking_blocks", "refusal", "audio")
"""Of messages: the provider reads them in a way that is not published."""
UNSEEN_SETTINGS = ("response_format", "text", "functions", "reasoning")
"""Of calls: likewise; a JSON schema for the answer is part of the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """One recorded call of an OpenAI model.

    Attributes:
        run: its session's place in the file.
        history: messages before it.
        model: that answered.
        billed: input tokens, as the provider told.
        ours: as we count them.
        kind: how well it can be counted.
        tools: names of the tools it was offered.
    """

    run: int
    history: int
    model: str
    billed: int
    ours: int
    kind: Kind
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CountAgreement:
    """How counts agree over some calls.

    Attributes:
        calls: how many were compared.
        exact: how many agree to the token.
        largest: the largest difference, in tokens, ours less the billed; 0 without calls.
        billed: input tokens over all of them, as billed.
        ours: as we count them.
    """

    calls: int
    exact: int
    largest: int
    billed: int
    ours: int

    @property
    def ratio(self) -> float | None:
        """Our tokens by the billed ones; ``None`` without calls."""
        return self.ours / self.billed if self.billed else None


def counted(
    runs: Sequence[Transcript], *, counter: Callable[[str], OpenAICounter] = OpenAICounter
) -> tuple[Counted, ...]:
    """Count every request of an OpenAI model whose input tokens were recorded.

    Args:
        runs: the sessions of one file.
        counter: encoding's name -> counter; asked once an encoding, and only if there are calls.

    Raises:
        ModelMissing: there are such calls, and the packages to count them are not installed.
    """
    counters: dict[str, OpenAICounter] = {}
    rows = []
    for number, run in enumerate(runs):
        for call, model, encoding, billed in _billed(run):
            if encoding not in counters:
                counters[encoding] = counter(encoding)
            tools = offered(run, call.recorded.get("tools"))
            sent = run.sent(call)
            rows.append(
                Counted(
                    run=number,
                    history=call.history,
                    model=model,
                    billed=billed,
                    ours=counters[encoding].count(sent, tools=tools),
                    kind=_kind(call, model=model, sent=sent, tools=tools),
                    tools=tuple(str(tool["function"]["name"]) for tool in tools),
                )
            )
    return tuple(rows)


def agreement(rows: Sequence[Counted]) -> CountAgreement:
    """Sum up how our counts agree with the billed ones."""
    return _agreement([(row.billed, row.ours) for row in rows])


def growth_agreement(rows: Sequence[Counted]) -> CountAgreement:
    """Sum up how our counts of what was added from one call to the next agree with the billed ones.

    What both requests have, such as tool definitions, is out of it, so that the rules for messages
    and tool rounds are tested to the token.
    """
    return _agreement(
        [
            (after.billed - before.billed, after.ours - before.ours)
            for before, after in pairwise(rows)
            if (before.run, before.model, before.tools) == (after.run, after.model, after.tools)
            and "other" not in (before.kind, after.kind)
        ]
    )


def _agreement(pairs: Sequence[tuple[int, int]]) -> CountAgreement:
    differences = [ours - billed for billed, ours in pairs]
    return CountAgreement(
        calls=len(pairs),
        exact=differences.count(0),
        largest=max(differences, key=abs, default=0),
        billed=sum(billed for billed, _ in pairs),
        ours=sum(ours for _, ours in pairs),
    )


def offered(run: Transcript, names: object) -> tuple[Mapping[str, Any], ...]:
    """Return the tool definitions a call was offered; all of the session's if it does not tell."""
    if not isinstance(names, list):
        return run.tools
    return tuple(tool for tool in run.tools if tool["function"]["name"] in names)


def _billed(run: Transcript) -> Iterator[tuple[Call, str, str, int]]:
    for call in run.calls:
        model = call.recorded.get("model")
        encoding = encoding_of(model) if isinstance(model, str) else None
        billed = tokens_of(call.recorded, "prompt_tokens")
        if encoding is not None and billed:
            yield call, str(model), encoding, billed


def _kind(
    call: Call, *, model: str, sent: Sequence[Message], tools: Sequence[Mapping[str, Any]]
) -> Kind:
    unseen = (
        parts_without_text(sent)
        or any(message.get(key) for message in sent for key in UNSEEN_KEYS)
        or any(call.recorded.get(key) for key in UNSEEN_SETTINGS)
    )
    if unseen or not is_framed(model):
        return "other"
    return "tools" if has_tools(sent, tools) else "tool_free"
