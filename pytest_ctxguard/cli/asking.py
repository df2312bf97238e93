"""The model as the commands use it: to answer probes, and to summarise."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from pytest_ctxguard.cli.progress import progress
from pytest_ctxguard.progress import note
from pytest_ctxguard.recall.answers import Interviewer
from pytest_ctxguard.recall.asking import Asker
from pytest_ctxguard.recall.store import Store
from pytest_ctxguard.recall.summarising import SUMMARY_TOKENS, EngineSummariser
from pytest_ctxguard.tokens.request import RequestEncoder


@dataclass(frozen=True, slots=True)
class Means:
    """What a command asks with; all of it is the one model.

    Attributes:
        asker: asks, and remembers.
        interviewer: asks the wordings of facts.
        summariser: what policies that summarise are given.
    """

    asker: Asker
    interviewer: Interviewer
    summariser: EngineSummariser

    @property
    def model(self) -> str:
        """The model's name and hash."""
        return self.asker.backend.identity["model"]


@contextmanager
def means(
    model: str | None, *, encoder: RequestEncoder, fresh: bool, summary_tokens: int = SUMMARY_TOKENS
) -> Iterator[Means]:
    """Open the model, and show progress while it is used.

    Args:
        model: name, GGUF file or converted folder; ``None``: the default.
        encoder: its tokenizer.
        fresh: use no answer that an earlier run kept.
        summary_tokens: longest summary.
    """
    from pytest_ctxguard.engine.open import open_backend

    run = f"{os.getpid()} {time.time_ns()}"
    with progress() as report:
        backend = open_backend(model, encoder=encoder, fetch=True, progress=report)
        store = Store(run=run, fresh=fresh, warn=lambda text: note(report, text))
        with closing(store):
            asker = Asker(backend, progress=report, store=store)
            summariser = EngineSummariser(asker, max_tokens=summary_tokens)
            yield Means(asker, Interviewer(asker), summariser)
