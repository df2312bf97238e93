"""What a rule is, what breaking one is, and a provider: its rules and what looks for problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, count
from operator import is_not, not_
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
PairFinder = Callable[[Sequence[Message]], Iterator[Found]]
Loser = Callable[[Sequence[Message], Sequence[Message]], Iterator[Found]]


@dataclass(slots=True)
class Sound:
    """What was found to break no rule, in requests that have most message objects in common.

    The objects must live as long as this, and not change.

    Attributes:
        alone: the ``id`` of those that break none by themselves.
        paired: the last request whose calls and results are all in order.
    """

    alone: set[int] = field(default_factory=set)
    paired: Sequence[Message] = ()


@dataclass(frozen=True, slots=True)
class Provider:
    """The rules of one provider, and the functions that find where a request breaks them.

    Attributes:
        name: as ``ctx_wellformed(provider=…)`` has it.
        rules: by id.
        find_in_message: finds what breaks them in a message, whatever stands around it.
        find: finds what else breaks them.
        lost: finds what a request needs and has no longer, by the uncut history.
        pairs: finds what breaks them between calls and results, where a result must stand in the
            round of its call.
    """

    name: str
    rules: Mapping[str, Rule]
    find_in_message: MessageFinder
    find: Finder
    lost: Loser
    pairs: PairFinder | None = None

    def __call__(
        self,
        messages: Sequence[Message],
        tools: Tools = (),
        *,
        history: History = None,
        sound: Sound | None = None,
    ) -> list[Problem]:
        """Judge a request, in OpenAI chat format, as what the provider gets of it.

        Args:
            messages: the request.
            tools: the tool definitions sent with it.
            history: what the request was made from, uncut. With it, signed thoughts are compared
                and the current task and round are looked for; these two only in a request that is
                accepted, for a refused one lacks what it lacks for the same reason.
            sound: what was found sound before; what is found so now is added. Requests of one
                replay are judged with the same one: each of their messages is looked into once.

        Returns:
            The problems in message order, those of tool definitions last; empty when there are
            none.
        """
        sound = Sound() if sound is None else sound
        found = [
            *self._in_messages(messages, sound.alone),
            *self.find(messages, tools, history),
            *self._in_pairs(messages, sound),
        ]
        if not found and history is not None:
            found = list(self.lost(messages, history))
        if not found:
            return []
        places = Places(messages)
        found.sort(key=lambda each: len(messages) if each.index is None else each.index)
        return [self.rules[each.rule].problem(each, places) for each in found]

    def _in_messages(self, messages: Sequence[Message], sound: set[int]) -> Iterator[Found]:
        known = map(sound.__contains__, map(id, messages))
        for index in compress(count(), map(not_, known)):
            found = list(self.find_in_message(index, messages[index]))
            if found:
                yield from found
            else:
                sound.add(id(messages[index]))

    def _in_pairs(self, messages: Sequence[Message], sound: Sound) -> Sequence[Found]:
        if self.pairs is None:
            return ()
        start = _last_round(messages, sound.paired)
        found = list(self.pairs(messages[start:]))
        if found:  # what it says of a place depends on all before it
            return found if start == 0 else list(self.pairs(messages))
        sound.paired = messages
        return ()


def _last_round(messages: Sequence[Message], before: Sequence[Message]) -> int:
    """Return where the last round begins that two requests have in common, from their beginning on.

    All rounds before it end there, in both.
    """
    common = next(compress(count(), map(is_not, messages, before)), min(len(messages), len(before)))
    for index in range(common - 1, 0, -1):
        role, last = messages[index].get("role"), messages[index - 1].get("role")
        if role != "tool" and not role == last == "assistant":
            return index
    return 0
