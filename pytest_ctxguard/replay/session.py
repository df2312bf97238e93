"""A policy at work on a transcript: one request after the other."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Generator, Mapping, Sequence
from inspect import isawaitable
from operator import is_
from typing import Any

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.policies.protocol import BoundPolicy, bind, made, policy_name
from pytest_ctxguard.replay.history import Originals, Stored, View
from pytest_ctxguard.replay.origin import trace
from pytest_ctxguard.replay.plan import Plan
from pytest_ctxguard.replay.recorder import EndlessPolicy, EndlessSummarising, Recorder
from pytest_ctxguard.replay.values import Request
from pytest_ctxguard.transcript.messages import Message, copy_json
from pytest_ctxguard.transcript.shape import wrong_within


class Session:
    """A policy with its state, and the history it is handed next.

    Attributes:
        bound: the policy.
        summarises: whether it was given a summariser.
    """

    def __init__(self, plan: Plan, originals: Originals) -> None:
        self._plan, self._originals = plan, originals
        self._recorder = Recorder(
            plan.counter,
            tools=plan.transcript.tools,
            summariser=plan.summariser,
            size=originals.handed.count,
        )
        offered: dict[str, Any] = {
            "budget": plan.budget,
            "count": self._recorder.count,
            "tools": [copy_json(tool) for tool in plan.transcript.tools],
            "summarise": self._recorder.summarise_for(plan.policy),
        }
        policy = made(plan.policy, offered)
        offered["summarise"] = self._recorder.summarise_for(policy)
        self.bound: BoundPolicy = bind(policy, offered)
        self.summarises = plan.summariser is not None
        self._stored = Stored() if self.bound.shape.persists else None

    def copied(self) -> Session:
        """Return one whose policy no longer follows this one's.

        Raises:
            PolicyError: the policy cannot be copied.
        """
        twin = copy.copy(self)
        twin.bound = self.bound.copied()
        return twin

    def request(
        self, length: int, *, asked: Message | None = None, place: str
    ) -> Generator[Awaitable[Any], Any, Request]:
        """Have the policy make the request for the transcript's first messages.

        Args:
            length: how many of them.
            asked: a probe's question, after them.
            place: where this is, for errors.
        """
        before = self._plan.transcript.messages[:length]
        history = before if asked is None else (*before, asked)
        view = self._originals.view(history, self._stored)
        given = self._originals.hand(view)
        handed = list(given)
        try:
            output = self.bound(handed)
            if isawaitable(output):
                output = yield output
        except EndlessSummarising as error:
            self._recorder.take()
            raise EndlessPolicy(f"policy {self._name} did not end at {place}: {error}") from None
        except Exception as error:
            self._recorder.take()
            error.add_note(
                f"ctxguard: raised by policy {self._name} at {place} of transcript "
                f"{self._plan.transcript.name!r} (history of {len(view.messages)} messages)"
            )
            raise
        _check_output(self._name, output, place, known=given)
        request = self._traced(
            output,
            handed=handed,
            given=given,
            view=view,
            history=history,
            asked=asked is not None,
        )
        if self._stored is not None:
            self._stored = Stored(View(request.messages, request.origins), len(history))
        return request

    @property
    def _name(self) -> str:
        return policy_name(self._plan.policy)

    def _traced(
        self,
        output: Sequence[Message],
        *,
        handed: list[dict[str, Any]],
        given: list[dict[str, Any]],
        view: View,
        history: Sequence[Message],
        asked: bool,
    ) -> Request:
        changed = self._originals.changed(view, given)
        messages, origins = trace(
            output,
            given,
            view.messages,
            changed=changed,
            index=lambda: self._originals.index(view),
            bases=view.origins,
            uncut=() if self._stored is None else history,
            value=self._originals.value,
        )
        summaries, counted = self._recorder.take()
        cut = messages != view.messages
        other = asked or self._stored is not None  # no beginning of the transcript
        whole = (
            self._originals.count(view.messages) if other else self._originals.tokens(len(history))
        )
        tokens = self._originals.count(messages) if cut else whole
        declared = self.bound.shape.mutates
        return Request(
            messages=messages,
            origins=origins,
            tokens=tokens,
            acted=cut if self._stored is None else messages != tuple(history),
            mutated=() if declared else _mutated(handed, given, changed),
            aliased=output is handed and not declared,
            given_tokens=whole,
            cut=cut,
            summaries=summaries,
            counted=counted,
        )


def _mutated(
    handed: Sequence[Message], given: Sequence[Message], changed: Sequence[int]
) -> tuple[str, ...]:
    """Say what a policy changed in the list it was handed, or in the messages of that list."""
    edited = [f"message {i}" for i in changed]
    same = len(handed) == len(given) and all(map(is_, handed, given))
    return tuple(edited if same else ["the list of messages", *edited])


def _check_output(name: str, output: Any, place: str, *, known: Sequence[Message]) -> None:
    """Refuse what is no list of chat messages; those that were handed out are known to be some."""
    if not isinstance(output, Sequence) or isinstance(output, str | bytes):
        declare = (
            ". One that edits the list it is handed is declared: mutates(policy)"
            if output is None
            else ""
        )
        raise PolicyError(
            f"policy {name} returned {type(output).__name__} at {place}; "
            f"a policy returns the list of messages to send{declare}"
        )
    handed = set(map(id, known))
    for index, message in enumerate(output):
        if id(message) in handed:
            continue
        if not isinstance(message, Mapping):
            raise PolicyError(
                f"policy {name} returned a {type(message).__name__} as message {index} at "
                f"{place}; messages are OpenAI-format dicts"
            )
        problem = wrong_within(message)  # a role that is none is a finding, or the counter's
        if problem:
            raise PolicyError(
                f"policy {name} returned message {index} at {place}, which is no OpenAI message: "
                f"{problem}"
            )
