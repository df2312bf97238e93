"""An agent in any language: a program that is told the endpoint by its environment."""

from __future__ import annotations

import logging
import os
import subprocess  # the one agent that is a program
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_ctxguard.errors import CtxguardError, UsageError
from pytest_ctxguard.program import run_program

if TYPE_CHECKING:
    from pytest_ctxguard.server.running import Server

KEY = "ctxguard"  # clients refuse to start without one
LEVELS = ("CRITICAL", "FATAL", "ERROR")
LOG = logging.getLogger("ctxguard.command_agent")


@dataclass(frozen=True, slots=True)
class CommandAgent:
    """Run a program against an endpoint; what it prints is what its user reads.

    It finds the endpoint in ``OPENAI_BASE_URL`` and ``ANTHROPIC_BASE_URL``, which the providers'
    clients read by themselves, and a key in ``OPENAI_API_KEY`` and ``ANTHROPIC_API_KEY``. A line
    on its standard error that names a level of ERROR or above counts as an alert.

    Attributes:
        command: the program and its arguments.
        timeout: seconds it may take.
        environment: more variables for it.
    """

    command: Sequence[str]
    timeout: float = 60.0
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.command, str) or not self.command:
            raise UsageError('a command is a list of words: ["node", "agent.mjs"]')

    def __call__(self, server: Server) -> str:
        """Return what the program printed.

        Raises:
            CtxguardError: it cannot be run, took too long, or failed without a word to its user.
        """
        name = self.command[0]
        endpoint = {
            "OPENAI_BASE_URL": server.openai_base_url,
            "ANTHROPIC_BASE_URL": server.anthropic_base_url,
            "OPENAI_API_KEY": KEY,
            "ANTHROPIC_API_KEY": KEY,
        }
        try:
            ended = run_program(
                list(self.command),
                timeout=self.timeout,
                environment={**os.environ, **endpoint, **self.environment},
            )
        except OSError as error:
            raise CtxguardError(f"{name} cannot be run: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise CtxguardError(f"{name} did not end within {self.timeout:g} seconds") from None
        output, errors = (text.decode("utf-8", "replace") for text in (ended.output, ended.errors))
        for line in errors.splitlines():
            alert = any(level in line.upper() for level in LEVELS)
            LOG.log(logging.ERROR if alert else logging.INFO, "%s", line)
        if ended.status and not output.strip():
            last = next(iter(errors.strip().splitlines()[-1:]), "nothing on stderr")
            raise CtxguardError(f"{name} ended with status {ended.status}: {last}")
        return output
