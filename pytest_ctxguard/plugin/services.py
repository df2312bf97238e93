"""What one run shares: tokenizer, model, transcripts, baselines. Each is made when first needed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import pytest

from pytest_ctxguard.backend import Backend
from pytest_ctxguard.baseline import Baseline, baseline_of, baseline_path
from pytest_ctxguard.errors import ModelError
from pytest_ctxguard.plugin.further import further_readers
from pytest_ctxguard.plugin.opening import open_run_backend
from pytest_ctxguard.plugin.progress import ProgressLine
from pytest_ctxguard.plugin.settings.options import is_worker
from pytest_ctxguard.plugin.settings.settings import Settings
from pytest_ctxguard.plugin.settings.table import DEFAULT_COUNTER
from pytest_ctxguard.prefix.cost import Prices, load_prices
from pytest_ctxguard.prefix.rules import Rule, load_rules
from pytest_ctxguard.recall.answers import Answers, Interviewer
from pytest_ctxguard.recall.asking import Asker, Spent
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.tokens.counters.choosing import CounterSource, check_name, counter
from pytest_ctxguard.tokens.counters.served import ServedCounter
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.library import find, find_runs
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.reading import Reader


class Services:
    """The run's shared instruments."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self._transcripts: dict[str, Transcript] = {}
        self._runs: dict[str, tuple[Transcript, ...]] = {}
        self._baselines: dict[Path, Baseline] = {}
        self._backend: Backend | ModelError | None = None
        self._asker: Asker | None = None
        self._interviewer: Interviewer | None = None
        self.notes: list[str] = []  # for the end of the report

    @cached_property
    def encoder(self) -> RequestEncoder:
        """The tokenizer and template of Qwen2.5 models."""
        return RequestEncoder(special_tokens=self.settings.special_tokens)

    @cached_property
    def counter(self) -> Counter:
        """What counts budgets and requests."""
        if self.settings.counter == DEFAULT_COUNTER:
            return self.encoder
        made = self._named(self.settings.counter)
        if isinstance(made, ServedCounter):
            self.config.add_cleanup(made.close)
        return made

    def chosen_counter(self, named: CounterSource | None) -> Counter:
        """Return what a test names as counter; nothing: the run's."""
        chosen = self.settings.choose("counter", fixture=named)
        return self._named(chosen.value) if chosen.source == "fixture" else self.counter

    def _named(self, named: CounterSource) -> Counter:
        """Return the counter that a conftest's name, or anything else, stands for."""
        further = self.settings.counters
        if isinstance(named, str):
            check_name(named, further=further)
            named = further.get(named, named)
        return counter(named)

    @cached_property
    def progress(self) -> ProgressLine:
        """The progress line."""
        return ProgressLine(self.config)

    @property
    def backend(self) -> Backend:
        """What answers the probes; in the structure tier, a test that asks for it is skipped.

        Raises:
            ModelError: there is no model, and it may not be fetched now. It is tried once in a
                run; later calls raise the same error.
        """
        if self.settings.tier == "structure":
            pytest.skip("ctxguard: the body of this test asks a model (structure tier)")
        if self._backend is None:
            try:
                self._backend = open_run_backend(
                    self.config,
                    self.settings,
                    encoder=lambda: self.encoder,
                    progress=self.progress.update,
                )
            except ModelError as error:
                self._backend = error
            finally:
                self.progress.clear()
        if isinstance(self._backend, ModelError):
            raise self._backend.with_traceback(None)  # else it gathers the frames of every test
        return self._backend

    @property
    def asker(self) -> Asker:
        """What asks the backend, for every test of the run: it remembers."""
        if self._asker is None:  # no cached_property: its frames would be in a model's errors
            self._asker = self._new_asker()
        return self._asker

    def _new_asker(self) -> Asker:
        backend = self.backend
        from pytest_ctxguard.recall.store import Store

        config = self.config  # all workers have the controller's name for the run
        run = config.workerinput["testrunuid"] if is_worker(config) else uuid.uuid4().hex  # type: ignore[attr-defined]
        store = Store(run=run, fresh=self.settings.fresh, warn=self.notes.append)
        config.add_cleanup(store.close)
        return Asker(backend, progress=self.progress.step, store=store)

    @property
    def spent(self) -> Spent:
        """What asking has taken in this process so far."""
        return Spent() if self._asker is None else self._asker.spent

    def answers(self, replay: Replay, fact: str) -> Answers:
        """Ask every wording of a fact under a replay's policy."""
        if self._interviewer is None:
            self._interviewer = Interviewer(self.asker)
        try:
            return self._interviewer.answers(replay, fact, controls=self.settings.controls)
        finally:
            self.progress.clear()

    def model_identity(self) -> Mapping[str, str]:
        """Return what answers depend on, for fingerprints."""
        return self.backend.identity

    def transcript(self, name: str | Path | Transcript) -> Transcript:
        """Return a transcript by name or path; files are read once."""
        if isinstance(name, Transcript):
            return name
        key = str(name)
        if key not in self._transcripts:
            self._transcripts[key] = find(
                name, folders=self.settings.transcripts, readers=self.readers
            )
        return self._transcripts[key]

    def runs(self, name: str | Path) -> tuple[Transcript, ...]:
        """Return all sessions of a recording by name or path; files are read once."""
        key = str(name)
        if key not in self._runs:
            self._runs[key] = find_runs(
                name, folders=self.settings.transcripts, readers=self.readers
            )
        return self._runs[key]

    @cached_property
    def rules(self) -> Mapping[str, Rule]:
        """The rules of prompt caches, the user's own among them."""
        return load_rules(self.settings.cache_rules)

    @cached_property
    def prices(self) -> Mapping[str, Prices]:
        """What tokens cost, where the user says it."""
        return load_prices(self.settings.prices) if self.settings.prices else {}

    @cached_property
    def readers(self) -> tuple[Reader, ...]:
        """The readers that conftest files add."""
        return further_readers(self.config)

    def baseline(self, module: Path) -> Baseline:
        """Return the baseline of a test module; the file is read once and never changed here."""
        path = baseline_path(module)
        if path not in self._baselines:
            self._baselines[path] = baseline_of(path, compare=self.settings.compare)
        return self._baselines[path]
