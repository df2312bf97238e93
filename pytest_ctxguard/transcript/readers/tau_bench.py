"""tau-bench's results: a list of runs, each with its messages in OpenAI's format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.readers.checked import objects
from pytest_ctxguard.transcript.reading import Note, Reader, Reading, count
from pytest_ctxguard.transcript.wire.typed import mapping

FACTS = ("task_id", "trial", "reward")
ALSO = ("source", "user_cost", "error")  # of ``info``


def recognises(document: Document) -> bool:
    """Tell by a task with its trajectory, in the first of a list."""
    value = document.value
    one = mapping(value[0]) if isinstance(value, list) and value else {}
    return "task_id" in one and "traj" in one


def read(document: Document) -> Reading:
    """Read every result that has messages."""
    results = objects(document, document.json, where="results")
    runs: list[Transcript] = []
    notes: list[Note] = []
    passed_over: dict[str, int] = {}
    for index, result in enumerate(results):
        messages = objects(document, result.get("traj"), where=f"results[{index}].traj")
        for key in result:
            if key not in (*FACTS, "traj", "info"):
                count(passed_over, key)
        info = mapping(result.get("info"))
        for key in info:
            if key not in ALSO:
                count(passed_over, f"info.{key}")
        if not messages:
            count(passed_over, "result without messages")
            notes.append(Note(_empty(index, result, info)))
            continue
        builder = Builder(document, name=f"{document.path.stem or 'transcript'}-{index}")
        for position, message in enumerate(messages):
            builder.add(message, where=f"results[{index}].traj[{position}]")
        facts = {key: result.get(key) for key in FACTS} | {key: info.get(key) for key in ALSO}
        runs.append(builder.build(result=index, **facts))
        notes += builder.notes
    if not runs:
        raise document.fail("no result has messages; nothing could be replayed")
    return Reading(
        format=READER.name, runs=tuple(runs), passed_over=passed_over, notes=tuple(notes)
    )


READER = Reader(name="tau-bench", recognises=recognises, read=read)


def _empty(index: int, result: Mapping[str, Any], info: Mapping[str, Any]) -> str:
    error = info.get("error")
    why = f": {str(error)[:200]}" if error else ""
    return (
        f"result {index} (task {result.get('task_id')}, trial {result.get('trial')}) has no "
        f"messages{why}; it is not among the runs"
    )
