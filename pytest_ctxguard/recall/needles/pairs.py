"""Key-value pairs of UUIDs in a JSON object; the value of one key is asked for.

The synthetic task of Liu et al., "Lost in the Middle: How Language Models Use Long Contexts"
(2023, arXiv:2307.03172, section 4), with a wording of our own. Nothing in it has a meaning, so
nothing but looking finds the value, and every other value looks like it.
"""

from __future__ import annotations

import json
import random
import uuid

from pytest_ctxguard.drawing import below
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.needles.depths import record_at
from pytest_ctxguard.recall.needles.haystack import Haystack

MOST = 5_000
SYSTEM = "You look up values in a JSON object. Answer with the value alone."
HEAD = "This is the JSON object:\n"
SHAPE = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def pairs(records: int, *, seed: int, trial: int) -> tuple[tuple[str, str], ...]:
    """Draw pairs, from the middle outwards, as a register is drawn.

    Raises:
        UsageError: too few or too many.
    """
    if not 1 <= records <= MOST:
        raise UsageError(f"records={records}: an object has 1 to {MOST} pairs")
    rng = random.Random(f"{seed}/{trial}/pairs")  # noqa: S311 - a sample, no secret
    drawn = [(_uuid(rng), _uuid(rng)) for _ in range(records)]
    return (*drawn[2::2][::-1], drawn[0], *drawn[1::2])


def pairs_haystack(
    records: int, *, depth: float, seed: int, trial: int, look_alikes: int | None = None
) -> Haystack:
    """Return pairs with a question for the value of the key at a depth.

    Raises:
        UsageError: as for :func:`pairs`; ``look_alikes``: all values look alike.
    """
    if look_alikes is not None:
        raise UsageError("look_alikes is of the register: in pairs, every other value looks alike")
    drawn = pairs(records, seed=seed, trial=trial)
    gold = record_at(depth, records)
    key, value = drawn[gold]
    parts = [json.dumps({k: v}) for k, v in drawn]
    return Haystack(
        system=SYSTEM,
        whole=HEAD + json.dumps(dict(drawn), indent=1),
        parts=(HEAD + parts[0], *parts[1:]),
        gold=gold,
        question=f'What is the value of the key "{key}"?',
        value=value,
        look_alikes=tuple(v for i, (_, v) in enumerate(drawn) if i != gold),
        shape=SHAPE,
    )


def _uuid(rng: random.Random) -> str:
    number = 0
    for _ in range(4):
        number = number << 32 | below(rng, 1 << 32)
    return str(uuid.UUID(int=number, version=4))
