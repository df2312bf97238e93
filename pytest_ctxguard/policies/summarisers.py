"""Scripted summarisers: one that works, and eight that fail as real ones do. No model is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.messages import Message, full_text

Shown = str | Sequence[Message]

FAULTS: Mapping[str, str] = {
    "raises": "raises, as on an overloaded provider",
    "times-out": "raises TimeoutError",
    "empty": "returns an empty text",
    "stops-at-length": "stops at its output limit, in the middle of a word",
    "echoes": "returns what it was shown",
    "longer": "returns more than it was shown",
    "calls-a-tool": "calls a tool and gives no text",
    "repeats": "returns its first summary again",
}
FAILING = ("raises", "times-out", "empty", "calls-a-tool")
"""The faults that leave no summary."""

ERROR_MARK = "ctx-7f3a91"  # in the text of what a faulty summariser raises, and nowhere else
CUT_CHARACTERS = 120
LONGER = "A scripted summary that is longer than what it replaces. "
MORE = 10  # times; twice its input would double at every call of a policy that takes it


@dataclass(slots=True)
class ScriptedSummariser:
    """A summariser that works, without a model.

    Its texts are used in order, the last one again and again; without any, each summary is a
    short line of its own that says it was scripted and carries nothing of what it was shown.
    What a summary *carries* is therefore not to be tested with it; what it was *shown* is.
    """

    texts: Sequence[str] = ()
    asked: int = field(default=0, init=False)

    def __call__(self, shown: Shown) -> str:
        """Return the next summary."""
        self.asked += 1
        if self.texts:
            return self.texts[min(self.asked, len(self.texts)) - 1]
        return _line(self.asked, shown)


@dataclass(slots=True)
class FaultySummariser:
    """A summariser that fails in one way, at every call.

    Attributes:
        fault: a key of :data:`FAULTS`.
    """

    fault: str
    first: str = field(default="", init=False)

    def __post_init__(self) -> None:
        if self.fault not in FAULTS:
            raise UsageError(f"no fault is named {self.fault!r}; there are: {', '.join(FAULTS)}")

    def __call__(self, shown: Shown, *, max_tokens: int | None = None) -> str | None:
        """Fail."""
        text = _text(shown)
        match self.fault:
            case "raises":
                raise RuntimeError(f"scripted fault: the model is overloaded ({ERROR_MARK})")
            case "times-out":
                raise TimeoutError(f"scripted fault: no answer within 60 s ({ERROR_MARK})")
            case "empty":
                return ""
            case "calls-a-tool":
                return None
            case "stops-at-length":
                limit = 4 * max_tokens if max_tokens else CUT_CHARACTERS
                return f"Scripted summary, cut at its limit: {text}"[:limit]
            case "echoes":
                return text
            case "longer":
                return f"{text}\n{LONGER * MORE}"
            case _:
                self.first = self.first or _line(1, shown)
                return self.first


def _text(shown: Shown) -> str:
    return shown if isinstance(shown, str) else "\n".join(map(full_text, shown))


def _line(number: int, shown: Shown) -> str:
    what = "a text" if isinstance(shown, str) else f"{len(shown)} messages"
    return f"[Scripted summary {number}, of {what}; no model wrote it.]"
