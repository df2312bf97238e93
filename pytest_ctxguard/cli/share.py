"""The process that runs the model for all xdist workers of a run; the plugin starts it.

``python -m pytest_ctxguard.cli.share '{"folder": …}'``. It lives as long as the run's controller,
which holds a file lock that the system takes from it when it ends, however it ends.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from filelock import FileLock

from pytest_ctxguard.cache import write_atomically
from pytest_ctxguard.engine.open import open_backend
from pytest_ctxguard.errors import CtxguardError
from pytest_ctxguard.server.local import LocalServer, Place
from pytest_ctxguard.tokens.request import RequestEncoder

WATCH_SECONDS = 0.2


def main(asked: dict[str, Any]) -> None:
    """Load the model, serve it, and end when the controller does."""
    folder = Path(asked["folder"])
    with FileLock(folder / asked["alive"], timeout=0):
        place = Place(_address(folder), secrets.token_hex(32), os.getpid())
        backend = open_backend(
            asked["model"],
            encoder=RequestEncoder(special_tokens=asked["special_tokens"]),
            fetch=False,
            prefix_cache=asked["prefix_cache"],
        )
        threading.Thread(target=LocalServer(backend, place).serve, daemon=True).start()
        text = json.dumps(asdict(place))
        write_atomically(folder / asked["place"], lambda path: path.write_text(text))
        FileLock(folder / asked["controller"]).acquire(poll_interval=WATCH_SECONDS)
        if not (folder / asked["ended"]).exists():  # it was killed, and has left its folder
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)  # nobody waits for an answer that is still being computed


def _address(folder: Path) -> str:
    if os.name == "nt":
        return rf"\\.\pipe\{folder.name}-{os.getpid()}"
    return str(folder / f"{os.getpid()}.socket")


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]))
    except CtxguardError as error:
        sys.exit(str(error))
