"""The laws of what must stay and what must go: the budget, and the current turn."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ctxguard.checks.laws.law import Broken
from pytest_ctxguard.checks.laws.runs import Run
from pytest_ctxguard.checks.laws.terms import Terms
from pytest_ctxguard.checks.laws.texts import carries, squeezed
from pytest_ctxguard.replay.values import Request
from pytest_ctxguard.transcript.messages import (
    Message,
    content_text,
    instructions,
    is_user,
    tool_rounds,
    turn_starts,
)

# Who may say what a message said that is not sent itself.
CARRIERS = {"user": ("user", "system", "developer"), "assistant": ("assistant",)}


def within_budget(run: Run) -> Broken | None:
    """Find a request over the budget from which more could be left out.

    Over the budget, a request may hold nothing but the irreducible: the instructions it begins
    with, the first and the last user message, the newest tool round if it is still open, the last
    message, and what the policy put in.
    """
    budget = run.setting.budget
    if budget is None:
        return None
    for seen, request in run.requests:
        if request.tokens <= budget:
            continue
        spare = [
            o.index
            for o in request.origins
            if o.index is not None and o.index not in irreducible(seen.history)
        ]
        if spare:
            failed_open = "it returned the whole history" if not request.acted else ""
            what = failed_open or f"message {spare[0]} of the history could be left out"
            measured = f"{request.tokens} tokens for a budget of {budget}"
            return Broken(seen.call, f"over the budget, and {what}", measured)
    return None


def irreducible(history: Sequence[Message]) -> set[int]:
    """Return the indices of the messages that a request over its budget may still have."""
    users = turn_starts(history)
    kept = {*range(instructions(history)), *users[:1], *users[-1:], len(history) - 1}
    return kept | set(open_round(history))


def open_round(history: Sequence[Message]) -> range:
    """Return the tool round the history ends in; empty when it ends in something else."""
    rounds = tool_rounds(history)
    return rounds[-1] if rounds and rounds[-1].stop == len(history) else range(0)


def current_turn(run: Run) -> Broken | None:
    """Find a request that lacks the last user message or a message of the open tool round.

    It may carry it elsewhere, word for word, or shortened with a mark that says so.
    """
    for seen, request in run.requests:
        if not request.acted:
            continue
        needed = sorted({*turn_starts(seen.history)[-1:], *open_round(seen.history)})
        for index in needed:
            what = _lost(request, seen.history, index=index, terms=run.terms)
            if what:
                name = "the last user message" if is_user(seen.history[index]) else "the open round"
                return Broken(seen.call, f"{name} (message {index} of the history) {what}")
    return None


def _lost(request: Request, history: Sequence[Message], *, index: int, terms: Terms) -> str:
    original = history[index]
    heirs = [m for m, o in zip(request.messages, request.origins, strict=True) if o.index == index]
    elsewhere = [m for m in request.messages if m.get("role") in CARRIERS.get(original["role"], ())]
    if carries(heirs or elsewhere, original):
        return ""
    made = heirs or [
        message
        for message, origin in zip(request.messages, request.origins, strict=True)
        if origin.index is None
        and message.get("role") == original.get("role")
        and _shortens(message, original, terms)
    ]
    if not made:
        return "is not sent"
    whole = content_text(original)
    marked = any(terms.marked(content_text(message), whole) for message in made)
    return "" if marked else "is shortened, and nothing in it says so"


def _shortens(message: Message, original: Message, terms: Terms) -> bool:
    """Tell whether a message is what is left of another one."""
    pieces = terms.unmarked(content_text(message))
    whole = squeezed(content_text(original))
    return bool(pieces) and all(squeezed(piece) in whole for piece in pieces)
