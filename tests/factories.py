"""Small values that the tests below the plugin are made of."""

import json
from functools import cache

from pytest_ctxguard.checks.promise import Case
from pytest_ctxguard.replay.origin import Origin
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.replay.values import Replay, Request, Step
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.messages import full_text
from pytest_ctxguard.transcript.model import Fact, Transcript


def system(text="You run payments."):
    return {"role": "system", "content": text}


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def call(call_id="c1", name="read_log", **arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": call_id, "type": "function", "function": function}


def calling(*calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(text, call_id="c1"):
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def tool(name="read_log", description="Read a log."):
    parameters = {"type": "object", "properties": {"service": {"type": "string"}}}
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def employee(**changes):
    """A number that the user states in message 1 of :func:`session`."""
    fields = {
        "name": "employee",
        "value": "4417",
        "kind": "identifier",
        "planted_at": 1,
        "asked_at": 7,
        "wordings": ("Which employee number?", "Who opens the ticket?"),
        "look_alikes": ("9911",),
        "shape": r"\d{4}",
    }
    return Fact(**{**fields, **changes})


def shard(**changes):
    """A name that a tool result shows in message 5 of :func:`session`."""
    fields = {
        "name": "shard",
        "value": "pay-shard-7",
        "kind": "identifier",
        "planted_at": 5,
        "wordings": ("Which shard?",),
        "shape": r"[a-z]+-shard-\d+",
    }
    return Fact(**{**fields, **changes})


def session(**changes):
    """Four calls, three turns, one tool round, two facts; the last turn is still unanswered."""
    fields = {
        "name": "small",
        "messages": (
            system(),
            user("My employee number is 4417."),
            assistant("Noted."),
            user("Which shard is slow?"),
            calling(call(service="pay")),
            result("pay-shard-7 is slow; pay-shard-3 is idle"),
            assistant("The slow one is pay-shard-7."),
            user("Open a ticket."),
        ),
        "tools": (tool(),),
        "facts": (employee(), shard()),
    }
    return Transcript(**{**fields, **changes})


class LetterCounter:
    """Counts a token per letter of text, 10 per tool and 1 for the generation prompt."""

    name = "letters"

    def count(self, messages, *, tools=(), generation_prompt=True):
        letters = sum(len(full_text(message).strip()) for message in messages)
        return letters + 10 * len(tools) + generation_prompt


class ApproximateLetters(LetterCounter):
    """The same, and says that it is not exact."""

    exact = False
    why = "letters are no tokens"


@cache
def encoder():
    """The real counter, loaded once a process."""
    return RequestEncoder()


def replayed(policy, transcript=None, **fields):
    """Replay the small session (or another) with letters for tokens."""
    plan = {"transcript": transcript or session(), "policy": policy, "counter": LetterCounter()}
    return run(Plan(**{**plan, **fields}))


def request(*messages, tokens=100, origins=None, acted=True, mutated=()):
    """A request of which every message was inserted by the policy, unless told otherwise."""
    origins = origins or [Origin(None)] * len(messages)
    return Request(messages, tuple(origins), tokens, acted=acted, mutated=mutated)


def replay_of(*tokens, probes=None, history_tokens=None, acted=True, budget=None, label=""):
    """A replay whose requests have these numbers of tokens, as a check sees it."""
    transcript = session(facts=tuple(f for f in session().facts if f.name in (probes or {})))
    steps = [
        Step(called, request(user("Open a ticket."), tokens=n, acted=acted), history_tokens or n)
        for called, n in zip(transcript.calls, tokens, strict=False)
    ]
    return Replay(
        transcript=transcript,
        policy="cut",
        label=label,
        budget=budget,
        counter=LetterCounter(),
        steps=tuple(steps),
        probes=probes or {},
    )


def no_model(*_):
    raise AssertionError("this check asked the model")


def case_of(replay, **changes):
    """A case with an empty baseline and no model."""
    fields = {"replay": replay, "answers": no_model, "model": no_model, "recorded": dict}
    return Case(**{**fields, **changes})
