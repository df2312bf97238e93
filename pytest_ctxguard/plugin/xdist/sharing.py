"""One model for all xdist workers: the first that needs it starts its process, others connect."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pytest_ctxguard.errors import ModelError, ModelLost
from pytest_ctxguard.server.local import Link, Place

CONTROLLER = "controller.lock"  # held by the controller for as long as it lives
ALIVE = "alive.lock"  # held by the process that runs the model
STARTING = "starting.lock"  # held by the worker that looks for that process, or starts it
PLACE, LOG, ENDED = "place.json", "log.txt", "ended"
LAST_SECONDS, LOOK_SECONDS = 20.0, 0.05
SHOWN = 1500  # characters of a log


class Sharing:
    """The controller's part: a folder for the run, and the end of what was started there."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ctxguard-"))  # its owner's alone
        self._lock = FileLock(self.folder / CONTROLLER)
        self._lock.acquire()

    def close(self) -> None:
        """End the process that runs the model, if there is one, and remove the folder."""
        (self.folder / ENDED).touch()
        self._lock.release()
        try:
            with FileLock(self.folder / ALIVE, timeout=LAST_SECONDS):
                pass
        except Timeout:  # it is loading still; once it sees that the run is over, it tidies up
            (self.folder / ENDED).unlink()
            return
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Starter:
    """A worker's part: finds the process that runs the model, or starts it.

    Attributes:
        folder: the run's, as the controller made it.
        settings: what the process is told: ``model``, ``special_tokens``, ``prefix_cache``.
    """

    folder: Path
    settings: Mapping[str, Any]

    def connect(self) -> Link:
        """Return a connection to the one process.

        Raises:
            ModelError: it cannot be started; the message has its last words.
        """
        if not self.folder.is_dir():
            raise ModelError(
                f"{self.folder}, where xdist's controller and its workers meet, is not there. "
                "Workers on another machine need a served model: --ctxguard-endpoint"
            )
        with FileLock(self.folder / STARTING):
            started = None
            while (link := self._connected()) is None:
                if not self.folder.is_dir():
                    raise ModelError("xdist's controller has gone")
                if started is None and not self._alive():
                    started = self._start()
                elif started is not None and started.poll() is not None:
                    raise ModelError(
                        "the process that runs the model for all workers did not come up (exit "
                        f"status {started.returncode}): {self._last_words()}"
                    )
                time.sleep(LOOK_SECONDS)
        if started is not None:  # waits for its end, so that nothing is left of it
            threading.Thread(target=started.wait, daemon=True).start()
        return link

    def _connected(self) -> Link | None:
        try:
            return Link(Place(**json.loads((self.folder / PLACE).read_text())))
        except (FileNotFoundError, ModelLost):
            return None

    def _alive(self) -> bool:
        """Tell whether a process runs the model, or is about to."""
        try:
            with FileLock(self.folder / ALIVE, timeout=0):
                return False
        except Timeout:
            return True

    def _start(self) -> subprocess.Popen[bytes]:
        asked = {
            **self.settings,
            "folder": str(self.folder),
            "alive": ALIVE,
            "controller": CONTROLLER,
            "ended": ENDED,
            "place": PLACE,
        }
        with (self.folder / LOG).open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "pytest_ctxguard.cli.share", json.dumps(asked)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the controller, which ends it
            )

    def _last_words(self) -> str:
        text = (self.folder / LOG).read_text(encoding="utf-8", errors="replace").strip()
        return text[-SHOWN:] or "it wrote nothing"
