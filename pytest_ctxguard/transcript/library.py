"""Find transcripts by name: the user's folders first, then the built-in ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.loading import choose, read, read_transcript
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.reading import Reader

SUFFIXES = (".jsonl", ".json", ".yaml", ".yml", ".traj")  # of recordings in a folder
NO_RECORDING = ".ctxguard.json"  # a baseline


def builtin_folder() -> Path:
    """Return the folder of the built-in transcripts.

    A wheel carries it inside the package; a checkout (also an editable install) has it at
    ``fixtures/transcripts``, beside the package.
    """
    package = Path(__file__).resolve().parent
    inside = package / "builtin"
    return inside if inside.is_dir() else package.parent.parent / "fixtures" / "transcripts"


def available(folders: Iterable[Path] = ()) -> dict[str, Path]:
    """Return transcript name -> file; an earlier folder hides the same name in a later one.

    A name is the file's, without its suffix unless another file there would have the same.
    """
    found: dict[str, Path] = {}
    for folder in (*folders, builtin_folder()):
        here: dict[str, Path] = {}
        for path in sorted(folder.iterdir() if folder.is_dir() else ()):
            if path.is_file() and path.suffix in SUFFIXES and not path.name.endswith(NO_RECORDING):
                here[path.name if path.stem in here else path.stem] = path
        found = {**here, **found}
    return found


def find(
    name: str | Path, *, folders: Sequence[Path] = (), readers: Sequence[Reader] = ()
) -> Transcript:
    """Return a transcript by name, or by path when it has the suffix of a file.

    ``name#2`` is the third of a file's runs.

    Args:
        name: name or path.
        folders: where names are looked for, before the built-in transcripts.
        readers: readers of further formats.

    Raises:
        UsageError: there is none of that name, or it has several runs and none is named; the
            message lists those there are.
        TranscriptError: the file cannot be read whole.
    """
    path, run = _located(name, folders)
    return read_transcript(path, run=run, readers=readers)


def find_runs(
    name: str | Path, *, folders: Sequence[Path] = (), readers: Sequence[Reader] = ()
) -> tuple[Transcript, ...]:
    """Return all runs of a file, by name or path; ``name#2`` is the third of them alone.

    Raises:
        UsageError: there is none of that name, or no such run.
        TranscriptError: the file cannot be read whole.
    """
    path, run = _located(name, folders)
    reading = read(path, readers=readers)
    return reading.runs if run is None else (choose(reading, run, path=path),)


def _located(name: str | Path, folders: Sequence[Path]) -> tuple[Path, int | None]:
    """Return the file and the run that a name means."""
    place, run = _split(str(name))
    if isinstance(name, Path) or Path(place).suffix in (*SUFFIXES, ".md"):
        return Path(place), run
    known = available(folders)
    if place not in known:
        listed = ", ".join(sorted(known)) or "none"
        raise UsageError(
            f"no transcript named {place!r}; there are: {listed}. "
            "Name more folders in ini `ctxguard_transcripts`, or give a path."
        )
    return known[place], run


def _split(name: str) -> tuple[str, int | None]:
    """Split ``name#run``."""
    place, mark, run = name.rpartition("#")
    return (place, int(run)) if mark and run.isdecimal() else (name, None)


def matching(patterns: Iterable[str], *, folders: Sequence[Path] = ()) -> tuple[str, ...]:
    """Return the names that match any of the shell-style patterns, sorted.

    Raises:
        UsageError: a pattern matches nothing.
    """
    known = sorted(available(folders))
    names: set[str] = set()
    for pattern in patterns:
        matched = [name for name in known if fnmatchcase(name, pattern)]
        if not matched:
            raise UsageError(f"no transcript matches {pattern!r}; there are: {', '.join(known)}")
        names.update(matched)
    return tuple(sorted(names))
