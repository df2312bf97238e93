"""A policy that is a program of its own, in any language."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.policies.adapters.openai_dicts import DictPolicy
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.program import Ended, run_program
from pytest_ctxguard.transcript.messages import Message

SHOWN = 500  # characters of a program's output in an error


def command_policy(
    command: Sequence[str | os.PathLike[str]],
    *,
    timeout: float = 30.0,
    cwd: str | os.PathLike[str] | None = None,
) -> Policy:
    """Make a policy of a program, such as ``command_policy(["node", "fit.mjs"])``.

    At each call the program is started anew. It reads one JSON object from its standard input,
    ``{"messages": […], "tools": […], "budget": N or null}``, and writes the messages to send to
    its standard output, as a JSON list or as ``{"messages": […]}``, in UTF-8. Anything for people
    goes to standard error.

    Args:
        command: the program and its arguments; no shell reads them.
        timeout: seconds a call may take; then the program and what it started are ended.
        cwd: the folder it runs in; the current one if not given.

    Returns:
        A policy. It raises a PolicyError when the program cannot be started, takes too long, exits
        with a status other than 0, or writes something else than messages.

    Raises:
        UsageError: the command is not a list of texts, or the time is not positive.
    """
    if isinstance(command, str | bytes | os.PathLike) or not command:
        raise UsageError(
            f"command_policy({command!r}): a command is a list, the program first. Remedy: "
            'command_policy(["node", "fit.mjs"])'
        )
    if timeout <= 0:
        raise UsageError(f"command_policy(timeout={timeout!r}): give a positive number of seconds")
    program = _Program([os.fspath(part) for part in command], timeout, cwd)

    def policy(
        messages: list[Message], *, budget: int | None = None, tools: Sequence[Any] = ()
    ) -> list[Message]:
        """Ask the program."""
        request = {"messages": messages, "tools": list(tools), "budget": budget}
        return program.messages(json.dumps(request).encode("ascii"))

    policy.__qualname__ = program.name  # what reports call it
    return DictPolicy(policy, "command")


class _Program:
    """A program to run once per request."""

    def __init__(
        self, command: list[str], timeout: float, cwd: str | os.PathLike[str] | None
    ) -> None:
        self.command, self.timeout, self.cwd = command, timeout, cwd
        self.name = shlex.join([Path(command[0]).name, *command[1:]])

    def messages(self, request: bytes) -> list[Message]:
        """Return the messages the program writes."""
        ended = self._run(request)
        output, errors = ended.output, ended.errors
        try:
            value = json.loads(output.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise self._error(
                f"wrote no JSON to its standard output ({error}): {_start(output)}",
                errors,
                remedy="write the messages there and everything else to standard error",
            ) from None
        found = value.get("messages") if isinstance(value, dict) else value
        if not isinstance(found, list):
            keys = f"an object with {sorted(value)}" if isinstance(value, dict) else _start(output)
            raise self._error(
                f"wrote {keys}", errors, remedy='write a list of messages, or {"messages": […]}'
            )
        for index, message in enumerate(found):
            if not isinstance(message, dict):
                raise self._error(
                    f"wrote {json.dumps(message)[:SHOWN]} as message {index}",
                    errors,
                    remedy="messages are objects in OpenAI's format",
                )
        return found

    def _run(self, request: bytes) -> Ended:
        try:
            ended = run_program(self.command, timeout=self.timeout, given=request, cwd=self.cwd)
        except OSError as error:
            raise self._error(
                f"cannot be started: {error.strerror or error}",
                remedy="install it, or give its full path",
            ) from None
        except subprocess.TimeoutExpired as expired:
            raise self._error(
                f"did not finish within {self.timeout:g} seconds",
                expired.stderr,
                remedy="make it faster, or give command_policy(timeout=…)",
            ) from None
        if ended.status:
            raise self._error(
                f"ended with {_status(ended.status)}", ended.errors, remedy="mend the program"
            )
        return ended

    def _error(self, what: str, errors: bytes | None = None, *, remedy: str) -> PolicyError:
        text = (errors or b"").decode("utf-8", "replace").strip()
        if len(text) > SHOWN:
            text = f"… {text[-SHOWN:]}"  # what went wrong is usually said last
        said = f"\nstandard error: {text}" if text else ""
        return PolicyError(f"command {self.name}: {what}. Remedy: {remedy}.{said}")


def _status(code: int) -> str:
    if code > 0:
        return f"exit status {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def _start(output: bytes) -> str:
    text = output.decode("utf-8", "replace").strip()
    return repr(text[:SHOWN] + ("…" if len(text) > SHOWN else "")) if text else "nothing"
