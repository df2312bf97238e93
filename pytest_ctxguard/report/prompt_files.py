"""The prompts of failed trials as files: what the model was sent, under what it is and came to."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ctxguard.cache import write_atomically
from pytest_ctxguard.report.printable import printable
from pytest_ctxguard.report.recipe import row
from pytest_ctxguard.transcript.messages import Message

MOST = 20
"""Prompts of one test that are written."""
UNSAFE = re.compile(r"[^A-Za-z0-9_=-]+")
LONGEST = 60  # characters of a part of a file's name
RULE = "-" * 72

Render = Callable[..., str]
"""Makes the prompt of messages and ``tools=``, as the model reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What one failed trial was sent.

    Attributes:
        test: node id.
        trial: its id, unique within the test.
        header: name -> text, what is said of it.
        messages: of the request.
        tools: offered with it.
    """

    test: str
    trial: str
    header: Mapping[str, str]
    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()

    @property
    def name(self) -> str:
        """The file's name: safe in any file system, and the same in every run."""
        key = hashlib.sha256(f"{self.test}\n{self.trial}".encode("utf-8", "backslashreplace"))
        parts = (self.test.rpartition("::")[2], self.trial)
        slugs = (UNSAFE.sub("-", part).strip("-")[:LONGEST] for part in parts)
        return "-".join([*filter(None, slugs), key.hexdigest()[:8]]) + ".txt"

    def text(self, render: Render | None) -> str:
        """Return the file's text; without ``render`` the request is JSON, as an endpoint has it."""
        header = {"test": self.test, **self.header}
        if render is None:
            header["format"] = "the request as JSON: what is sent to a server, or a scripted model"
            request = {"messages": list(self.messages), "tools": list(self.tools)}
            prompt = json.dumps(request, indent=1, ensure_ascii=False, default=str)
        else:
            header["format"] = "the prompt as the model reads it"
            prompt = render(self.messages, tools=self.tools)
        lines = (row(name, printable(text)) for name, text in header.items())
        return "\n".join([*lines, RULE, prompt])


def write_prompts(
    prompts: Sequence[Prompt], folder: Path, *, render: Render | None, scrub: Callable[[str], str]
) -> str:
    """Write the first prompts into a folder, and return what was done in words.

    Args:
        prompts: of one test, in order.
        folder: made where it is not there.
        render: makes the text that the model reads, where that is known.
        scrub: takes secrets out of a text.
    """
    written = prompts[:MOST]
    for prompt in written:
        data = scrub(prompt.text(render)).encode("utf-8", "backslashreplace")
        write_atomically(folder / prompt.name, lambda path, data=data: path.write_bytes(data))  # type: ignore[misc]
    left = f", {len(prompts) - MOST} left out" if len(prompts) > MOST else ""
    return f"{len(written)} in {folder}{left}"
