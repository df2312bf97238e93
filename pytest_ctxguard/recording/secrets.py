"""Keep secrets out of recordings: replace them before, search for them after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ctxguard.errors import RecordingError, SecretFound
from pytest_ctxguard.recording.bodies import body_bytes
from pytest_ctxguard.recording.scrubbing.compressed import codings
from pytest_ctxguard.recording.scrubbing.headers import scrub_address, scrub_header
from pytest_ctxguard.recording.scrubbing.known import Known, from_environment, given
from pytest_ctxguard.recording.scrubbing.scanning import Find, scan
from pytest_ctxguard.recording.scrubbing.scrubber import Scrubber

if TYPE_CHECKING:
    from vcr.request import Request

FRAMED = "application/vnd.amazon.eventstream"


class Secrets:
    """What must not be written, and how it is replaced.

    Replaced by ``SCRUBBED``: credentials, cookies and account ids in headers, addresses and
    bodies; the values of variables that look like secrets and of what the user names; tokens of
    well-known form. Also URL-encoded, JSON-escaped, in base64, compressed, and where a stream
    splits them over chunks. The same traffic is replaced the same way each time, what is replaced
    is not changed again, and what has no secret in it keeps its bytes.
    """

    def __init__(self, known: Known) -> None:
        self._known = known

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], *, extra: Iterable[str] = ()) -> Secrets:
        """Take the secrets of an environment.

        Args:
            environ: name of a variable -> value.
            extra: further secrets, of 4 characters or more.

        Raises:
            UsageError: one of ``extra`` is shorter.
        """
        return cls(Known((*given(extra), *from_environment(environ))))

    def scrub_request(self, request: Request) -> Request:
        """Return a copy of a request without secrets, its content-length mended.

        Raises:
            RecordingError: its body is in a content coding that cannot be searched.
        """
        body = body_bytes(request.body) or None
        headers = dict(request.headers.items())
        while True:
            before = len(self._known)
            scrubber = Scrubber(self._known)
            new_headers = _headers(scrubber, headers)
            uri = scrub_address(scrubber, request.uri)
            new_body = _body(scrubber, body, headers)
            if len(self._known) == before:
                break
        _mend_length(new_headers, body, new_body)
        return type(request)(request.method, uri, new_body, new_headers)

    def scrub_response(self, response: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy of vcrpy's dict of a response without secrets, its content-length mended.

        Raises:
            RecordingError: its body is in a content coding that cannot be searched, or in frames
                that cannot be changed.
        """
        headers = response.get("headers") or {}
        body = response.get("body")
        inner = body.get("string") if isinstance(body, dict) else body
        while True:
            before = len(self._known)
            scrubber = Scrubber(self._known)
            new: dict[str, Any] = {
                key: _value(scrubber, key, value)
                for key, value in response.items()
                if key not in ("headers", "body")
            }
            new_headers = _headers(scrubber, headers)
            new_inner = _body(scrubber, inner, headers)
            if len(self._known) == before:
                break
        _mend_length(new_headers, inner, new_inner)
        if "headers" in response:
            new["headers"] = new_headers
        if "body" in response:
            new["body"] = {**body, "string": new_inner} if isinstance(body, dict) else new_inner
        return {key: new[key] for key in response}

    def check(self, data: bytes, path: Path) -> None:
        """Search a file's bytes, about to be written, for what should have been replaced.

        Raises:
            SecretFound: something is still there.
        """
        finds = list(dict.fromkeys(scan(data, self._known)))
        if finds:
            raise _error(finds, path)


def _error(finds: list[Find], path: Path) -> SecretFound:
    find = next((find for find in finds if find.place), finds[0])
    places = {found.place or found.line for found in finds}
    more = f", and in {len(places) - 1} more places" if len(places) > 1 else ""
    under = "".join(f", in {encoding}" for encoding in find.hit.via)
    where = f" in {find.place}" if find.place else ""
    what = (
        f"{find.hit.what} (sha256 {find.hit.digest}…) would be written{where}{under}{more}. "
        "Nothing was written. Keep it out of the prompt, the tool's output or the file's own text, "
        "then record again; or replace it where it is sent."
    )
    return SecretFound(what, path=path, line=find.line)


def _headers(scrubber: Scrubber, headers: Mapping[Any, Any]) -> dict[Any, Any]:
    return {name: _header(scrubber, name, value) for name, value in headers.items()}


def _header(scrubber: Scrubber, name: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_header(scrubber, name, one) for one in value]
    if isinstance(value, bytes):
        return _header(scrubber, name, value.decode("latin-1")).encode("latin-1")
    name = name.decode("latin-1") if isinstance(name, bytes) else str(name)
    return scrub_header(scrubber, name, value) if isinstance(value, str) else value


def _body(scrubber: Scrubber, body: Any, headers: Mapping[Any, Any]) -> Any:
    if not isinstance(body, bytes):
        return scrubber.body(body) if isinstance(body, str) else _value(scrubber, None, body)
    coded = codings(_named(headers, "content-encoding"))
    if not coded or (coded[-1] not in ("gzip", "x-gzip", "deflate") and _is_text(body)):
        new = scrubber.data(body)
    else:
        new = scrubber.coded(body, coded[-1])
    if new != body and any(value.startswith(FRAMED) for value in _named(headers, "content-type")):
        hit = scrubber.hits[-1]
        raise RecordingError(
            f"{hit.what} (sha256 {hit.digest}…) stands in an event stream of AWS, whose frames "
            "carry checksums; it cannot be replaced there. Keep it out of the prompt, or record "
            "this call without streaming."
        )
    return new


def _is_text(body: bytes) -> bool:
    """Tell whether a body is decoded already, whatever its header still says."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _value(scrubber: Scrubber, key: str | None, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _value(scrubber, name, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_value(scrubber, None, inner) for inner in value]
    if isinstance(value, bytes):
        return scrubber.data(value)
    if not isinstance(value, str):
        return value
    if key in ("uri", "url"):
        return scrub_address(scrubber, value)
    return scrubber.pair(str(key) if key is not None else None, value)


def _named(headers: Mapping[Any, Any], wanted: str) -> list[str]:
    found: list[str] = []
    for name, value in headers.items():
        name = name.decode("latin-1") if isinstance(name, bytes) else str(name)
        if name.lower() == wanted:
            values = value if isinstance(value, list | tuple) else [value]
            found += (v.decode("latin-1") if isinstance(v, bytes) else str(v) for v in values)
    return found


def _mend_length(headers: dict[Any, Any], old: Any, new: Any) -> None:
    if new == old or not isinstance(new, bytes | str):
        return
    length = str(len(new if isinstance(new, bytes) else new.encode()))
    for name, value in headers.items():
        if str(name).lower() == "content-length":
            headers[name] = [length] if isinstance(value, list) else length
