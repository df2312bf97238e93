"""A run, or a text, without the secrets that are known here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from pytest_ctxguard.recording.scrubbing.known import Known, from_environment, given
from pytest_ctxguard.recording.scrubbing.scrubber import Scrubber
from pytest_ctxguard.report.run import Run


class Scrubbing:
    """Replaces what recordings would not hold either.

    The values of variables that look like secrets, those the user names, and tokens of well-known
    form, also under URL encoding and base64. What only stands beside a word such as ``key`` is
    left: a report is full of keys, and fingerprints have to stay as they are.
    """

    def __init__(self, known: Known) -> None:
        self._scrubber = Scrubber(known)
        self._done: dict[str, str] = {}  # a run says most of its texts many times

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str], *, names: Iterable[str] = ()
    ) -> Scrubbing:
        """Take the secrets of an environment.

        Args:
            environ: name of a variable -> value.
            names: variables whose values are secret, whatever their names look like.
        """
        extra = [environ[name] for name in names if environ.get(name)]
        return cls(Known((*given(extra), *from_environment(environ))))

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        if text not in self._done:
            self._done[text] = self._scrubber.raw(text)
        return self._done[text]

    def run(self, run: Run) -> Run:
        """Return a run without secrets; one that has none is the same."""
        return msgspec.convert(self.value(msgspec.to_builtins(run)), Run)

    def value(self, value: Any) -> Any:
        """Return a value made of built-in ones with every text in it without secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(key): self.value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self.value, value))
        return value
