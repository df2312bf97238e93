"""Show that answers do not depend on how they are computed: ``python benchmarks/equality.py``.

Logits after 1,400 tokens of recorded sessions, and answers of 24 tokens, against one cold run in
chunks of 256 on two threads. Every difference is expected to be exactly 0.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.models.files import ModelFiles
from pytest_ctxguard.engine.open import load
from pytest_ctxguard.engine.runner import Runner
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.library import find

QUESTIONS = ("Who is on call?", "Which shard failed first?", "What was deployed, and when?")
LENGTH, TAIL, ANSWER_TOKENS = 1400, 300, 24
HEADER = f"{'computed otherwise':<20} {'largest logit difference':>26} {'answers':>11}"


def prompts() -> list[list[int]]:
    """Return three prompts that share most of their tokens."""
    encoder = RequestEncoder()
    shared = encoder.encode(find("incident-40").messages)[:LENGTH]
    return [[*shared, *encoder.encode_text(question)] for question in QUESTIONS]


def compare(files: ModelFiles) -> Iterator[tuple[str, float, int]]:
    """Yield each way of computing, its largest difference in logits, and answers that differ."""

    def runner(*, threads: int = 2, chunk: int = 256) -> Runner:
        return Runner(load(files, threads=threads), chunk=chunk)

    asked = prompts()
    logits = [runner().logits(prompt) for prompt in asked]
    answers = [runner().generate(prompt, max_tokens=ANSWER_TOKENS).tokens for prompt in asked]

    def differing(other: Runner) -> tuple[float, int]:
        found = [other.logits(prompt) for prompt in asked]
        largest = max(float(np.abs(a - b).max()) for a, b in zip(logits, found, strict=True))
        given = [other.generate(prompt, max_tokens=ANSWER_TOKENS).tokens for prompt in asked]
        return largest, sum(a != b for a, b in zip(answers, given, strict=True))

    for chunk in (17, 64, 128, 512):
        yield f"chunks of {chunk}", *differing(runner(chunk=chunk))
    for threads in (1, 3, 8):
        yield f"{threads} threads", *differing(runner(threads=threads))
    warm = runner()
    warm.generate(asked[0][:-TAIL], max_tokens=4)
    yield "prefix cached", *differing(warm)
    together = runner().generate_many(asked, max_tokens=ANSWER_TOKENS)
    given = [getattr(one, "tokens", None) for one in together]
    yield "decoded together", 0.0, sum(a != b for a, b in zip(answers, given, strict=True))


def main() -> int:
    """Print the table; the exit status is 1 if anything differs."""
    worst = 0.0
    print(f"{'computed otherwise':<20} {'largest logit difference':>26} {'differ':>12}")
    for name, largest, answers in compare(store.resolve(fetch=True)):
        print(f"{name:<20} {largest:>26} {answers:>6} of {len(QUESTIONS)}", flush=True)
        worst = max(worst, largest, answers)
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main())
