"""The baseline as a git ref has it. Git is run here only, and only when asked."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from pytest_ctxguard.baseline.file import parse, read
from pytest_ctxguard.baseline.values import Baseline
from pytest_ctxguard.errors import UsageError

REF = re.compile(r"[\w.@{}~^/+-]+")
SECONDS = 60
OF_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
"""What git tells the hooks it runs: of the repository it was called for, in relative paths."""


def at_ref(path: Path, *, ref: str) -> Baseline:
    """Return a baseline file as a commit has it; one that is not in it is empty.

    Args:
        path: where the file stands, or would; its folder, or one above, is in the repository.
        ref: a branch, tag or commit.

    Raises:
        UsageError: git is not installed, the folder is in no repository, or there is no such
            commit.
        BaselineError: the file in that commit is not a baseline.
    """
    folder = _folder(path)
    commit = resolve(ref, folder=folder)
    top = _top(folder, ref=ref)
    name = path.resolve().relative_to(top.resolve()).as_posix()
    if not _git(folder, "ls-tree", "-z", "--full-tree", commit, "--", name, ref=ref):
        return Baseline(path)
    data = _git(folder, "cat-file", "blob", f"{commit}:{name}", ref=ref)
    read = parse(data, path=Path(f"{ref}:{name}"))
    return Baseline(path, read.entries)


def baseline_of(path: Path, *, compare: str) -> Baseline:
    """Return what a run is judged against: a baseline file, or where a ref is named, that ref's.

    Raises:
        BaselineError: it is no baseline.
        UsageError: git does not give it.
    """
    return at_ref(path, ref=compare) if compare else read(path)


def resolve(ref: str, *, folder: Path) -> str:
    """Return the full id of a ref's commit.

    Raises:
        UsageError: it is none, or there is no repository.
    """
    if not REF.fullmatch(ref) or ref.startswith("-"):
        raise UsageError(
            f"--ctxguard-compare {ref!r} is no name of a commit: give a branch, a tag or a commit"
        )
    _top(folder, ref=ref)
    asked = ("rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}")
    hint = (
        ". In a shallow clone fetch it first, and name the remote's: "
        "git fetch --depth=1 origin BRANCH:refs/remotes/origin/BRANCH, then "
        "--ctxguard-compare=origin/BRANCH"
    )
    return _git(folder, *asked, ref=ref, hint=hint).decode().split()[-1]


def _top(folder: Path, *, ref: str) -> Path:
    """Return the folder of the repository's files."""
    told = _git(folder, "rev-parse", "--show-toplevel", ref=ref)
    return Path(os.fsdecode(told.removesuffix(b"\n")))


def _folder(path: Path) -> Path:
    """Return the closest folder that exists."""
    return next(folder for folder in path.resolve().parents if folder.is_dir())


def _git(folder: Path, *arguments: str, ref: str, hint: str = "") -> bytes:
    """Run git in a folder and return what it prints; nothing is read from the terminal.

    Args:
        folder: it is in the repository.
        arguments: git's.
        ref: for errors.
        hint: for the error of a git that refuses.
    """
    known = {name: text for name, text in os.environ.items() if name not in OF_A_HOOK}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],  # noqa: S607  # the user's own git, from PATH
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env={**known, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise UsageError(
            f"--ctxguard-compare {ref}: git is not installed, and the baseline of {ref} is read "
            "from it"
        ) from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"--ctxguard-compare {ref}: git did not answer in {SECONDS} s") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        last = said[-1] if said else f"exit status {done.returncode}"
        raise UsageError(f"--ctxguard-compare {ref}: git in {folder} says: {last}{hint}")
    return done.stdout
