"""Open what answers in a run: an endpoint, a conftest's backend, the model alone or shared."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_ctxguard.backend import Backend
from pytest_ctxguard.errors import BackendError, ModelError, ModelMissing
from pytest_ctxguard.plugin.options import Settings, is_worker
from pytest_ctxguard.progress import Progress
from pytest_ctxguard.tokens.request import RequestEncoder

FOLDER = "ctxguard_folder"  # in workerinput: where the workers of a run share the model


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
        return _open_shared(config, settings, encoder=encoder())
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
    backend = EndpointBackend(settings.endpoint, model=settings.model or None, key=key)
    config.add_cleanup(backend.close)
    try:
        backend.identity  # noqa: B018 - asked for now, so that it fails once and early
    except BackendError as error:
        raise ModelError(f"{settings.endpoint_reason}: {error}") from None
    return backend


def _open_shared(config: pytest.Config, settings: Settings, *, encoder: RequestEncoder) -> Backend:
    """Return the model that one process runs for all workers."""
    from pytest_ctxguard.engine.models.store import resolve
    from pytest_ctxguard.engine.open import encoder_of
    from pytest_ctxguard.plugin.sharing import Starter
    from pytest_ctxguard.server.local import LocalBackend

    model = settings.model or None
    try:
        files = resolve(model, fetch=False)
    except ModelMissing as error:
        raise ModelMissing(f"{error} An xdist worker never fetches it.") from None
    told = {
        "model": model,
        "special_tokens": settings.special_tokens,
        "prefix_cache": settings.prefix_cache,
    }
    folder = Path(config.workerinput[FOLDER])  # type: ignore[attr-defined]  # xdist's
    starter = Starter(folder, told)
    engine = LocalBackend(starter.connect, encoder=encoder_of(files, encoder))
    config.add_cleanup(engine.close)
    return engine
