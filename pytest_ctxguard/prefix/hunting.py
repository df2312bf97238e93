"""Hunt for what moves a prefix: build the same request again under another clock, seed or order."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.prefix.changes import Change, changes
from pytest_ctxguard.prefix.sent import Sent
from pytest_ctxguard.program import run_program
from pytest_ctxguard.transcript.messages import Message, copy_json

Builder = Callable[..., Any]

START = datetime(2026, 6, 16, 10, 0, tzinfo=UTC)
CLOCK = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "midnight": timedelta(days=1),
    "month": timedelta(days=30),
}
"""Steps of the clock, the smallest first; a month has another name then, and the day its number."""
VARIATIONS = (*CLOCK, "hash seed", "tool order", "reload")
HASH_SEEDS = ("1", "2")
TIMEOUT = 120.0  # seconds
CHILD = "from pytest_ctxguard.prefix.hunting import child; child()"
EXTRA = "pip install 'pytest-ctxguard[hunt]'"


@dataclass(frozen=True, slots=True)
class Moved:
    """A variation that should change nothing, and did.

    Attributes:
        variation: one of :data:`VARIATIONS`, or ``again``: it was built twice.
        change: what it changed.
    """

    variation: str
    change: Change


class Uncounted:
    """Counts nothing; what moves has a place, whatever its size."""

    name = "none"

    def count(
        self, messages: Sequence[Message], *, tools: Any = (), generation_prompt: bool = True
    ) -> int:
        """Return 0."""
        return 0


def hunt(
    builder: Builder,
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    history: Sequence[Message] | None = None,
    leave_out: Sequence[str] = (),
) -> tuple[Moved, ...]:
    """Build one request in several ways that should make no difference.

    It is built twice; a second, a minute, an hour, a day and a month later; in new processes with
    two values of PYTHONHASHSEED; with its tools registered in other orders; with its history saved
    as JSON and read again, the keys in another order, too. Of the steps of the clock, the smallest
    that moves something is returned.

    Args:
        builder: returns the request: a list of messages, or an object with ``messages``, and
            ``tools`` and ``system`` if it has them. It is given ``tools=`` and ``history=`` if
            they are given here.
        tools: tool definitions to register.
        history: messages to build the request of.
        leave_out: variations that are not tried; of a step of the clock, longer ones, too.

    Raises:
        UsageError: the builder is no function, returns something else, has no name by which
            another process imports it, or an argument is wrong.
    """
    _check(leave_out)
    if not callable(builder):
        raise UsageError(f"builder={builder!r} is no function that returns a request")
    given = {
        key: value for key, value in (("tools", tools), ("history", history)) if value is not None
    }
    base = _built(builder, given)
    again = _moved("again", base, _built(builder, given))
    if again is not None:
        return (again,)  # every other would show the same
    variations = {
        "hash seed": _other_seeds,
        "tool order": _other_orders,
        "reload": _reloaded,
    }
    found = list(_later(builder, given, base, leave_out))
    for name, requests in variations.items():
        if name not in leave_out:
            moved = (_moved(name, one, other) for one, other in requests(builder, given, base))
            found += [first] if (first := next(filter(None, moved), None)) else []
    return tuple(found)


def _check(leave_out: Sequence[str]) -> None:
    if isinstance(leave_out, str):
        raise UsageError(f"leave_out={leave_out!r} is not a list of names")
    unknown = [name for name in leave_out if name not in VARIATIONS]
    if unknown:
        raise UsageError(f"no variation {unknown[0]!r}; there are: {', '.join(VARIATIONS)}")


def _later(
    builder: Builder, given: Mapping[str, Any], base: Sent, leave_out: Sequence[str]
) -> Iterator[Moved]:
    for name, step in CLOCK.items():
        if name in leave_out:
            return  # what changes with the minute changes with the hour
        moved = _moved(name, base, _built(builder, given, at=START + step))
        if moved is not None:
            yield moved
            return


def _other_seeds(
    builder: Builder, given: Mapping[str, Any], base: Sent
) -> Iterator[tuple[Sent, Sent]]:
    try:
        payload = pickle.dumps((builder, dict(given)))
    except Exception as error:  # __reduce__ is user code
        raise _unnamed(str(error)) from error
    if getattr(builder, "__module__", "") == "__main__":
        raise _unnamed("it is defined in __main__")
    one, other = (_in_a_process(payload, seed) for seed in HASH_SEEDS)
    yield one, other


def _unnamed(why: str) -> UsageError:
    return UsageError(
        f"another process cannot import the builder ({why}). Define it at the top of a module, or "
        "leave_out=['hash seed']"
    )


def _in_a_process(payload: bytes, seed: str) -> Sent:
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109 - a text
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    try:
        ended = run_program(
            [sys.executable, "-c", CHILD], timeout=TIMEOUT, given=payload, environment=environment
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"the builder did not end within {TIMEOUT:g} s in a new process"
        ) from error
    if ended.status:
        lines = ended.errors.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(f"the builder failed in a new process: {lines[-1] if lines else 'silent'}")
    return _request(json.loads(ended.output))


def child() -> None:
    """Build the request that standard input names, and write it to standard output as JSON."""
    builder, given = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - our parent's
    out, sys.stdout = sys.stdout, sys.stderr  # what the builder prints
    sent = _built(builder, given)
    json.dump({"messages": sent.messages, "tools": list(sent.tools)}, out)
    out.flush()


def _other_orders(
    builder: Builder, given: Mapping[str, Any], base: Sent
) -> Iterator[tuple[Sent, Sent]]:
    tools = list(given.get("tools", ()))
    shuffled = random.Random("tools").sample(tools, len(tools))  # noqa: S311 - an order
    for order in (tools[::-1], shuffled):
        if order != tools:
            yield base, _built(builder, {**given, "tools": order})


def _reloaded(
    builder: Builder, given: Mapping[str, Any], base: Sent
) -> Iterator[tuple[Sent, Sent]]:
    if "history" in given:
        for sort_keys in (False, True):
            text = json.dumps(list(given["history"]), sort_keys=sort_keys)
            yield base, _built(builder, {**given, "history": json.loads(text)})


def _built(builder: Builder, given: Mapping[str, Any], *, at: datetime = START) -> Sent:
    """Build the request at a time at which the clock stands still."""
    try:
        import time_machine
    except ImportError:
        raise UsageError(f"a hunt needs a clock that can be set: {EXTRA}") from None
    with time_machine.travel(at, tick=False):
        return _request(builder(**{key: copy_json(list(value)) for key, value in given.items()}))


def _request(built: Any) -> Sent:
    body = built if isinstance(built, Mapping) else {"messages": built}
    messages, tools, system = (body.get(key) for key in ("messages", "tools", "system"))
    if not _all_objects(messages) or not _all_objects(tools or []):
        raise UsageError(
            f"the builder returned {type(built).__name__}; a request is a list of messages, or an "
            "object with messages, tools and system"
        )
    lead = [{"role": "system", "content": system}] if system else []
    return Sent(
        messages=tuple(copy_json([*lead, *(messages or ())])),
        tools=tuple(copy_json(list(tools or ()))),
        session=0,
    )


def _all_objects(values: Any) -> bool:
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        return False
    return all(isinstance(value, Mapping) for value in values)


def _moved(variation: str, one: Sent, other: Sent) -> Moved | None:
    [change] = changes([one, other], counter=Uncounted())
    return None if change.kind == "identical" else Moved(variation, change)
