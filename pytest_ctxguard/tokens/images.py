"""What providers bill for an image, by its size; base64 has no part in it.

The rules are those that the providers' pages stated in 2025, as mirrors and libraries restate them;
they were not compared with the live pages since, and newer models may have others. A model that is
not in the table has no price here, and no default stands in for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil, floor, sqrt
from typing import Literal, NamedTuple

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.parts import image as image_part

Detail = Literal["auto", "low", "high"]
AS_OF = "2025"

OPENAI = "developers.openai.com/api/docs/guides/images-vision, Calculating costs"
ANTHROPIC = "platform.claude.com/docs/en/build-with-claude/vision; Claude 3 to 4.6"
GEMINI = "ai.google.dev/gemini-api/docs/tokens; Gemini 2 and later"


class Image(NamedTuple):
    """An image of a message; its size in pixels is ``None`` where nothing tells it."""

    size: tuple[int, int] | None
    detail: Detail


@dataclass(frozen=True, slots=True)
class Price:
    """What a family of models takes for an image.

    Attributes:
        of: width, height, detail -> tokens.
        source: where the rule stands.
        as_of: when it stood there.
    """

    of: Callable[[int, int, Detail], int]
    source: str
    as_of: str = AS_OF


def _tiles(base: int, tile: int, width: int, height: int, detail: Detail) -> int:
    """OpenAI: within 2,048 x 2,048, then shortest side at most 768; tiles of 512 x 512."""
    if detail == "low":
        return base
    scale = min(1.0, 2048 / max(width, height))
    scale = min(scale, 768 / min(width, height))
    across, down = (ceil(round(side * scale, 6) / 512) for side in (width, height))
    return base + tile * across * down


def _patches(multiplier: float, width: int, height: int, detail: Detail) -> int:
    """OpenAI: patches of 32 x 32, at most 1,536 of them; larger images are shrunk to whole ones."""
    patches = ceil(width / 32) * ceil(height / 32)
    if patches > 1536:
        shrink = sqrt(1536 * 32**2 / (width * height))
        across, down = width * shrink / 32, height * shrink / 32
        shrink *= min(floor(side) / side for side in (across, down) if side >= 1)
        across, down = width * shrink / 32, height * shrink / 32
        patches = min(1536, ceil(round(across, 6)) * ceil(round(down, 6)))
    return ceil(patches * multiplier)


def _area(width: int, height: int, detail: Detail) -> int:
    """Anthropic: width x height / 750; the long side at most 1,568, and about 1,600 tokens."""
    scale = min(1.0, 1568 / max(width, height))
    return min(1600, ceil(width * height * scale**2 / 750))


def _squares(width: int, height: int, detail: Detail) -> int:
    """Gemini: 258 for both sides up to 384; above, for each tile of 768 x 768."""
    if max(width, height) <= 384:
        return 258
    return 258 * ceil(width / 768) * ceil(height / 768)


PRICES: Mapping[str, Price] = {
    "gpt-4o-mini": Price(partial(_tiles, 2833, 5667), OPENAI),
    "gpt-4.1-mini": Price(partial(_patches, 1.62), OPENAI),
    "gpt-4.1-nano": Price(partial(_patches, 2.46), OPENAI),
    "gpt-4o": Price(partial(_tiles, 85, 170), OPENAI),
    "gpt-4.1": Price(partial(_tiles, 85, 170), OPENAI),
    "gpt-4.5": Price(partial(_tiles, 85, 170), OPENAI),
    "o4-mini": Price(partial(_patches, 1.72), OPENAI),
    "o1": Price(partial(_tiles, 75, 150), OPENAI),
    "o3": Price(partial(_tiles, 75, 150), OPENAI),
    "gpt-5-mini": Price(partial(_patches, 1.62), OPENAI),
    "gpt-5-nano": Price(partial(_patches, 2.46), OPENAI),
    "gpt-5": Price(partial(_tiles, 70, 140), OPENAI),
    "claude": Price(_area, ANTHROPIC),
    "gemini": Price(_squares, GEMINI),
}
"""Start of a model's name -> price; the longest that fits."""


def image_tokens(width: int, height: int, *, model: str, detail: Detail = "auto") -> int:
    """Return what a provider bills for one image.

    Args:
        width: in pixels.
        height: in pixels.
        model: a model's name, or a family of :data:`PRICES`.
        detail: OpenAI's; ``auto`` is taken for ``high``.

    Raises:
        UsageError: a side is no number of pixels, or the model has no price here.
    """
    if min(width, height) < 1:
        raise UsageError(f"an image of {width} x {height} pixels; both sides are 1 or more")
    name = model.rpartition("/")[2]
    family = max((start for start in PRICES if name.startswith(start)), key=len, default=None)
    if family is None:
        raise UsageError(f"no image price is known for {model!r}; there are: {', '.join(PRICES)}")
    return PRICES[family].of(width, height, detail)


def image_size(url: str) -> tuple[int, int] | None:
    """Return the size in an image's own header; ``None``: its URL has no readable image."""
    size = image_part(url).get("size") or {}
    return (size["width"], size["height"]) if "width" in size else None


def images(
    message: Message, *, measure: Callable[[str], tuple[int, int] | None] = image_size
) -> Iterator[Image]:
    """Yield the images of a message, with their sizes as far as they are told.

    Args:
        message: any.
        measure: URL -> size; asked where no reader of a recording has left it in the part.
    """
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, Mapping) or part.get("type") != "image_url":
            continue
        told = part.get("image_url")
        told = told if isinstance(told, Mapping) else {"url": told}
        left = part.get("size") or {}
        known = (left["width"], left["height"]) if {"width", "height"} <= left.keys() else None
        detail: Detail = told["detail"] if told.get("detail") in ("low", "high") else "auto"
        yield Image(known or measure(str(told.get("url") or "")), detail)
