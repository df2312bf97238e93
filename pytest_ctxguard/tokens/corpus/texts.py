"""The texts that estimators are held against: one incident, in many languages and scripts."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

PACKAGE = "pytest_ctxguard.tokens.corpus"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text in one language.

    Attributes:
        language: BCP 47 tag.
        name: the language's English name.
        script: of at least 90 % of its letters, by Unicode's name; Japanese counts as one.
        sure: how far its author, a machine, trusts the language: ``poor`` texts have real words
            and an uncertain grammar.
        text: the incident.
        note: why its tokens per character differ from those measured on another text.
    """

    language: str
    name: str
    script: str
    sure: Literal["good", "fair", "poor"]
    text: str
    note: str = ""


@cache
def corpus() -> tuple[Text, ...]:
    """Return every text, in the order of the file."""
    content = files(PACKAGE).joinpath("incident.toml").read_text(encoding="utf-8")
    return tuple(Text(**row) for row in tomllib.loads(content)["text"])


def scripts() -> tuple[str, ...]:
    """Return the names of the scripts that the texts are in, in the order of the file."""
    return tuple(dict.fromkeys(text.script for text in corpus()))
