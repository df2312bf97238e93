"""SWE-agent's trajectories (``.traj``): thought and action as text, or as tool calls.

The messages are those of ``history``, with the keys that SWE-agent sends to the model. Where a file
holds several attempts or several agents, each is a run of its own: an agent is sent only its own
part of the history. ``trajectory`` repeats the steps with their raw observations; a step that is
not in the history was an answer SWE-agent could not use and asked for again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.messages import content_text
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.readers.checked import name, objects
from pytest_ctxguard.transcript.reading import Note, Reader, Reading, count
from pytest_ctxguard.transcript.shape import wrong_with_message
from pytest_ctxguard.transcript.wire.typed import mapping

Item = Mapping[str, Any]

TAKEN = ("agent", "is_demo")  # what becomes runs, and provenance
SENT = ("role", "content", "tool_calls", "tool_call_ids", "thinking_blocks", "cache_control")
KEYS = ("history", "trajectory", "info", "environment", "attempts")
FACTS = ("exit_status", "model_stats", "swe_agent_version", "swe_agent_hash")


def recognises(document: Document) -> bool:
    """Tell by a history beside a trajectory, in the file or in its attempts."""
    value = mapping(document.value)
    attempts = value.get("attempts")
    return _is_one(value) or (isinstance(attempts, list) and any(map(_is_one, attempts)))


def read(document: Document) -> Reading:
    """Read every attempt and every agent."""
    value = mapping(document.json)
    attempts = value.get("attempts")
    runs: list[Transcript] = []
    notes: list[Note] = []
    passed_over: dict[str, int] = {}
    if attempts is None:
        _read_one(document, value, where="", runs=runs, notes=notes, passed_over=passed_over)
    else:
        for index, attempt in enumerate(objects(document, attempts, where="attempts")):
            where = f"attempts[{index}]."
            _read_one(
                document, attempt, where=where, runs=runs, notes=notes, passed_over=passed_over
            )
        if "history" in value:
            count(passed_over, "copy of the chosen attempt")
    return Reading(
        format=READER.name, runs=tuple(runs), passed_over=passed_over, notes=tuple(notes)
    )


READER = Reader(name="swe-agent", recognises=recognises, read=read)


def _is_one(value: Any) -> bool:
    return isinstance(value, dict) and "history" in value and "trajectory" in value


def _read_one(
    document: Document,
    value: Item,
    *,
    where: str,
    runs: list[Transcript],
    notes: list[Note],
    passed_over: dict[str, int],
) -> None:
    history = objects(document, value.get("history"), where=f"{where}history")
    steps = objects(document, value.get("trajectory"), where=f"{where}trajectory")
    agents, model = _agents(history), _model(value)
    stem = document.path.stem or "transcript"
    many = len(agents) > 1 or bool(where)
    for agent in agents:
        builder = Builder(document, name=f"{stem}-{len(runs)}" if many else stem)
        demonstrations = []
        for index, item in enumerate(history):
            if _agent(item, agents) != agent:
                continue
            message = _message(document, item, where=f"{where}history[{index}]")
            call = {"model": model} if model and message["role"] == "assistant" else None
            at = builder.add(message, where=f"{where}history[{index}]", call=call)
            if item.get("is_demo"):
                demonstrations.append(at)
            for key in item:
                if key not in (*SENT, *TAKEN):
                    count(passed_over, f"history.{key}")
        provenance = {key: mapping(value.get("info")).get(key) for key in FACTS}
        transcript = builder.build(
            agent=agent,
            environment=name(value.get("environment")),
            demonstrations=demonstrations or None,
            **provenance,
        )
        runs.append(transcript)
        notes += builder.notes
    for key in mapping(value.get("info")):
        if key not in FACTS:
            count(passed_over, f"info.{key}")
    for key in value:
        if key not in KEYS:
            count(passed_over, key)
    _note_steps(steps, history, notes, passed_over)


def _agents(history: Sequence[Item]) -> tuple[str | None, ...]:
    """Return the agents that have more than demonstrations in a history, in order."""
    own = [name(item.get("agent")) for item in history if not item.get("is_demo")]
    named = tuple(dict.fromkeys(agent for agent in own if agent is not None))
    return named or (None,)


def _agent(item: Item, agents: tuple[str | None, ...]) -> str | None:
    agent = name(item.get("agent"))
    return agent if agent in agents else agents[0]


def _message(document: Document, item: Item, *, where: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": item.get("role"), "content": item.get("content")}
    if item.get("tool_calls"):
        message["tool_calls"] = item["tool_calls"]
    if item.get("role") == "tool":
        ids = item.get("tool_call_ids")
        if not isinstance(ids, list) or len(ids) != 1 or not isinstance(ids[0], str):
            raise document.fail(
                f"`{where}.tool_call_ids` must be a list with the id of the one call that this "
                "result answers. Mend it."
            )
        message["tool_call_id"] = ids[0]
    for key in ("thinking_blocks", "cache_control"):
        if item.get(key):
            message[key] = item[key]
    return message


def _model(value: Item) -> str | None:
    config = value.get("replay_config")
    if isinstance(config, str):  # newer files keep it as JSON text
        try:
            config = json.loads(config)
        except (ValueError, RecursionError):
            return None
    agent = mapping(mapping(config).get("agent"))
    return name(mapping(agent.get("model")).get("name"))


def _note_steps(
    steps: Sequence[Item],
    history: Sequence[Item],
    notes: list[Note],
    passed_over: dict[str, int],
) -> None:
    answers = Counter(_said(item) for item in history if item.get("role") == "assistant")
    kept = Counter(("assistant", str(step.get("response") or "")) for step in steps)
    missing = (kept - answers).total()
    queries = [step["query"] for step in steps if step.get("query") not in (None, [], [{}])]
    cut = sum(not _is_sent(query, history) for query in queries)
    if missing:
        passed_over["trajectory step that is not in the history"] = missing
        what = "step is" if missing == 1 else "steps are"
        notes.append(
            Note(
                f"{missing} {what} in `trajectory` and not in `history`: answers that could not be "
                "used and were asked for again, or the end of a run that broke off"
            )
        )
    if cut:
        notes.append(
            Note(
                f"{cut} of {len(queries)} requests were other than the history before them: a "
                "history processor shortened them, or they follow an answer that was not kept"
            )
        )


def _is_sent(query: Any, history: Sequence[Item]) -> bool:
    """Tell whether a request was the first messages of the history, as they stand."""
    if not isinstance(query, list):
        return False
    agents = {name(mapping(item).get("agent")) for item in query}
    own = [item for item in history if name(item.get("agent")) in agents]
    return [_said(item) for item in query] == [_said(item) for item in own[: len(query)]]


def _said(item: Any) -> tuple[str, str]:
    if wrong_with_message(item):
        return "", ""
    return item["role"], content_text(item)
