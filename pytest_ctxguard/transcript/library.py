"""Find transcripts by name: the user's folders first, then the built-in ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.jsonl import load
from pytest_ctxguard.transcript.model import Transcript

SUFFIX = ".jsonl"


def builtin_folder() -> Path:
    """Return the folder of the built-in transcripts.

    A wheel carries it inside the package; a checkout (also an editable install) has it at
    ``fixtures/transcripts``, beside the package.
    """
    package = Path(__file__).resolve().parent
    inside = package / "builtin"
    return inside if inside.is_dir() else package.parent.parent / "fixtures" / "transcripts"


def available(folders: Iterable[Path] = ()) -> dict[str, Path]:
    """Return transcript name -> file; an earlier folder hides the same name in a later one."""
    found: dict[str, Path] = {}
    for folder in (*folders, builtin_folder()):
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            found.setdefault(path.stem, path)
    return found


def find(name: str | Path, *, folders: Sequence[Path] = ()) -> Transcript:
    """Return a transcript by name, or by path when it has the ``.jsonl`` suffix.

    Raises:
        UsageError: there is none of that name; the message lists those there are.
        TranscriptError: the file cannot be read whole.
    """
    if str(name).endswith(SUFFIX):
        return load(name)
    known = available(folders)
    if str(name) not in known:
        listed = ", ".join(sorted(known)) or "none"
        raise UsageError(
            f"no transcript named {str(name)!r}; there are: {listed}. "
            "Name more folders in ini `ctxguard_transcripts`, or give a path."
        )
    return load(known[str(name)])


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
