"""Message transforms of AG2 before 1.0 (the package ``autogen``), such as MessageHistoryLimiter."""

from __future__ import annotations

import copy
from typing import Any, Literal

from pytest_ctxguard.policies.adapters.openai_dicts import DictPolicy
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.transcript.messages import Message


def ag2_classic(*transforms: Any, system: Literal["apart", "inside"] = "apart") -> Policy:
    """Adapt transforms, which run one after the other as in ``TransformMessages``.

    They take and return OpenAI-format dicts, so nothing is converted, and see the whole history at
    each call.

    Args:
        transforms: the transforms, in their order.
        system: whether a first system message is kept from them and sent first, as
            ``TransformMessages`` does (``apart``), or is one of their messages (``inside``), as
            for those who call ``apply_transform`` themselves.
    """

    def transform(messages: list[Message]) -> list[Message]:
        first = messages[0].get("role") == "system" if messages and system == "apart" else False
        sent = messages[1:] if first else messages
        for each in transforms:
            sent = each.apply_transform(copy.deepcopy(sent))
        return [*messages[: int(first)], *sent]

    return DictPolicy(transform, "ag2_classic")
