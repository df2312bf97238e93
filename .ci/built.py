"""Look at what was built: ``python .ci/built.py DIST DIRECT``.

DIST holds the sdist and the wheel that was built from it, DIRECT the wheel that was built from the
checkout. Both wheels must have the same files, byte for byte, and nothing that does not belong
into them; the sdist must have what testing and releasing need.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pytest_ctxguard"
IN_SDIST = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "action.yml",
    "docs/README.md",
    "examples/test_incident.py",
    "fixtures/transcripts/incident-40.jsonl",
    "noxfile.py",
    "pyproject.toml",
    "tests/conftest.py",
)
IN_DIST_INFO = ("METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE")


def main(dist: Path, direct: Path) -> None:
    """Compare, and exit with what is wrong."""
    [sdist], [wheel], [other] = dist.glob("*.tar.gz"), dist.glob("*.whl"), direct.glob("*.whl")
    files, twin = of_wheel(wheel), of_wheel(other)
    problems = [f"only in one wheel: {name}" for name in sorted(files.keys() ^ twin.keys())]
    problems += [
        f"not alike: {name}"
        for name in sorted(files.keys() & twin.keys())
        if files[name] != twin[name] and not name.endswith("/RECORD")
    ]
    info = next(name.partition("/")[0] for name in files if ".dist-info/" in name)
    foreign = [name for name in files if not name.startswith((f"{PACKAGE.name}/", f"{info}/"))]
    problems += [f"does not belong into the wheel: {name}" for name in foreign]
    wanted = {f"{PACKAGE.name}/{name}" for name in of_package()}
    wanted |= {f"{PACKAGE.name}/transcript/builtin/{name}" for name in of_transcripts()}
    wanted |= {f"{info}/{name}" for name in IN_DIST_INFO}
    problems += [f"not in the wheel: {name}" for name in sorted(wanted - files.keys())]
    problems += [f"not in the sdist: {name}" for name in IN_SDIST if name not in of_sdist(sdist)]
    if problems:
        sys.exit("\n".join(problems))
    sys.stdout.write(f"{len(files)} files in both wheels, {len(of_sdist(sdist))} in the sdist\n")


def of_wheel(path: Path) -> dict[str, bytes]:
    """Return name -> bytes."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def of_sdist(path: Path) -> set[str]:
    """Return the names in it, without its folder."""
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def of_package() -> set[str]:
    """Return the files of the package, ``py.typed`` and data files among them."""
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def of_transcripts() -> set[str]:
    """Return the names of the built-in transcripts."""
    return {path.name for path in (ROOT / "fixtures" / "transcripts").iterdir() if path.is_file()}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
