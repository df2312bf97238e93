"""Ask a model for its next step: in long tasks with room left, and at each turn of a session.

``python benchmarks/next_steps.py``: whether it goes on with a reading task at a quarter of
its budget, with and without the notice that old results are cleared for it (report A4); and how
often it calls a tool that does not exist, under full history.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pytest_ctxguard.engine.open import open_backend
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.recall.asking import Asker
from pytest_ctxguard.recall.behaviour import Steps, early_stop, tool_choice
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.library import find

TRANSCRIPT = "incident-40"


def row(steps: Steps) -> dict[str, Any]:
    """Return the counts of one condition, with the interval of those that go on."""
    interval = {name: round(end, 4) for name, end in asdict(steps.interval).items()}
    return {
        "of": steps.of,
        "goes_on": steps.goes_on,
        **interval,
        "outcomes": dict(steps.outcomes),
        "unknown_tools": dict(steps.unknown_tools),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=24)
    parser.add_argument("--budget", type=int, default=4000)
    options = parser.parse_args(arguments)
    encoder = RequestEncoder()
    asker = Asker(open_backend(encoder=encoder, fetch=True))
    stop = early_stop(asker, counter=encoder, draws=options.draws, budget=options.budget)
    replay = run(Plan(transcript=find(TRANSCRIPT), policy=full_history, counter=encoder))
    report = {
        "budget": options.budget,
        "without": row(stop.without),
        "noticed": row(stop.noticed),
        "p": round(stop.p, 4),
        "transcript": TRANSCRIPT,
        "tool_choice": row(tool_choice(asker, replay)),
        "spent": asdict(asker.spent),
    }
    sys.stdout.write(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
