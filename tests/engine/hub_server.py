"""A loopback stand-in of a model hub: what its client asks for a model's files, and no more."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

COMMITS = {"main": "a" * 40, "v1": "b" * 40}
LARGE = 1000  # bytes from which a file counts as one of Git LFS


class Hub:
    """One repository ``org/tiny`` with two revisions of the same files, on a port of its own."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self.sent = dict(files)  # what really goes out; a test may change it
        self.cut_after: dict[str, list[int]] = {}  # bytes after which a connection is dropped
        self.asked: list[tuple[str, str, str]] = []  # path, Range, Authorization
        self.token = ""  # if set, the repository is gated
        self.elsewhere = ""  # if set, where large files are
        self.commits = dict(COMMITS)
        handler = type("Handler", (_Handler,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def downloads(self, name: str) -> list[str]:
        """Return the Range of each download of a file."""
        return [range_ for path, range_, _ in self.asked if path.endswith(f"/{name}")]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def info(self, commit: str) -> dict[str, Any]:
        return {
            "id": "org/tiny",
            "sha": commit,
            "cardData": {"license": "apache-2.0"},
            "siblings": [sibling(name, data) for name, data in self.files.items()],
        }


def sibling(name: str, data: bytes) -> dict[str, Any]:
    """Describe a file as the hub's API does."""
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()  # noqa: S324 - git's own
    entry: dict[str, Any] = {"rfilename": name, "size": len(data), "blobId": blob}
    if len(data) >= LARGE:
        digest = hashlib.sha256(data).hexdigest()
        entry["lfs"] = {"sha256": digest, "size": len(data), "pointerSize": 134}
    return entry


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *args: Any) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        hub, path = self.hub, unquote(self.path.partition("?")[0])
        authorization = self.headers.get("Authorization") or ""
        hub.asked.append((path, self.headers.get("Range") or "", authorization))
        start = f"/{'api/models/' if path.startswith('/api/') else ''}org/tiny"
        if path != start and not path.startswith(f"{start}/"):
            self._refuse(404, "RepoNotFound")
        elif hub.token and authorization != f"Bearer {hub.token}":
            self._refuse(401, "GatedRepo")
        elif path.startswith("/api/"):
            self._info(path.removeprefix(start).removeprefix("/revision/") or "main")
        else:
            commit, _, name = path.removeprefix(f"{start}/resolve/").partition("/")
            self._file(name, commit)

    def _info(self, revision: str) -> None:
        commit = self.hub.commits.get(revision, revision)
        if commit not in self.hub.commits.values():
            self._refuse(404, "RevisionNotFound")
            return
        body = json.dumps(self.hub.info(commit)).encode()
        self._send(200, body, {"Content-Type": "application/json"})

    def _file(self, name: str, commit: str) -> None:
        if commit not in self.hub.commits.values():
            self._refuse(404, "RevisionNotFound")
        elif name not in self.hub.sent:
            self._refuse(404, "EntryNotFound")
        elif self.hub.elsewhere and len(self.hub.sent[name]) >= LARGE:
            self._send(302, b"", {"Location": self.hub.elsewhere + self.path})
        else:
            data = self.hub.sent[name]
            headers = {
                "X-Repo-Commit": commit,
                "ETag": f'"{hashlib.sha256(data).hexdigest()}"',
                "X-Linked-Size": str(len(data)),
                "Accept-Ranges": "bytes",
            }
            first = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").strip("-"))
            if first:
                headers["Content-Range"] = f"bytes {first}-{len(data) - 1}/{len(data)}"
            cuts = self.hub.cut_after.get(name)
            self._send(
                206 if first else 200, data[first:], headers, cut=cuts.pop(0) if cuts else None
            )

    def _refuse(self, status: int, code: str) -> None:
        self._send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": "refused"})

    def _send(
        self, status: int, body: bytes, headers: Mapping[str, str], *, cut: int | None = None
    ) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body[:cut])
        if cut is not None:
            self.close_connection = True
