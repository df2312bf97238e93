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
        """The tests as one module, with what to do with it; nothing when no law is broken."""
        if not self.tests:
            return ""
        parts = [test.partition("\n\n\n") for test in self.tests]
        imports = dict.fromkeys(line for head, _, _ in parts for line in head.splitlines())
        head = f"{PASTE}\n\n" + "\n".join(imports)
        return f"{head}\n\n\n" + "\n\n".join(text for _, _, text in parts)
