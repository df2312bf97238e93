"""What the laws came to for one policy."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_ctxguard.checks.finding import Judgement

PASTE = "To see it again, and to keep it mended, paste:"


@dataclass(frozen=True, slots=True)
class LawResult:
    """What the laws came to for one policy.

    Attributes:
        policy: its name.
        judgement: one finding for each broken law.
        tests: for each broken law, in order, a pytest test that fails until it is mended.
    """

    policy: str
    judgement: Judgement
    tests: tuple[str, ...] = ()

    @property
    def paste(self) -> str:
        """The tests, with what to do with them; nothing when no law is broken."""
        return "\n\n".join([PASTE, *self.tests]) if self.tests else ""
