"""The parent's side of the engines: start each in its own process, ask, and end it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from benchmarks.worker import Settings

ROOT = Path(__file__).resolve().parents[1]
ENGINES: Mapping[str, tuple[str, str]] = {
    "ours": ("ours", ""),
    "llama_cpp": ("llama_cpp", ""),
    "llama_cpp_no_repack": ("llama_cpp", "no_repack"),
    "llama_cpp_flash": ("llama_cpp", "flash"),
    "torch_bf16": ("torch_bf16", ""),
    "openvino": ("openvino", ""),
    "openvino_batched": ("openvino", "batched"),
}
"""Name in the reports -> module in ``peers`` and its variant."""
SETTLE = 0.3
"""Seconds before each request: the threads of the engine asked before may still spin."""
LAST_LINES = 15


class EngineDied(Exception):
    """An engine's process ended or answered nothing; carries its last words."""


class EngineAbsent(Exception):
    """The engine's library is not installed in its interpreter."""


@dataclass(slots=True)
class Engine:
    """One engine, loaded in its own process."""

    name: str
    process: subprocess.Popen[str]
    log: IO[str]
    hello: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def start(cls, name: str, *, python: str, settings: Settings) -> Engine:
        """Prepare the weights' form in a first process, then load in a second.

        Raises:
            EngineAbsent: its library is not there.
            EngineDied: it could not be loaded.
        """
        module, variant = ENGINES[name]
        chosen = replace(settings, module=module, variant=variant)
        first = cls._spawn(name, python, chosen, "--prepare")
        first.close()
        return cls._spawn(name, python, replace(chosen, weights=first.hello["weights"]))

    @classmethod
    def _spawn(cls, name: str, python: str, settings: Settings, *arguments: str) -> Engine:
        log = tempfile.TemporaryFile("w+", prefix=f"bench-{name}-", encoding="utf-8")  # noqa: SIM115  closed with the engine
        process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", json.dumps(asdict(settings)), *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
        )
        engine = cls(name, process, log)
        try:
            engine.hello = engine._read()
            if "absent" in engine.hello:
                raise EngineAbsent(engine.hello["absent"])
        except BaseException:
            engine.close()
            raise
        return engine

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send one request and wait for its answer; raises EngineDied."""
        time.sleep(SETTLE)
        if self.process.stdin is None:
            raise EngineDied(f"{self.name}: its input is closed")
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise EngineDied(f"{self.name}: {self._last_words()}") from None
        return self._read()

    def close(self) -> None:
        """End the process by closing its input; kill it if it lingers."""
        if self.process.stdin:
            self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        self.log.close()

    def _read(self) -> dict[str, Any]:
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            self.process.wait()
            raise EngineDied(f"{self.name}: {self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        self.log.seek(0)
        lines = self.log.read().strip().splitlines()[-LAST_LINES:]
        return f"exit status {self.process.poll()}\n" + "\n".join(lines)


@contextmanager
def running(
    names: Iterable[str], *, pythons: Mapping[str, str], settings: Settings
) -> Iterator[tuple[dict[str, Engine], dict[str, str]]]:
    """Start engines one after the other; yields those that run, and why others do not."""
    engines: dict[str, Engine] = {}
    skipped: dict[str, str] = {}
    try:
        for name in names:
            say(f"loading {name}")
            python = pythons.get(name, pythons.get(ENGINES[name][0], sys.executable))
            try:
                engines[name] = Engine.start(name, python=python, settings=settings)
            except (EngineAbsent, EngineDied, OSError) as error:
                skipped[name] = str(error)
                say(f"skipping {name}: {error}")
        yield engines, skipped
    finally:
        for engine in engines.values():
            engine.close()


def parse_pythons(pairs: Sequence[str]) -> dict[str, str]:
    """Read ``NAME=PATH`` pairs; raises ValueError for an unknown engine."""
    pythons = dict(pair.split("=", 1) for pair in pairs)
    unknown = sorted(set(pythons) - set(ENGINES))
    if unknown:
        raise ValueError(f"no engine is named {unknown[0]!r}; there are: {', '.join(ENGINES)}")
    return pythons


def machine() -> dict[str, Any]:
    """Return the processor, what its kernels can use, and how busy it is."""
    from pytest_ctxguard.engine.numerics import CPU_INFO, kernel_features

    text = CPU_INFO.read_text(errors="replace") if CPU_INFO.exists() else ""
    models = [line.split(":", 1)[1].strip() for line in text.splitlines() if "model name" in line]
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": models[0] if models else platform.processor(),
        "processors": os.cpu_count(),
        "features": kernel_features(text),
        "load_at_start": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def say(text: str) -> None:
    """Print progress, with the time, where it does not mix with the report."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()
