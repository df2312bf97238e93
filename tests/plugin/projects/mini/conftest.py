"""The mini project's own conftest: a backend that reads the request, and a log of the reports."""

import json
import os
import re
import zlib
from pathlib import Path

from pytest_ctxguard.errors import BackendError
from pytest_ctxguard.testing import ScriptedBackend

# word of the question -> value, look-alike in the tool results, value that stands nowhere
FACTS = {
    "shard": ("pay-core-07", "pay-core-03", "pay-core-99"),
    "employee": ("48213", "77777", "11111"),
}
DECLINE = "I do not know."
SAME_TO_ALL = {"silent": "", "parrot": "I see."}


def answer(messages, *, variant):
    """Answer the last message from those before it; a dropped fact changes the answer."""
    if variant == "broken":
        raise BackendError("out of memory")
    if variant in SAME_TO_ALL:
        return SAME_TO_ALL[variant]
    *context, question = [message.get("content") or "" for message in messages]
    if question.startswith("What is the extension of "):
        return look_up(question[25:-1], "\n".join(context), variant=variant)
    value, neighbour, invented = next(v for word, v in FACTS.items() if word in question)
    told = any(value in text for text in context)
    long = len(messages) > 3  # the controls have two or three messages
    second = "2" in question
    if variant == "guessing":
        return f"It is {value}."
    if variant == "deaf" and second:
        return "Let me look."
    if variant == "flipping" and second and long:
        return "Let me look."
    if told:
        return f"It is {value}."
    if not long:
        return DECLINE
    if variant == "erroring":
        raise BackendError("out of memory")
    return {
        "neighbour": f"It is {neighbour}.",
        "invented": f"It is {invented}.",
        "rambling": "Let me look.",
        "surrogate": "It is \ud800.",
    }.get(variant, DECLINE)


def look_up(owner, register, *, variant):
    """Answer from a register; of 100 owners, ``share-N`` finds N, the same in every run."""
    found = dict(re.findall(r"to (.+), reachable on extension (\d+)\.", register))
    value = found.pop(owner, None)
    share = int(variant.removeprefix("share-")) if variant.startswith("share-") else 100
    if value is not None and zlib.crc32(owner.encode()) % 100 < share:
        return value
    return next(iter(found.values()), DECLINE) if variant == "neighbour" or value else DECLINE


def pytest_addoption(parser):
    parser.addini("mini_backend", "which variant answers; 'none' leaves it to the plugin")
    parser.addini("mini_numerics", "what the backend says of its arithmetic")


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(ReportLog(config.rootpath / "reports.jsonl"))


def pytest_ctxguard_backend(config):
    with Path(config.rootpath, "opened.txt").open("a") as log:
        log.write(f"{os.getpid()}\n")
    variant = config.getini("mini_backend") or "honest"
    if variant == "none":
        return None
    identity = {"model": "scripted", "numerics": config.getini("mini_numerics") or "exact"}
    return ScriptedBackend(lambda messages: answer(messages, variant=variant), identity=identity)


class ReportLog:
    """Writes down what the controller is told, one JSON line per report."""

    def __init__(self, path):
        self.path = path
        path.write_text("")

    def pytest_runtest_logreport(self, report):
        row = {
            "test": report.nodeid.partition("::")[2],
            "when": report.when,
            "outcome": report.outcome,
            "text": report.longreprtext,
            "payload": getattr(report, "ctxguard_payload", None),
            "properties": report.user_properties,
        }
        with self.path.open("a") as log:
            log.write(json.dumps(row) + "\n")
