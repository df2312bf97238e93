"""Cassette files: read safely, checked for secrets, written whole, by one process at a time."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ctxguard.cache import cache_folder, write_atomically
from pytest_ctxguard.errors import InputError, UsageError

if TYPE_CHECKING:
    from pytest_ctxguard.recording.cassette import Interaction
    from pytest_ctxguard.recording.secrets import Secrets

SIZE_LIMIT = 512 * 2**20  # bytes
OURS = "ctxguard"  # our key in vcrpy's metadata


def load(path: Path) -> tuple[list[tuple[Any, dict[str, Any]]], Mapping[str, Any]]:
    """Read the requests and responses of a cassette, and what was noted when it was recorded.

    Raises:
        InputError: the file is no cassette that vcrpy reads.
    """
    import yaml
    from vcr.serialize import deserialize
    from vcr.serializers import yamlserializer

    try:
        if path.stat().st_size > SIZE_LIMIT:
            raise InputError("larger than 512 MiB. Record it in parts.", path=path)
        text = path.read_text("utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8. Record it again.", path=path) from error
    try:
        found = deserialize(text, yamlserializer)
    except yaml.MarkedYAMLError as error:
        lines = len(text.splitlines())  # what breaks off is found on the line after the last
        line = min(error.problem_mark.line + 1, lines) if error.problem_mark else None
        what = f"not YAML ({error.problem}). Mend it, or record it again."
        raise InputError(what, path=path, line=line) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError("not YAML. Mend it, or record it again.", path=path) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"no cassette of vcrpy, version 1 ({type(error).__name__}: {error})."
        raise InputError(f"{what} Record it again.", path=path) from error
    requests, responses, *metadata = found
    if not all(map(_is_response, responses)):
        what = "a response in it has no status, headers or body. Record it again."
        raise InputError(what, path=path)
    noted = metadata[0].get(OURS) if metadata and isinstance(metadata[0], dict) else None
    pairs = list(zip(requests, responses, strict=True))
    return pairs, noted if isinstance(noted, dict) else {}


def _is_response(response: object) -> bool:
    if not isinstance(response, dict):
        return False
    return all(isinstance(response.get(key), dict) for key in ("status", "headers", "body"))


def rendered(interactions: Sequence[Interaction], note: Mapping[str, Any]) -> bytes:
    """Return a cassette's bytes."""
    from vcr.serialize import serialize
    from vcr.serializers import yamlserializer

    rows = {
        "requests": [copy.deepcopy(each.request) for each in interactions],
        "responses": [copy.deepcopy(each.response) for each in interactions],  # written into
    }
    metadata = {"metadata": {OURS: dict(note)}} if note else {}
    text: str = serialize({**rows, **metadata}, yamlserializer)
    return text.encode()


def save(path: Path, data: bytes, *, secrets: Secrets) -> None:
    """Write a cassette, whole or not at all.

    Raises:
        SecretFound: a known secret is still in the bytes; the file stays as it was.
    """
    secrets.check(data, path=path)
    write_atomically(path, lambda temporary: temporary.write_bytes(data))


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Keep every other process from recording a cassette.

    Raises:
        UsageError: another one is recording it at this moment.
    """
    from filelock import FileLock, Timeout

    name = hashlib.sha256(str(path).encode()).hexdigest()[:32]
    folder = cache_folder() / "recording"  # beside the cassette, the lock would be committed
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{name}.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise UsageError(
            f"{path} is being recorded by another process at this moment. Let each test record "
            "a cassette of its own, or wait for the other run."
        ) from None
    try:
        yield
    finally:
        lock.release()
