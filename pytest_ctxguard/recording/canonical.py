"""What of a request is compared: method, address, and the body in a canonical form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

from pytest_ctxguard.recording.bodies import body_bytes, header, unpacked, without_boundary
from pytest_ctxguard.recording.ignoring import Field, without

PORTS = {"http": 80, "https": 443}
DEPTH = 200  # levels of JSON; a body nested deeper is compared by its bytes
WHOLE = 2.0**53  # below it, every whole float is exactly one integer


class Request(Protocol):
    """A request as vcrpy holds it."""

    method: str
    uri: str
    headers: Mapping[str, Any]

    @property
    def body(self) -> Any:
        """What the client was given as the body."""


@dataclass(frozen=True, slots=True)
class Canonical:
    """A request as it is compared.

    Attributes:
        method: in capitals.
        scheme: ``http`` or ``https``.
        host: in lower case.
        port: the scheme's own, where none is given.
        path: at least ``/``.
        query: sorted pairs.
        body: the JSON value, or the bytes where it is no JSON; packed bodies are unpacked, and
            the ignored fields left out.
        identity: equal for two requests that match.
    """

    method: str
    scheme: str
    host: str
    port: int
    path: str
    query: tuple[tuple[str, str], ...]
    body: Any
    identity: tuple[object, ...]

    @property
    def address(self) -> str:
        """Method and URL, without the query."""
        port = "" if self.port == PORTS.get(self.scheme) else f":{self.port}"
        return f"{self.method} {self.scheme}://{self.host}{port}{self.path}"


def canonical(request: Request, ignore: Sequence[Field] = ()) -> Canonical:
    """Return a request as it is compared.

    JSON is equal whatever its key order, spacing and escapes, and whether a number is written
    ``1`` or ``1.0``; every other body is equal by its bytes.

    Args:
        request: with secrets replaced already.
        ignore: fields of a JSON body to leave out.

    Raises:
        RecordingError: the body cannot be compared.
    """
    url = urlsplit(request.uri)
    parts = (
        request.method.upper(),
        url.scheme.lower(),
        (url.hostname or "").lower(),
        url.port or PORTS.get(url.scheme.lower(), 0),
        url.path or "/",
        tuple(sorted(parse_qsl(url.query, keep_blank_values=True))),
    )
    body = _body(request, ignore)
    key = ("bytes", body) if isinstance(body, bytes) else ("json", written(body))
    return Canonical(*parts, body=body, identity=(*parts, *key))


def written(value: Any) -> str:
    """Return JSON in its one canonical spelling."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _body(request: Request, ignore: Sequence[Field]) -> Any:
    data = body_bytes(request.body)
    encoding = header(request.headers, "content-encoding")
    plain = unpacked(data, encoding)
    data = data if plain is None else plain
    kind = header(request.headers, "content-type")
    if data.lstrip()[:1] in (b"{", b"[") or (data and "json" in kind.lower()):
        try:
            return without(_normal(json.loads(data), DEPTH), ignore)
        except (ValueError, RecursionError):  # not JSON, whatever it calls itself
            return data
    return without_boundary(data, kind)


def _normal(value: Any, depth: int) -> Any:
    """Return JSON with whole floats as integers."""
    if depth == 0:
        raise RecursionError("nested too deep to compare by fields")
    if isinstance(value, dict):
        return {key: _normal(row, depth - 1) for key, row in value.items()}
    if isinstance(value, list):
        return [_normal(row, depth - 1) for row in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < WHOLE:
        return int(value)
    return value
