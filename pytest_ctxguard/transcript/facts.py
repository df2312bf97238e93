"""What keeps a fact from being asked for: what is wrong with it, in its transcript."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.matching import MATCHES, normalised
from pytest_ctxguard.transcript.messages import full_text, is_user
from pytest_ctxguard.transcript.model import (
    FACT_KINDS,
    LIFETIMES,
    Fact,
    ToolProbe,
    Transcript,
)
from pytest_ctxguard.transcript.numbers import number
from pytest_ctxguard.transcript.shape import is_tool

LISTS = ("wordings", "accepts", "look_alikes", "supersedes", "links")


def check_facts(transcript: Transcript) -> None:
    """Refuse facts that cannot be asked for.

    Raises:
        UsageError: there is one, or two have one name.
    """
    check_named(transcript.facts)
    for fact in transcript.facts:
        problem = problem_of(fact, transcript)
        if problem:
            raise UsageError(f"fact {fact.name!r}: {problem}")


def check_named(facts: Sequence[Fact]) -> None:
    """Refuse what is no fact, and facts that a promise could not tell apart.

    Raises:
        UsageError: there is something else, or two have one name.
    """
    for fact in facts:
        if not isinstance(fact, Fact):
            raise UsageError(f"facts: {fact!r} is no Fact; give Fact(name=…, value=…, …)")
    names = [fact.name for fact in facts]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two facts are named {name!r}; rename one")


def problem_of(fact: Fact, transcript: Transcript) -> str | None:
    """Return what keeps a fact of a transcript from being asked for, with the remedy, or None."""
    for check in (_fields, _places, _values, _kind, _tool):
        for problem in check(fact, transcript):
            return problem
    return None


def _fields(fact: Fact, transcript: Transcript) -> Iterator[str]:
    if not fact.name.isprintable():
        yield "its name has characters that cannot be printed; reports and keys show it"
    for name, allowed in (("kind", FACT_KINDS), ("lifetime", LIFETIMES), ("match", MATCHES)):
        value = getattr(fact, name)
        if value not in allowed:
            yield f"{name} {value!r} is not one of {', '.join(allowed)}"
    for name in LISTS:
        if isinstance(getattr(fact, name), str):
            yield f"its {name} are one text; give a sequence of texts"
    if not fact.wordings:
        yield "has no wordings, so nothing could be asked"
    for value in (fact.value, *fact.accepts, *fact.wrong):
        if fact.match == "number" and number(value) is None:
            yield f"{value!r} is no number alone, which match='number' needs"
        if fact.match == "text" and not normalised(value):
            yield f"{value!r} is nothing but punctuation, which match='text' ignores"
    if fact.match == "regex":
        yield from _patterns(fact)


def _patterns(fact: Fact) -> Iterator[str]:
    if not fact.accepts:
        yield "match='regex' needs `accepts`: the expressions of accepted answers"
    for pattern in fact.accepts:
        try:
            empty = re.search(pattern, "", re.IGNORECASE)
        except (re.error, OverflowError) as error:
            yield f"accepts {pattern!r}, which is not a regular expression ({error})"
            continue
        if empty:
            yield f"accepts {pattern!r}, which matches any text, so nothing could miss"
    if not fact.matches(fact.value):
        yield f"its value {fact.value!r} is matched by none of the expressions it accepts"


def _places(fact: Fact, transcript: Transcript) -> Iterator[str]:
    messages, at = transcript.messages, fact.planted_at
    if not 0 <= at < len(messages):
        yield f"planted_at {at} is not a message; there are {len(messages)}"
    if not fact.finds(fact.value, full_text(messages[at])):
        yield f"its value {fact.value!r} is not in message {at}, where it is planted"
    if fact.asked_at is not None and (
        not at < fact.asked_at < len(messages) or not is_user(messages[fact.asked_at])
    ):
        yield f"asked_at {fact.asked_at} is not a user message after the one that plants it"
    if fact.lifetime == "turn" and not any(map(is_user, messages[: at + 1])):
        yield (
            f"is of one turn, but message {at} stands before the first turn. Plant it at a user "
            "message or later, or give it another lifetime."
        )


def _values(fact: Fact, transcript: Transcript) -> Iterator[str]:
    for wording in fact.wordings:
        if fact.mentions(wording):
            yield f"the wording {wording!r} gives the answer away"
    for what, values in (("look-alike", fact.look_alikes), ("older value", fact.supersedes)):
        for value in values:
            if _accepted(value, fact):
                yield f"the {what} {value!r} stands in an accepted answer, so nothing could hit"
    try:
        matches = re.fullmatch(fact.shape, fact.value, re.IGNORECASE)
    except (re.error, OverflowError) as error:
        yield f"shape {fact.shape!r} is not a regular expression ({error})"
    else:
        if not matches:
            yield f"its value does not match its shape {fact.shape!r}"


def _accepted(value: str, fact: Fact) -> bool:
    if fact.match == "regex":
        return fact.matches(value)
    return any(fact.finds(value, accepted) for accepted in fact.accepted)


def _kind(fact: Fact, transcript: Transcript) -> Iterator[str]:
    if fact.kind == "forbidden" and fact.lifetime != "session":
        yield f"is forbidden, so it has no lifetime {fact.lifetime!r}; leave `lifetime` out"
    for kind, name, needs in (
        ("update", "supersedes", "the older values that must be gone"),
        ("multi-hop", "links", "the names of the other facts it needs"),
    ):
        given = getattr(fact, name)
        if fact.kind == kind and not given:
            yield f"is of kind {kind!r}, which needs `{name}`: {needs}"
        if given and fact.kind != kind:
            yield f"has `{name}`, which only kind {kind!r} has; it is of kind {fact.kind!r}"
    for older in fact.supersedes:
        if not any(fact.finds(older, full_text(m)) for m in transcript.messages[: fact.planted_at]):
            yield (
                f"the older value {older!r} stands in no message before message "
                f"{fact.planted_at}, so nothing could be superseded"
            )
    for name in fact.links:
        yield from _link(fact, name, transcript)


def _link(fact: Fact, name: str, transcript: Transcript) -> Iterator[str]:
    others = {other.name: other for other in transcript.facts if other.name != fact.name}
    if name not in others:
        yield f"links to {name!r}; the other facts are: {', '.join(others) or 'none'}"
        return
    if others[name].must_be_gone:
        yield f"links to {name!r}, which must be gone by then"
    for wording in fact.wordings:
        if others[name].mentions(wording):
            yield f"the wording {wording!r} gives {name!r} away, so nothing is left to link"
    if fact.asked_at is not None and others[name].planted_at >= fact.asked_at:
        yield f"links to {name!r}, which is planted only after message {fact.asked_at} is asked"


def _tool(fact: Fact, transcript: Transcript) -> Iterator[str]:
    probe = fact.tool
    if probe is None:
        return
    if not isinstance(probe, ToolProbe):
        yield f"its tool is a {type(probe).__name__}; give a ToolProbe"
        return
    tools = {
        tool["function"]["name"]: tool["function"] for tool in transcript.tools if is_tool(tool)
    }
    if probe.name not in tools:
        yield f"its tool {probe.name!r} is not one of: {', '.join(tools) or 'none'}"
        return
    known = (tools[probe.name].get("parameters") or {}).get("properties") or {}
    for argument in (probe.argument, *probe.arguments):
        if argument not in known:
            listed = ", ".join(known) or "none"
            yield f"tool {probe.name!r} has no argument {argument!r}; it has: {listed}"
    if probe.argument in probe.arguments:
        yield (
            f"argument {probe.argument!r} of its tool must have the fact's value; it cannot be "
            "listed in `arguments`, too"
        )
