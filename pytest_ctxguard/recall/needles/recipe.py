"""Recipes: one line that rebuilds a trial's prompt to the letter.

``register:records=25:depth=0.5:seed=0:trial=7:v1``. What is not said is the default:
``layout=message``, and every other record a look-alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.needles.depths import check_depth
from pytest_ctxguard.recall.needles.haystack import LAYOUTS, Haystack, Layout
from pytest_ctxguard.recall.needles.pairs import pairs_haystack
from pytest_ctxguard.recall.needles.register import register_haystack
from pytest_ctxguard.transcript.model import Transcript

VERSION = "v1"
"""Of what a recipe builds: another text, another draw, or another meaning of a key is the next."""

EXAMPLE = f"register:records=25:depth=0.5:seed=0:trial=7:{VERSION}"
HAYSTACKS: Mapping[str, Callable[..., Haystack]] = {
    "register": register_haystack,
    "pairs": pairs_haystack,
}
NEEDED = ("records", "depth", "seed", "trial")
OPTIONAL = ("layout", "look_alikes")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a trial of a drawn haystack is made of.

    Attributes:
        haystack: ``register`` or ``pairs``.
        records: how many.
        depth: of the one asked for.
        seed: of the sample.
        trial: number of the draw.
        layout: in one message, or a turn for each record.
        look_alikes: how many other records look like the answer; ``None``: all.
    """

    haystack: str
    records: int
    depth: float
    seed: int
    trial: int
    layout: Layout = "message"
    look_alikes: int | None = None

    def __post_init__(self) -> None:
        if self.haystack not in HAYSTACKS:
            raise UsageError(
                f"no haystack is named {self.haystack!r}; there are: {', '.join(HAYSTACKS)}"
            )
        if self.layout not in LAYOUTS:
            raise UsageError(f"layout={self.layout!r} is neither 'message' nor 'turns'")
        # as a float, so that 1 and 1.0 are one recipe
        object.__setattr__(self, "depth", check_depth(self.depth))
        for name in ("records", "seed", "trial", "look_alikes"):
            value = getattr(self, name)
            optional = value is None and name == "look_alikes"
            if not optional and (isinstance(value, bool) or not isinstance(value, int)):
                raise UsageError(f"{name}={value!r} is not a whole number")
        if self.trial < 0:
            raise UsageError(f"trial={self.trial}: trials are numbered from 0")

    def __str__(self) -> str:
        parts = [f"{name}={getattr(self, name)}" for name in NEEDED]
        if self.layout != "message":
            parts.append(f"layout={self.layout}")
        if self.look_alikes is not None:
            parts.append(f"look_alikes={self.look_alikes}")
        return ":".join([self.haystack, *parts, VERSION])

    @cached_property
    def transcript(self) -> Transcript:
        """The prompt as a session with one fact, asked for in one wording.

        Raises:
            UsageError: a haystack cannot be like that.
        """
        haystack = HAYSTACKS[self.haystack](
            self.records,
            depth=self.depth,
            seed=self.seed,
            trial=self.trial,
            look_alikes=self.look_alikes,
        )
        return haystack.transcript(str(self), layout=self.layout)


def parse_recipe(text: str) -> Recipe:
    """Return the recipe that a line spells.

    Raises:
        UsageError: it is none; says what of it is wrong, and what is allowed.
    """
    kind, *parts = text.strip().split(":")
    if kind not in HAYSTACKS:
        raise _wrong(text, f"it begins with {kind!r}, not with {' or '.join(HAYSTACKS)}")
    version = parts.pop() if parts and re.fullmatch(r"v\d+", parts[-1]) else None
    if version != VERSION:
        said = "it does not end in a version" if version is None else f"it is of {version}"
        raise _wrong(text, f"{said}; this release builds {VERSION}")
    values: dict[str, Any] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if name not in (*NEEDED, *OPTIONAL) or not equals:
            raise _wrong(text, f"{part!r} is no part of it; it has: {', '.join(NEEDED + OPTIONAL)}")
        if name in values:
            raise _wrong(text, f"{name} is said twice")
        values[name] = _value(text, name, value)
    for name in NEEDED:
        if name not in values:
            raise _wrong(text, f"it does not say {name}")
    return Recipe(haystack=kind, **values)


def _value(text: str, name: str, value: str) -> Any:
    if name == "layout":
        return cast(Layout, value)
    kind = float if name == "depth" else int
    try:
        return kind(value)
    except ValueError:
        what = "a number" if name == "depth" else "a whole number"
        raise _wrong(text, f"{name}={value!r} is not {what}") from None


def _wrong(text: str, what: str) -> UsageError:
    return UsageError(f"{text!r} is no recipe: {what}. A recipe reads: {EXAMPLE}")
