"""Every kind of content that estimators are held against, by name."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from random import Random

from pytest_ctxguard.tokens.corpus.drawn_ascii import ASCII_KINDS
from pytest_ctxguard.tokens.corpus.drawn_unicode import UNICODE_KINDS
from pytest_ctxguard.tokens.corpus.texts import PACKAGE

DRAWN = {**ASCII_KINDS, **UNICODE_KINDS}


@cache
def kinds(*, seed: int = 0) -> Mapping[str, str]:
    """Return kind -> a text of it, some hundred characters long, sorted by name.

    Args:
        seed: another one draws other texts, where they are drawn.
    """
    names = sorted({*_written(), *DRAWN})
    return {name: kind_text(name, seed=seed) for name in names}


def kind_text(name: str, *, seed: int = 0) -> str:
    """Return a text of one kind."""
    if name not in DRAWN:
        return _written()[name]
    return DRAWN[name](Random(f"{seed}/{name}"))  # noqa: S311 - texts to count, no secrets


@cache
def _written() -> dict[str, str]:
    content = files(PACKAGE).joinpath("kinds.toml").read_text(encoding="utf-8")
    found: dict[str, str] = tomllib.loads(content)
    return found
