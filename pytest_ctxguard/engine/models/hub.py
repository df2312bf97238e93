"""Fetch a model from a hub, through its own client ``huggingface_hub``, an optional extra.

The client brings the endpoint, the user's token, proxies and offline mode. A revision is resolved
to a commit once; the entry then keeps to that commit. What arrives is compared with the hashes the
hub states: sha256 for large files, git's blob hash for small ones.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ctxguard.engine.models.disk import BLOCK
from pytest_ctxguard.engine.models.hub_name import HubName
from pytest_ctxguard.errors import FetchError, ModelCorrupt, ModelError

INSTALL = "pip install 'pytest-ctxguard[hub]'"
TIMEOUT = 30.0  # seconds without a byte before a connection counts as cut
TRIES = 4  # connections in a row that may bring nothing
PAUSE = 0.5  # seconds before the next one
PARTIAL = ".partial"


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file in a repository, as the hub describes it.

    Attributes:
        name: its path in the repository.
        size: in bytes.
        sha256: hexadecimal digest of a large file, else empty.
        blob: git's hash of a small file.
    """

    name: str
    size: int
    sha256: str
    blob: str

    def matches(self, path: Path) -> bool:
        """Whether a file on disk has these bytes."""
        if path.stat().st_size != self.size:
            return False
        if self.sha256:
            digest = hashlib.sha256()
        else:  # git's own choice of hash
            digest = hashlib.sha1(b"blob %d\0" % self.size, usedforsecurity=False)
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
        return digest.hexdigest() == (self.sha256 or self.blob)


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository at one commit.

    Attributes:
        name: how the user named it.
        commit: what the revision stood for when it was asked.
        licence: as its card states it.
        files: all its files.
    """

    name: HubName
    commit: str
    licence: str
    files: tuple[RemoteFile, ...]


def describe(name: HubName) -> Repository:
    """Ask the hub for a repository's commit and files.

    Raises:
        FetchError: the hub cannot be reached, or refuses.
        ModelError: the client is not installed, or the answer cannot be used.
    """
    client = _client()
    try:
        info = client.HfApi(endpoint=_endpoint()).model_info(
            name.repo, revision=name.revision or None, files_metadata=True, timeout=TIMEOUT
        )
        files = tuple(_remote_file(each) for each in info.siblings or ())
    except Exception as error:  # the client's own classes share no public base
        raise _explain(client, error, name) from error
    if not info.sha:
        raise ModelError(f"{name}: the hub names no commit for it. Check HF_ENDPOINT.")
    card = info.card_data.to_dict() if info.card_data else {}
    return Repository(name, info.sha, str(card.get("license") or "not stated"), files)


def download(
    file: RemoteFile, target: Path, *, name: HubName, commit: str, advance: Callable[[int], None]
) -> None:
    """Download one file; what came before a cut is kept beside it, and continued.

    Args:
        file: what to get.
        target: it appears whole and verified, or not at all.
        name: of the repository.
        commit: which state of it.
        advance: told how many bytes of this file are here.

    Raises:
        FetchError: the hub cannot be reached, or refuses.
        ModelCorrupt: the bytes are not the ones the hub states; they are deleted.
    """
    client = _client()
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + PARTIAL)
    url = client.hf_hub_url(name.repo, file.name, revision=commit, endpoint=_endpoint())
    try:
        _receive(client, file, partial, url=url, advance=advance)
    except Exception as error:  # the client's own classes share no public base
        raise _explain(client, error, name) from error
    if not file.matches(partial):
        partial.unlink()
        kind, stated = ("sha256", file.sha256) if file.sha256 else ("git blob", file.blob)
        raise ModelCorrupt(
            f"{name}: {file.name} is not what the hub states ({kind} {stated}, {file.size:,} "
            "bytes). What came was deleted; fetch again, and check the proxy or HF_ENDPOINT."
        )
    partial.replace(target)


def _receive(
    client: Any, file: RemoteFile, partial: Path, *, url: str, advance: Callable[[int], None]
) -> None:
    """Fill the partial file up to the stated size, over as many connections as it takes."""
    session = client.get_session()
    cut = importlib.import_module(type(session).__module__.partition(".")[0]).TransportError
    failures = 0
    while not partial.exists() or _length(partial) < file.size:
        have = _length(partial)
        try:
            _receive_once(client, session, partial, url=url, advance=advance)
        except cut:
            failures = 0 if _length(partial) > have else failures + 1
            if failures == TRIES:
                raise
            time.sleep(PAUSE)
        else:
            return  # whatever came, its hash is compared next


def _receive_once(
    client: Any, session: Any, partial: Path, *, url: str, advance: Callable[[int], None]
) -> None:
    have = _length(partial)
    headers = {**client.utils.build_hf_headers(), "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with session.stream("GET", url, headers=headers, timeout=TIMEOUT) as response:
        if response.is_error:
            response.read()
        client.utils.hf_raise_for_status(response)
        continued = response.status_code == 206
        done = have if continued else 0
        with partial.open("ab" if continued else "wb") as output:
            for block in response.iter_bytes():  # as they come, so that a cut loses none
                output.write(block)
                done += len(block)
                advance(done)


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _remote_file(sibling: Any) -> RemoteFile:
    large = sibling.lfs
    return RemoteFile(
        name=sibling.rfilename,
        size=int(large["size"] if large else sibling.size),
        sha256=large["sha256"] if large else "",
        blob=sibling.blob_id or "",
    )


def _client() -> Any:
    """Import the client; it is Any because the extra may be absent."""
    try:
        return importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise ModelError(
            f"fetching from a hub needs the package huggingface_hub ({error}). Install it: "
            f"{INSTALL}"
        ) from error


def _endpoint() -> str | None:
    """Return the user's endpoint as it is now; the client reads it when it is imported."""
    return os.environ.get("HF_ENDPOINT") or None


def _explain(client: Any, error: Exception, name: HubName) -> FetchError:
    """Turn an error of the client into ours, with its remedy."""
    kinds, host = client.errors, _endpoint() or client.constants.ENDPOINT
    if isinstance(error, kinds.GatedRepoError):
        text = (
            f"{host} gives {name.repo} only to those who accepted its terms. Accept them on its "
            "page, then log in: `hf auth login`, or HF_TOKEN"
        )
    elif isinstance(error, kinds.RevisionNotFoundError):
        text = f"{name.repo} has no revision {name.revision!r} at {host}. Name a branch or commit"
    elif isinstance(error, kinds.RepositoryNotFoundError):
        text = (
            f"{host} shows no repository {name.repo}: it does not exist, or it is private. Check "
            "the spelling, or log in: `hf auth login`, or HF_TOKEN"
        )
    elif isinstance(error, kinds.OfflineModeIsEnabled):
        text = "HF_HUB_OFFLINE forbids to ask the hub. Unset it once to fetch the model"
    else:
        what = str(error).strip().splitlines()[0] if str(error).strip() else "no further word"
        text = (
            f"{host} did not give {name} whole ({type(error).__name__}: {what}). Check the "
            "network, the proxy and HF_ENDPOINT, then fetch again; what came is kept"
        )
    return FetchError(f"{text}.")
