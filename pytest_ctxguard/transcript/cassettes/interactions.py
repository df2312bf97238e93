"""Open a vcrpy cassette: the recorded HTTP requests and responses of a file, as values.

Source of the format: vcrpy's ``serialize.py`` and its YAML and JSON serializers, version 1, which
is every version since 1.0; ``parsed_body`` is pydantic-ai's serializer, ``base64_string`` is
other VCR libraries'.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pytest_ctxguard.transcript.cassettes import json_form
from pytest_ctxguard.transcript.cassettes.bodies import read_body
from pytest_ctxguard.transcript.document import Document

VERSION = 1
HEAD = 2**16  # bytes that are looked at to recognise a cassette
YAML_START = re.compile(
    rb"^(?:\xef\xbb\xbf)?interactions:[ \t]*(?:[\[{]|\r?\n[ \t]*-[ \t]+\w+:|\r?\n?\Z)"
    rb"|(?:\A|^---[ \t]*\r?\n)- request:",  # from before version 1
    re.MULTILINE,
)
JSON_START = re.compile(
    rb'"interactions"\s*:\s*\[\s*(?:\]|\{\s*"(?:request|response|recorded_at)"|$)'
)
AGAIN = "Mend it, or record it again."
KEYS = ("request", "response", "recorded_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """One recorded request with its response.

    Attributes:
        number: its place in the cassette, from 1.
        line: where it begins in the file; ``None`` in JSON that is not indented.
        method: in upper case.
        uri: as recorded.
        status: the response's status code.
        request_headers: names in lower case; several values of one name are joined by commas.
        response_headers: likewise.
        recorded_at: as recorded, where the recorder knew it.
        request: as recorded; :meth:`request_body` reads its body.
        response: as recorded; :meth:`response_body` reads its body.
        unknown: further keys.
    """

    number: int
    line: int | None
    method: str
    uri: str
    status: int
    request_headers: Mapping[str, str]
    response_headers: Mapping[str, str]
    recorded_at: str | None
    request: Mapping[str, Any]
    response: Mapping[str, Any]
    unknown: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The path of the URI, without host and query."""
        return urlsplit(self.uri).path or "/"

    def request_body(self) -> Any:
        """Return the request's body: a JSON value, text, or ``None``; see :func:`read_body`."""
        return read_body(self.request, self.request_headers)

    def response_body(self) -> Any:
        """Return the response's body, likewise."""
        return read_body(self.response, self.response_headers)


def is_cassette(document: Document) -> bool:
    """Tell a cassette by its first key or item, also one that is damaged further down."""
    head = document.data[:HEAD]
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        return JSON_START.search(head) is not None
    return YAML_START.search(head) is not None


def interactions(document: Document) -> tuple[tuple[Interaction, ...], tuple[str, ...]]:
    """Return the interactions of a cassette, in order, and the names of its further keys.

    Raises:
        TranscriptError: it is no cassette of version 1, or is not whole.
    """
    is_json = document.text.lstrip()[:1] in ("{", "[")
    if is_json:
        value, lines = json_form.parse(document)
    else:
        from pytest_ctxguard.transcript.cassettes import (
            yaml_form,  # a YAML parser is dear to import
        )

        value, lines = yaml_form.parse(document)
    if isinstance(value, list):
        raise document.fail(
            "a cassette from before vcrpy 1.0, which had no version. Record it again.", 1
        )
    if not isinstance(value, dict) or not isinstance(value.get("interactions"), list):
        raise document.fail("a cassette needs a list `interactions`. Record it again.")
    items = value["interactions"]
    _check_version(document, value)
    at = lines if len(lines) == len(items) else (None,) * len(items)
    found = tuple(
        _interaction(document, item, number=number, line=line)
        for number, (item, line) in enumerate(zip(items, at, strict=True), 1)
    )
    return found, tuple(key for key in value if key not in ("interactions", "version"))


def _check_version(document: Document, value: Mapping[str, Any]) -> None:
    if "version" not in value:
        last = document.text.rstrip().count("\n") + 1
        raise document.fail(
            "no `version`, with which vcrpy ends a cassette: the file may be truncated. Restore "
            f"it, or record it again; if it is whole, add `version: {VERSION}`.",
            last,
        )
    version = value["version"]
    if version != VERSION or isinstance(version, bool):
        raise document.fail(
            f"cassette version {version!r} is not supported; this release reads {VERSION}. Upgrade "
            "pytest-ctxguard, or record the cassette again."
        )


def _interaction(document: Document, item: Any, *, number: int, line: int | None) -> Interaction:
    where = f"interaction {number}"
    request = _mapping(item, "request")
    response = _mapping(item, "response")
    if request is None or response is None:
        missing = "request" if request is None else "response"
        raise document.fail(
            f"{where} has no `{missing}`. The file may be truncated or edited; record it again.",
            line,
        )
    method, uri = request.get("method"), request.get("uri")
    if not isinstance(method, str) or not isinstance(uri, str):
        raise document.fail(
            f"{where} needs the texts `request.method` and `request.uri`. {AGAIN}", line
        )
    status = response.get("status_code", (_mapping(response, "status") or {}).get("code"))
    if not isinstance(status, int) or isinstance(status, bool):
        raise document.fail(f"{where} needs the number `response.status.code`. {AGAIN}", line)
    try:
        urlsplit(uri)
        headers = [_headers(side.get("headers")) for side in (request, response)]
    except ValueError as error:
        raise document.fail(f"{where}: {error}. {AGAIN}", line) from error
    recorded_at = item.get("recorded_at")
    return Interaction(
        number=number,
        line=line,
        method=method.upper(),
        uri=uri,
        status=status,
        request_headers=headers[0],
        response_headers=headers[1],
        recorded_at=None if recorded_at is None else str(recorded_at),
        request=request,
        response=response,
        unknown=tuple(key for key in item if key not in KEYS),
    )


def _mapping(holder: Any, key: str) -> Mapping[str, Any] | None:
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else None


def _headers(value: Any) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("`headers` must map names to values")
    return {name.lower(): _joined(values) for name, values in value.items()}


def _joined(values: Any) -> str:
    several = values if isinstance(values, list) else [values]
    return ", ".join(v.decode("latin-1") if isinstance(v, bytes) else str(v) for v in several)
