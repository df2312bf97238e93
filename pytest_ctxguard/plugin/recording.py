"""What the ``ctx_record`` fixture does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ctxguard.errors import NothingChecked
from pytest_ctxguard.plugin.cassettes import plan, refuse_shared
from pytest_ctxguard.plugin.names import node_id
from pytest_ctxguard.plugin.replaying import of_guarded
from pytest_ctxguard.recording.cassette import Missed

if TYPE_CHECKING:
    from pytest_ctxguard.recording.recorder import Recorder
    from pytest_ctxguard.transcript.model import Transcript

RECORDING = pytest.StashKey["RecordFixture"]()
SHOWN = 3  # unused requests that are named


class MissedInTest(pytest.fail.Exception, Missed):  # type: ignore[name-defined,misc]
    """A miss as pytest's own failure: after any other, it would leave fixtures standing."""


@contextmanager
def record_fixture(item: pytest.Item) -> Iterator[RecordFixture]:
    """Record or replay what is sent from now until this test is torn down."""
    _, services = of_guarded(item, fixture="ctx_record")
    planned = plan(item, services.settings)
    refuse_shared(item, planned.path)
    from pytest_ctxguard.recording.missing import Place
    from pytest_ctxguard.recording.recorder import recording
    from pytest_ctxguard.recording.secrets import Secrets

    names = services.settings.secrets
    extra = [os.environ[name] for name in names if os.environ.get(name)]
    root, path = item.config.rootpath, planned.path
    place = Place(
        test=node_id(item),
        path=path,
        shown=str(path.relative_to(root) if path.is_relative_to(root) else path),
        mode=f"{planned.mode} ({planned.reason})",
    )
    with recording(
        place,
        mode=planned.mode,
        secrets=Secrets.from_environment(os.environ, extra=extra),
        ignore=planned.ignore,
        also=planned.also,
        readers=services.readers,
        missed=MissedInTest,
    ) as recorder:
        fixture = RecordFixture(recorder, place.shown)
        item.stash[RECORDING] = fixture
        with _keys(recorder):
            yield fixture
        fixture._close()


@contextmanager
def _keys(recorder: Recorder) -> Iterator[None]:
    """Let clients start without a key, where nothing can be sent.

    Only variables that were set while recording: an agent may choose by which of them is set.
    """
    from pytest_ctxguard.recording.scrubbing.patterns import SCRUBBED

    with pytest.MonkeyPatch.context() as patch:
        for name in () if recorder.writes else recorder.keys:
            if not os.environ.get(name):
                patch.setenv(name, SCRUBBED)  # equals what stands for the key in the cassette
        yield


@dataclass(slots=True, repr=False)
class RecordFixture:
    """What one test sends and is answered, recorded or replayed."""

    _recorder: Recorder
    _shown: str
    _note: str = ""
    _written: int | None = None  # requests when it was written; None: it was not, or must not be
    _errors: int = 0

    @property
    def path(self) -> Path:
        """The cassette."""
        return self._recorder.path

    @property
    def recording(self) -> bool:
        """Whether requests that are not in the cassette are sent, and recorded."""
        return self._recorder.writes

    @property
    def requests(self) -> int:
        """How many requests were answered so far."""
        return self._recorder.requests

    @property
    def transcripts(self) -> tuple[Transcript, ...]:
        """The sessions among the requests answered so far.

        Raises:
            TranscriptError: there is no request to a model among them, or one cannot be read.
        """
        return self._recorder.transcripts()

    def transcript(self) -> Transcript:
        """Return the one session so far.

        Raises:
            TranscriptError: there is no request to a model, or one cannot be read.
            UsageError: there are several sessions.
        """
        __tracebackhide__ = True
        return self._recorder.transcript()

    def _broke_off(self, error: BaseException) -> None:
        """End the recording of a body that did not pass: nothing is written.

        What broke off is part of a session, and would be replayed as if it were whole.

        Raises:
            CtxguardError: a request was not answered; the body's own error follows from that.
        """
        recorded = self._recorder.recorded
        if recorded:
            self._note = (
                f"{_requests(recorded)} not written to {self._shown}: the body did not pass"
            )
        cause = self._recorder.error
        if cause is not None and not isinstance(error, KeyboardInterrupt | pytest.exit.Exception):
            self._errors = len(self._recorder.cassette.errors)
            raise cause from None  # what the body made of it would be shown as the cause

    def _finish(self) -> None:
        """Write what a test recorded whose body passed.

        Raises:
            CtxguardError: a request was not answered, whatever the client made of that; or a
                secret would be written.
            ContextGateFailure: there was no request at all.
        """
        recorder = self._recorder
        self._errors = len(recorder.cassette.errors)
        if recorder.error is not None:
            raise recorder.error
        if not recorder.requests:
            raise NothingChecked(
                "nothing to check: ctx_record saw no request. Run the agent in the body of the "
                "test, in this process, with a client that vcrpy knows: httpx, httpx2, requests, "
                "urllib3, aiohttp, http.client, botocore."
            )
        notes = []
        if recorder.save():
            notes.append(f"{_requests(recorder.recorded)} recorded in {self._shown}")
        self._written = recorder.requests
        unused = recorder.unused
        if unused:
            named = ", ".join(unused[:SHOWN]) + (", …" if len(unused) > SHOWN else "")
            notes.append(
                f"{_requests(len(unused))} recorded in {self._shown} but not sent: {named}; "
                "--ctxguard-record=all records without"
            )
        self._note = "\n  ".join(notes)

    def _close(self) -> None:
        """Write what was recorded after the body, while later fixtures were torn down.

        Raises:
            CtxguardError: a request of theirs was not answered, or a secret would be written.
        """
        errors = self._recorder.cassette.errors[self._errors :]
        if self._written is not None and errors:
            raise errors[0]
        if self._written is not None and self._recorder.requests > self._written:
            self._recorder.save()


def _requests(number: int) -> str:
    return f"{number} request" if number == 1 else f"{number} requests"


@contextmanager
def recorded(item: pytest.Item) -> Iterator[bool]:
    """Tell whether a test records, and end its recording with its body.

    Raises:
        CtxguardError: a request was not answered, whatever the body made of that.
    """
    fixture = item.stash.get(RECORDING, None)
    if fixture is None:
        yield False
        return
    try:
        yield True
    except BaseException as error:
        fixture._broke_off(error)
        raise
    fixture._finish()


def noted(item: pytest.Item, note: str) -> str:
    """Return a test's note with that on its recording added, if there is one."""
    fixture = item.stash.get(RECORDING, None)
    return "\n  ".join(filter(None, [note, fixture._note if fixture else ""]))
