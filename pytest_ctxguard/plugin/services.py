"""What one run shares: tokenizer, model, transcripts, baselines. Each is made when first needed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import pytest

from pytest_ctxguard.backend import Backend
from pytest_ctxguard.baseline import Baseline, baseline_path, read
from pytest_ctxguard.errors import BackendError, ModelError, ModelMissing, UsageError
from pytest_ctxguard.plugin.options import Settings, is_worker
from pytest_ctxguard.plugin.progress import ProgressLine
from pytest_ctxguard.recall.answers import Answers, Interviewer
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.library import find
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.reading import Reader


class Services:
    """The run's shared instruments."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self._transcripts: dict[str, Transcript] = {}
        self._baselines: dict[Path, Baseline] = {}
        self._backend: Backend | ModelError | None = None
        self._interviewer: Interviewer | None = None

    @cached_property
    def encoder(self) -> RequestEncoder:
        """The exact counter, which is also the model's tokenizer."""
        return RequestEncoder(special_tokens=self.settings.special_tokens)

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
                self._backend = self._open_backend()
            except ModelError as error:
                self._backend = error
        if isinstance(self._backend, ModelError):
            raise self._backend.with_traceback(None)  # else it gathers the frames of every test
        return self._backend

    def _open_backend(self) -> Backend:
        if self.settings.endpoint:
            return self._open_endpoint()
        given = self.config.hook.pytest_ctxguard_backend(config=self.config)
        if given is not None:
            return given  # type: ignore[no-any-return]  # hooks are untyped
        from pytest_ctxguard.engine.open import open_backend

        try:
            return open_backend(
                self.settings.model or None,
                encoder=self.encoder,
                fetch=self.settings.fetch,
                workers=self.settings.workers,
                prefix_cache=self.settings.prefix_cache,
                progress=self.progress.update,
            )
        except ModelMissing as error:
            if is_worker(self.config):
                raise ModelMissing(f"{error} An xdist worker never fetches it.") from None
            raise
        finally:
            self.progress.clear()

    def _open_endpoint(self) -> Backend:
        """Return the endpoint as a backend, once it has said what it serves."""
        from pytest_ctxguard.endpoint import EndpointBackend

        key = os.environ.get("CTXGUARD_ENDPOINT_KEY")  # only there: options end up in logs
        backend = EndpointBackend(
            self.settings.endpoint, model=self.settings.model or None, key=key
        )
        self.config.add_cleanup(backend.close)
        try:
            backend.identity  # noqa: B018 - asked for now, so that it fails once and early
        except BackendError as error:
            raise ModelError(f"{self.settings.endpoint_reason}: {error}") from None
        return backend

    def answers(self, replay: Replay, fact: str) -> Answers:
        """Ask every wording of a fact under a replay's policy."""
        if self._interviewer is None:
            self._interviewer = Interviewer(self.backend, progress=self.progress.step)
        try:
            return self._interviewer.answers(replay, fact)
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

    @cached_property
    def readers(self) -> tuple[Reader, ...]:
        """The readers that conftest files add."""
        given = self.config.hook.pytest_ctxguard_readers(config=self.config)
        readers = tuple(reader for readers in given for reader in readers or ())
        for reader in readers:
            if not isinstance(reader, Reader):
                raise UsageError(
                    f"pytest_ctxguard_readers returned {reader!r}, not a pytest_ctxguard.Reader"
                )
        return readers

    def baseline(self, module: Path) -> Baseline:
        """Return the baseline of a test module; the file is read once and never changed here."""
        path = baseline_path(module)
        if path not in self._baselines:
            self._baselines[path] = read(path)
        return self._baselines[path]
