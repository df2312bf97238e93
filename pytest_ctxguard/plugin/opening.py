"""Open what answers in a run: an endpoint, a conftest's backend, the model alone or shared."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_ctxguard.backend import Backend
from pytest_ctxguard.errors import BackendError, ModelError, ModelMissing, UsageError
from pytest_ctxguard.plugin.settings.options import is_worker
from pytest_ctxguard.plugin.settings.settings import Settings
from pytest_ctxguard.progress import Progress
from pytest_ctxguard.tokens.request import RequestEncoder

FOLDER = "ctxguard_folder"  # in workerinput: where the processes of a run meet
THREADS = "ctxguard_threads"  # in workerinput: of the worker's own engine; 0: one is shared


def open_run_backend(
    config: pytest.Config,
    settings: Settings,
    *,
    encoder: Callable[[], RequestEncoder],
    progress: Progress,
) -> Backend:
    """Return what answers the probes of this run.

    Raises:
        ModelError: there is no model, and it may not be fetched now.
    """
    if settings.endpoint:
        return _open_endpoint(config, settings)
    given = config.hook.pytest_ctxguard_backend(config=config)
    if given is not None:
        return given  # type: ignore[no-any-return]  # hooks are untyped
    if is_worker(config):
        return _open_in_worker(config, settings, encoder=encoder(), progress=progress)
    from pytest_ctxguard.engine.open import open_backend

    return open_backend(
        settings.model or None,
        encoder=encoder(),
        fetch=settings.fetch,
        prefix_cache=settings.prefix_cache,
        progress=progress,
    )


def _open_endpoint(config: pytest.Config, settings: Settings) -> Backend:
    """Return the endpoint as a backend, once it has said what it serves."""
    from pytest_ctxguard.endpoint import EndpointBackend

    key = os.environ.get("CTXGUARD_ENDPOINT_KEY")  # only there: options end up in logs
    try:
        backend = EndpointBackend(
            settings.endpoint,
            model=_endpoint_model(settings),
            key=key,
            at_once=settings.endpoint_requests,
        )
        config.add_cleanup(backend.close)
        backend.identity  # noqa: B018 - asked for now, so that it fails once and early
    except (BackendError, UsageError) as error:
        raise ModelError(f"{settings.endpoint_reason}: {error}") from None
    return backend


def _endpoint_model(settings: Settings) -> str | None:
    """Return the model to ask an endpoint for; that of the ini file only if both stand there.

    Beside an endpoint of the command line the ini file's model is the one it takes the place of.
    """
    if settings.endpoint_reason.startswith("--") and settings.model_reason.startswith("ini"):
        return None
    return settings.model or None


def _open_in_worker(
    config: pytest.Config, settings: Settings, *, encoder: RequestEncoder, progress: Progress
) -> Backend:
    """Return the worker's own engine, or the one that a process runs for all, as the run says."""
    from pytest_ctxguard.engine.models.store import resolve
    from pytest_ctxguard.engine.open import encoder_of, open_backend
    from pytest_ctxguard.plugin.xdist.sharing import Starter
    from pytest_ctxguard.server.local import LocalBackend

    told: Any = config.workerinput  # type: ignore[attr-defined]  # xdist's
    model = settings.model or None
    try:
        files = resolve(model, fetch=False)
    except ModelMissing as error:
        raise ModelMissing(f"{error} An xdist worker never fetches it.") from None
    if told[THREADS]:
        return open_backend(
            model,
            encoder=encoder,
            fetch=False,
            prefix_cache=settings.prefix_cache,
            threads=told[THREADS],
            progress=progress,
        )
    asked = {
        "model": model,
        "special_tokens": settings.special_tokens,
        "prefix_cache": settings.prefix_cache,
    }
    starter = Starter(Path(told[FOLDER]), asked)
    engine = LocalBackend(starter.connect, encoder=encoder_of(files, encoder))
    config.add_cleanup(engine.close)
    return engine
