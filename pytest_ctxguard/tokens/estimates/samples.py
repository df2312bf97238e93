"""What an estimator is asked for: every text of the corpus, every kind, messages of each shape."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.corpus.kinds import kinds as all_kinds
from pytest_ctxguard.tokens.corpus.texts import corpus
from pytest_ctxguard.tokens.corpus.texts import scripts as all_scripts
from pytest_ctxguard.tokens.estimates.asking import Takes
from pytest_ctxguard.transcript.messages import Message

Group = Literal["script", "kind", "shape"]


@dataclass(frozen=True, slots=True)
class Sample:
    """Something to estimate.

    Attributes:
        group: what ``name`` is.
        name: of the script, the kind or the shape of message.
        detail: the language; empty for kinds and shapes.
        text: what is estimated, unless it is a message.
        message: one that is more than a user's text.
    """

    group: Group
    name: str
    detail: str
    text: str
    message: Message | None = None

    @property
    def label(self) -> str:
        """Name it in a sentence."""
        same = self.detail in ("", self.name)
        return self.name if same else f"{self.name} ({self.detail})"


def samples(
    *, takes: Takes, scripts: Iterable[str] | None, kinds: Iterable[str] | None
) -> tuple[Sample, ...]:
    """Return what to estimate, scripts before kinds.

    Args:
        takes: what the estimator takes; shapes of messages count as kinds, if it takes those.
        scripts: names of scripts; ``None``: all.
        kinds: names of kinds; ``None``: all.

    Raises:
        UsageError: an unknown name, or nothing is left.
    """
    texts = all_kinds()
    shaped = shapes() if takes == "messages" else {}
    wanted_scripts = chosen(scripts, all_scripts(), what="scripts")
    wanted_kinds = chosen(kinds, (*texts, *shaped), what="kinds")
    found = [Sample("script", t.script, t.name, t.text) for t in corpus()]
    kept = [sample for sample in found if sample.name in wanted_scripts]
    kept += [Sample("kind", name, "", text) for name, text in texts.items() if name in wanted_kinds]
    kept += [
        Sample("shape", name, "", "", message)
        for name, message in shaped.items()
        if name in wanted_kinds
    ]
    if not kept:
        raise UsageError("scripts=() and kinds=() leave nothing to estimate; leave one of them out")
    return tuple(kept)


def chosen(given: Iterable[str] | None, known: Sequence[str], *, what: str) -> tuple[str, ...]:
    """Return the names given, or all.

    Raises:
        UsageError: one is not known, or a lone text is given for several.
    """
    if given is None:
        return tuple(known)
    names = tuple(given)
    if isinstance(given, str):
        raise UsageError(f"{what}={given!r} is one text; give a sequence: {what}=({given!r},)")
    for name in names:
        if name not in known:
            raise UsageError(f"{what}: no {name!r}; there are: {', '.join(sorted(known))}")
    return names


def shapes() -> dict[str, Message]:
    """Return shape -> a message whose tokens are not all in its content."""
    code = all_kinds()["code-python"]
    write = _call("w1", "write_file", {"path": "service/refunds.py", "content": code})
    searches = [
        _call(f"s{n}", "search_logs", {"query": word, "limit": 50 + n})
        for n, word in enumerate(("refund", "disk full", "timeout"))
    ]
    parts = [{"type": "text", "text": line} for line in code.splitlines() if line]
    return {
        "blocks": {"role": "user", "content": parts},
        "parallel-calls": {"role": "assistant", "content": None, "tool_calls": searches},
        "text-and-call": {"role": "assistant", "content": code, "tool_calls": searches[:1]},
        "tool-call": {"role": "assistant", "content": None, "tool_calls": [write]},
        "tool-result": {"role": "tool", "tool_call_id": "w1", "content": all_kinds()["log"]},
    }


def _call(name: str, function: str, arguments: dict[str, object]) -> dict[str, object]:
    text = json.dumps(arguments)
    return {"id": name, "type": "function", "function": {"name": function, "arguments": text}}
