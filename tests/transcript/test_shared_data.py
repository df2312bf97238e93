"""Every recorded session we were given is read whole: counts against the raw files.

The raw counts use nothing of the package. The files are third-party and not part of the project.
"""

import json
from collections import Counter
from pathlib import Path

import pytest
import yaml

from pytest_ctxguard.transcript.loading import read
from pytest_ctxguard.transcript.summary import summarise_runs

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "transcripts"
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="third-party recordings: ../shared/data is not here"
)

FORMATS = {
    "claude-code_codemie": "claude-code",
    "claude-code_simonw": "claude-code",
    "claude__small.jsonl": "claude-code",
    "codex__small.jsonl": "codex",
    "joinai_zh": "openai-chat",
    "pi_badlogic": "pi",
    "swe-agent": "swe-agent",
    "tau-bench": "tau-bench",
    "vcr_crewai": "vcrpy",
    "vcr_llm": "vcrpy",
    "vcr_pydantic-ai": "vcrpy",
}


def raw_rows(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def raw_claude(path):
    rows = raw_rows(path) if path.suffix == ".jsonl" else json.loads(path.read_text())["loglines"]
    blocks = [
        block
        for row in rows
        if row["type"] in ("user", "assistant") and isinstance(row["message"]["content"], list)
        for block in row["message"]["content"]
    ]
    kinds = Counter(block["type"] for block in blocks)
    return {"tool_calls": kinds["tool_use"], "tool_results": kinds["tool_result"]}


def raw_codex(path):
    kinds = Counter(r["payload"]["type"] for r in raw_rows(path) if r["type"] == "response_item")
    calls = ("function_call", "custom_tool_call", "tool_search_call")
    outputs = ("function_call_output", "custom_tool_call_output", "tool_search_output")
    return {
        "tool_calls": sum(kinds[kind] for kind in calls),
        "tool_results": sum(kinds[kind] for kind in outputs),
        "compactions": sum(row["type"] == "compacted" for row in raw_rows(path)),
    }


def raw_pi(path):
    messages = [row["message"] for row in raw_rows(path) if row["type"] == "message"]
    roles = Counter(message["role"] for message in messages)
    calls = [
        part["id"]
        for message in messages
        if message["role"] == "assistant"
        for part in message["content"]
        if part["type"] == "toolCall"
    ]
    results = {message["toolCallId"] for message in messages if message["role"] == "toolResult"}
    return {
        "messages": len(messages),
        "calls": roles["assistant"],
        "turns": roles["user"],
        "tool_calls": len(calls),
        "tool_results": roles["toolResult"],
        "unanswered_calls": len(set(calls) - results),
    }


def raw_chat(messages):
    return {
        "messages": len(messages),
        "tool_calls": sum(len(message.get("tool_calls") or ()) for message in messages),
        "tool_results": sum(message["role"] == "tool" for message in messages),
    }


def raw_cassette(path):
    """Count the exchanges, and the ids of calls and results in every request and response."""
    calls, results, exchanges = set(), set(), 0
    for interaction in yaml.safe_load(path.read_text())["interactions"]:
        exchanges += 1
        text = json.dumps(
            interaction["request"].get("parsed_body") or json.loads(interaction["request"]["body"])
        )
        walk(json.loads(text), calls, results)
    return {"calls": exchanges}, calls, results


def walk(value, calls, results):
    if isinstance(value, list):
        for item in value:
            walk(item, calls, results)
    if isinstance(value, dict):
        kind = value.get("type")
        if kind in ("function_call", "tool_use"):
            calls.add(value.get("call_id") or value["id"])
        if kind in ("function_call_output", "tool_result"):
            results.add(value.get("call_id") or value["tool_use_id"])
        if value.get("role") == "tool":
            results.add(value["tool_call_id"])
        calls |= {call["id"] for call in value.get("tool_calls") or ()}
        for item in value.values():
            walk(item, calls, results)


def raw(path):
    match path.parent.name.partition("_")[0]:
        case "swe-agent":
            return raw_chat(json.loads(path.read_text())["history"])
        case "tau-bench":
            return raw_chat([m for run in json.loads(path.read_text()) for m in run["traj"]])
        case "joinai":
            return raw_chat(json.loads(path.read_text())["messages"])
        case "pi":
            return raw_pi(path)
        case "claude-code":
            return raw_claude(path)
    return raw_claude(path) if path.name.startswith("claude") else raw_codex(path)


FILES = sorted(path for path in FOLDER.rglob("*") if path.suffix not in ("", ".md"))
CASSETTES = [path for path in FILES if path.suffix == ".yaml"]
LOGS = [path for path in FILES if path.suffix != ".yaml"]


def test_there_are_as_many_files_as_the_sources_name():
    assert len(FILES) == 24


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_format_is_recognised(path):
    known = FORMATS.get(path.name) or FORMATS[path.parent.name]
    assert read(path).format == known


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_no_message_of_a_log_is_lost(path):
    reading = read(path)
    summary = summarise_runs(reading)
    counted = {name: getattr(summary, name, None) for name in raw(path)}
    if "messages" in counted:
        counted["messages"] = sum(len(run.messages) for run in reading.runs)
    assert counted == raw(path)


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.name)
def test_no_exchange_of_a_cassette_is_lost(path):
    expected, calls, results = raw_cassette(path)
    runs = read(path).runs
    assert summarise_runs(read(path)).calls == expected["calls"]
    read_calls = {
        call["id"] for run in runs for m in run.messages for call in m.get("tool_calls") or ()
    }
    read_results = {m["tool_call_id"] for run in runs for m in run.messages if m["role"] == "tool"}
    assert calls <= read_calls
    assert results == read_results


def test_the_large_session_has_the_calls_that_were_never_answered():
    (path,) = (path for path in FILES if path.name == "large-session.jsonl")
    summary = summarise_runs(read(path))
    assert (summary.tool_calls, summary.unanswered_calls) == (391, 18)
