"""Ask the questions of a run in a process of its own, which hangs in the middle to be killed.

Arguments: the model's folder, and after how many answers to hang. It prints a line when it hangs.
"""

from __future__ import annotations

import sys
import time

from pytest_ctxguard.engine.open import open_backend
from pytest_ctxguard.recall.asking import Asker, Question
from pytest_ctxguard.recall.store import Store
from pytest_ctxguard.tokens.request import RequestEncoder

QUESTIONS = [
    Question(
        [
            {"role": "system", "content": f"You keep the books of branch {branch}. " * 12},
            {"role": "user", "content": f"How many boxes are there, and what is in box {box}?"},
        ],
        max_tokens=4,
    )
    for box in range(5)
    for branch in range(6)
]


def main(model: str, hang_at: int) -> None:
    def tell(label: str, done: int, total: int) -> None:
        if done >= hang_at:
            sys.stdout.write("hanging\n")
            sys.stdout.flush()
            time.sleep(600)

    backend = open_backend(model, encoder=RequestEncoder(), fetch=False)
    store = Store(run="killed", warn=sys.exit)
    Asker(backend, progress=tell, store=store).ask(QUESTIONS)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
