"""The cassette that vcrpy's stubs ask: what was recorded, what is recorded now, and what missed."""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from pytest_ctxguard.errors import CtxguardError
from pytest_ctxguard.recording.bodies import body_bytes, header, unpacked
from pytest_ctxguard.recording.canonical import Canonical, Request, canonical
from pytest_ctxguard.recording.ignoring import Field

if TYPE_CHECKING:
    from pytest_ctxguard.recording.secrets import Secrets

# What this package asks while a test runs (its model's files, an endpoint) is none of the test's.
OUR_CALLERS = ("pytest_ctxguard.engine.", "pytest_ctxguard.endpoint")


class Missed(BaseException):
    """Ends a request that is not recorded.

    No ``Exception``, because clients catch those and try again, and agents carry on without the
    answer; pytest's own failures pass through the same way.
    """


@dataclass(slots=True)
class Interaction:
    """One request and its response.

    Attributes:
        request: as it is stored, secrets replaced.
        response: as it is stored, or as it was read.
        form: the request as it is compared.
        origin: of which file it was read; empty for one recorded now.
        played: whether it was replayed in this run.
    """

    request: Any
    response: dict[str, Any]
    form: Canonical
    origin: str = ""
    played: bool = False


@dataclass(eq=False)
class Cassette:
    """Answers vcrpy's stubs, which know its own class of this name; each method is one they call.

    Attributes:
        path: of the file, which the stubs only name.
        write_protected: nothing is sent; a request that is not recorded is a miss.
        secrets: replaces secrets in what is stored and in what is compared.
        ignore: fields of JSON bodies that are not compared.
        describe: makes the error of a request that is not recorded.
        recorded: what was read of files.
        used: what was replayed and recorded in this run, in order.
        errors: of each miss and each request that could not be handled.
        missed: what ends a request that is not recorded.
    """

    path: str
    write_protected: bool
    secrets: Secrets
    describe: Callable[[Canonical], CtxguardError]
    ignore: Sequence[Field] = ()
    recorded: list[Interaction] = field(default_factory=list)
    used: list[Interaction] = field(default_factory=list)
    errors: list[CtxguardError] = field(default_factory=list)
    missed: type[Missed] = Missed
    custom_patches = ()
    skip_patchers = ()

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._last: tuple[object, Canonical] | None = None

    @property
    def _path(self) -> str:
        return self.path

    def interaction(self, request: Any, response: dict[str, Any], origin: str = "") -> Interaction:
        """Return a request and its response with the secrets of the request replaced.

        Raises:
            CtxguardError: the body cannot be recorded, or a secret cannot be replaced.
        """
        clean = self.secrets.scrub_request(_plain(request))
        return Interaction(clean, response, canonical(clean, self.ignore), origin)

    def can_play_response_for(self, request: Request) -> bool:
        """Tell whether a request is recorded, and that recording not replayed yet."""
        if _of_this_package():
            return False
        with self._lock:
            return self._next(self._form(request)) is not None

    def play_response(self, request: Request) -> dict[str, Any]:
        """Return the next recorded response to a request; the caller may write into it."""
        form = self._form(request)
        with self._lock:
            found = self._next(form)
            if found is not None:
                found.played = True
                self.used.append(found)
                return copy.deepcopy(found.response)
        raise self._failed(self.describe(form))

    def filter_request(self, request: Request) -> Request | None:
        """Return the request, or None for one that goes out unrecorded.

        Where nothing may be sent, the stubs ask this of a request that is not recorded before
        they raise an error that clients would catch.

        Raises:
            Missed: nothing may be sent.
        """
        if _of_this_package():
            return None
        if self.write_protected:
            raise self._failed(self.describe(self._form(request)))
        return request

    def append(self, request: Request, response: dict[str, Any]) -> None:
        """Record a request and its response."""
        if _of_this_package():
            return
        try:
            found = self.interaction(request, _true_to_itself(copy.deepcopy(response)))
            # after the request, whose headers show what is secret in the response
            found.response = self.secrets.scrub_response(found.response)
        except CtxguardError as error:
            raise self._failed(error) from error
        with self._lock:
            self.used.append(found)

    def find_requests_with_most_matches(self, request: Request) -> list[tuple[Any, ...]]:
        """Return the recorded request that matches; the aiohttp stub asks this of redirects."""
        found = self._next(self._form(request))
        return [] if found is None else [(found.request, [], [])]

    def _form(self, request: Request) -> Canonical:
        """Return a request as it is compared; the stubs ask twice of each, and a search is slow."""
        try:
            plain = _plain(request)
            key = (plain.method, plain.uri, plain.body, tuple(plain.headers.items()))
            last = self._last
            if last is None or last[0] != key:
                last = key, canonical(self.secrets.scrub_request(plain), self.ignore)
                self._last = last
            return last[1]
        except CtxguardError as error:
            raise self._failed(error) from error

    def _next(self, form: Canonical) -> Interaction | None:
        same = (each for each in self.recorded if each.form.identity == form.identity)
        return next((each for each in same if not each.played), None)

    def _failed(self, error: CtxguardError) -> Missed:
        self.errors.append(error)
        return self.missed(str(error))


def _plain(request: Any) -> Any:
    """Return vcrpy's request with its body as bytes and its headers as text."""
    from vcr.request import Request as Stored

    rows = (request.headers or {}).items()
    headers = {str(name): header({name: value}, str(name).lower()) for name, value in rows}
    return Stored(request.method, request.uri, body_bytes(request.body) or None, headers)


def _true_to_itself(response: dict[str, Any]) -> dict[str, Any]:
    """Return a response whose headers fit its body.

    Some clients unpack a body before the stub sees it; told that it is packed, another client or
    a reader of the file would unpack it again.
    """
    headers, body = response["headers"], response["body"].get("string") or b""
    if body and not _is_packed(body, header(headers, "content-encoding")):
        response["headers"] = {
            name: [str(len(body))] if name.lower() == "content-length" else values
            for name, values in headers.items()
            if name.lower() != "content-encoding"
        }
    return response


def _is_packed(body: bytes, encoding: str) -> bool:
    """Tell whether a body is in its encoding; text is in none of those we cannot unpack."""
    if not encoding or unpacked(body, encoding) is not None:
        return True
    try:
        body.decode()
    except UnicodeDecodeError:
        return encoding.strip().lower() not in ("gzip", "x-gzip", "deflate")
    return False


def _of_this_package() -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(OUR_CALLERS):
            return True
        frame = frame.f_back
    return False
