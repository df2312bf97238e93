"""Run a program to its end, and end what it started together with it."""

from __future__ import annotations

import os
import signal
import subprocess  # policies and agents that are programs
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and what it wrote.

    Attributes:
        status: its exit status; below 0: the number of the signal that ended it.
        output: its standard output.
        errors: its standard error.
    """

    status: int
    output: bytes
    errors: bytes


def run_program(
    command: Sequence[str],
    *,
    timeout: float,
    given: bytes = b"",
    cwd: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run a program.

    Args:
        command: the program and its arguments; no shell reads them.
        timeout: seconds it may take; then it and what it started are ended.
        given: its standard input.
        cwd: the folder it runs in; the current one if not given.
        environment: its environment; the current one if not given.

    Raises:
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it took too long; its ``stderr`` has what it wrote.
    """
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=os.name == "posix",  # so that its children end with it
    ) as process:
        try:
            output, errors = process.communicate(given, timeout=timeout)
        except BaseException:
            _end(process)
            raise
    return Ended(process.returncode, output, errors)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program, and where the system has process groups, what it started."""
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
