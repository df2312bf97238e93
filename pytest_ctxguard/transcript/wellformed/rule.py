"""What a rule is, what breaking one is, and a provider: its rules and what looks for problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed.places import Places
from pytest_ctxguard.transcript.wellformed.remedies import REMEDIES

Tools = Sequence[Mapping[str, Any]]
History = Sequence[Message] | None


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing about a request that a provider refuses, or that no model can make sense of.

    Attributes:
        rule: id of the rule, in kebab-case.
        index: message index; ``None`` when it is the request as a whole or a tool definition.
        what: what is wrong, short.
        refusal: the text the provider's users see, or "" where it is not known for sure.
        remedy: what to do.
        stricter: why the rule goes further than the provider does today; "" where it does not.
    """

    rule: str
    index: int | None
    what: str
    refusal: str
    remedy: str
    stricter: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A place where a request breaks a rule, before it is put in a provider's words.

    Attributes:
        rule: id of the rule.
        index: message index, or ``None``.
        what: what is wrong, short.
        variant: which of a rule's refusals it meets.
        call: number of the tool call in the message, from 0.
        part: number of the content part in the message, from 0.
        fields: what a refusal says of it.
    """

    rule: str
    index: int | None
    what: str
    variant: str = ""
    call: int | None = None
    part: int | None = None
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of one provider.

    Attributes:
        id: in kebab-case; rules of several providers that mean the same have the same id.
        source: address of the page that says so, or of the report that quotes the refusal.
        date: of the source, ``YYYY-MM-DD`` or less of it.
        refusal: what users see, with ``{fields}``; by variant where it has several; "" where it
            is not known for sure.
        stricter: why it goes further than the provider does today; "" where it does not.
        remedy: what to do, where this provider's users need other advice than ``REMEDIES``.
    """

    id: str
    source: str
    date: str
    refusal: str | Mapping[str, str] = ""
    stricter: str = ""
    remedy: str = ""

    def problem(self, found: Found, places: Places) -> Problem:
        """Put what was found in the provider's words."""
        text = self.refusal
        if not isinstance(text, str):
            text = text.get(found.variant, "")
        if text:
            at = places.fields(found.index, call=found.call, part=found.part)
            text = text.format_map({**at, **found.fields})
        advice = self.remedy or REMEDIES[self.id]
        return Problem(self.id, found.index, found.what, text, advice, self.stricter)


MessageFinder = Callable[[int, Message], Iterator[Found]]
Finder = Callable[[Sequence[Message], Tools, History], Iterator[Found]]
Loser = Callable[[Sequence[Message], Sequence[Message]], Iterator[Found]]


@dataclass(frozen=True, slots=True)
class Provider:
    """The rules of one provider, and the functions that find where a request breaks them.

    Attributes:
        name: as ``ctx_wellformed(provider=…)`` has it.
        rules: by id.
        find_in_message: finds what breaks them in a message, whatever stands around it.
        find: finds what else breaks them.
        lost: finds what a request needs and has no longer, by the uncut history.
    """

    name: str
    rules: Mapping[str, Rule]
    find_in_message: MessageFinder
    find: Finder
    lost: Loser

    def __call__(
        self,
        messages: Sequence[Message],
        tools: Tools = (),
        *,
        history: History = None,
        sound: set[int] | None = None,
    ) -> list[Problem]:
        """Judge a request, in OpenAI chat format, as what the provider gets of it.

        Args:
            messages: the request.
            tools: the tool definitions sent with it.
            history: what the request was made from, uncut. With it, signed thoughts are compared
                and the current task and round are looked for; these two only in a request that is
                accepted, for a refused one lacks what it lacks for the same reason.
            sound: the ``id`` of message objects that break no rule by themselves; those found to
                be so are added. Requests of one replay have most objects in common: judged with
                the same set, each is looked into once.

        Returns:
            The problems in message order, those of tool definitions last; empty when there are
            none.
        """
        found = [*self._in_messages(messages, sound), *self.find(messages, tools, history)]
        if not found and history is not None:
            found = list(self.lost(messages, history))
        if not found:
            return []
        places = Places(messages)
        found.sort(key=lambda each: len(messages) if each.index is None else each.index)
        return [self.rules[each.rule].problem(each, places) for each in found]

    def _in_messages(self, messages: Sequence[Message], sound: set[int] | None) -> Iterator[Found]:
        known = set() if sound is None else sound
        for index, message in enumerate(messages):
            if id(message) in known:
                continue
            found = list(self.find_in_message(index, message))
            if found:
                yield from found
            else:
                known.add(id(message))
