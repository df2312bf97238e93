"""The runtime ``tiktoken``, which encodes the vocabularies of OpenAI and Mistral."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ctxguard.errors import ModelMissing

if TYPE_CHECKING:
    from tiktoken import Encoding


def encoding_type(whose: str, *, install: str) -> type[Encoding]:
    """Return the runtime's class of encodings.

    Args:
        whose: tokens it is to encode, for the error.
        install: what pip is given to install it.

    Raises:
        ModelMissing: it is not installed.
    """
    try:
        from tiktoken import Encoding
    except ImportError as error:
        raise ModelMissing(
            f"tiktoken is not installed, and it encodes {whose} tokens. "
            f"Install it: pip install {install}"
        ) from error
    return Encoding
