"""What a failing test is told beside its findings: what to look at, and how to run it again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_ctxguard.plugin.names import node_id
from pytest_ctxguard.plugin.record import Judged, JudgedRecall, TestRecord
from pytest_ctxguard.plugin.services import Services
from pytest_ctxguard.plugin.settings.options import dest
from pytest_ctxguard.plugin.settings.settings import Settings
from pytest_ctxguard.plugin.settings.table import SETTINGS
from pytest_ctxguard.report.printable import printable
from pytest_ctxguard.report.prompt_files import Prompt, Render, write_prompts
from pytest_ctxguard.report.recipe import (
    again_command,
    carried_text,
    missed_needles,
    missed_wordings,
    recall_recipe,
    replay_recipe,
    row,
)
from pytest_ctxguard.report.scrubbed import Scrubbing

TITLE = "ctxguard: to see it again"
REPEATED = ("compare", "endpoint", "fresh", "inconclusive", "model", "seed", "tier")
"""Settings whose options a test's results depend on; none of them writes anything."""


def rerun(item: pytest.Item) -> str:
    """Return the command that runs a test alone, from where pytest was called."""
    config = item.config
    file, sign, rest = node_id(item).partition("::")
    path = config.rootpath / file
    if path.exists():
        file = Path(os.path.relpath(path, config.invocation_params.dir)).as_posix()
    return again_command(f"{file}{sign}{rest}", options=tuple(_options(config)))


def _options(config: pytest.Config) -> Iterator[str]:
    """Yield the options of this run on which a test's results depend."""
    for setting in SETTINGS:
        value = config.getoption(dest(setting)) if setting.name in REPEATED else None
        if value not in (None, False, ""):
            yield setting.option if value is True else f"{setting.option}={value}"
    for given in config.getoption("override_ini") or ():
        if not given.startswith("ctxguard_engine="):  # no result depends on it
            yield f"--override-ini={given}"
    for option, name in (("-c", "inifilename"), ("--rootdir", "rootdir")):
        if value := config.getoption(name, None):
            yield from (option, str(value))


def seen_again(item: pytest.Item, record: TestRecord, *, services: Services, command: str) -> str:
    """Return a failing test's recipe; the prompts of its failed trials are written on the way.

    Args:
        item: the test.
        record: what it promises and did.
        services: of the run.
        command: runs it again.
    """
    lines: list[str] = []
    for judged in _wanted(record):
        if isinstance(judged, Judged):
            lines += replay_recipe(judged.replay, judged.judgements)
        else:
            lines += recall_recipe(judged.recall, judged.judgements)
    if written := _written(item, record, services):
        lines.append(row("prompts", written))
    return "\n".join(map(printable, [*lines, row("again", command)]))


def _wanted(record: TestRecord) -> Iterator[Judged | JudgedRecall]:
    yield from (replay for replay in record.replays if replay.wanted)
    yield from (recall for recall in record.recalls if recall.wanted)


def _written(item: pytest.Item, record: TestRecord, services: Services) -> str:
    """Write the prompts of the trials that failed; return what was done, if anything was."""
    folder = services.settings.prompts
    if folder is None:
        return ""
    prompts = [prompt for judged in _wanted(record) for prompt in _prompts(item, judged)]
    if not prompts:
        return ""
    try:
        return write_prompts(
            prompts,
            folder,
            render=_render(services),
            scrub=scrubbing(services.settings).text,
        )
    except OSError as error:
        return f"not written: {error}"


def scrubbing(settings: Settings) -> Scrubbing:
    """Return what takes the secrets of this run out of a text."""
    return Scrubbing.from_environment(os.environ, names=settings.secrets)


def _render(services: Services) -> Render | None:
    """Return what makes the prompt that the run's model reads; ``None`` for what hides it."""
    encoder: Any = getattr(services.backend, "encoder", None)
    return getattr(encoder, "render", None)


def _prompts(item: pytest.Item, judged: Judged | JudgedRecall) -> Iterator[Prompt]:
    broken = [judgement for judgement in judged.judgements if judgement.verdict != "pass"]
    if not broken:
        return
    if isinstance(judged, JudgedRecall):
        yield from _of_recall(item, judged)
        return
    replay = judged.replay
    for fact, number in missed_wordings(replay, broken):
        trial = replay.answers(fact).trials[number]  # remembered: nothing is asked again
        request = replay.probes[fact][number]
        yield Prompt(
            test=node_id(item),
            trial="-".join(filter(None, (replay.label, trial.id))),
            header={
                "replay": f"transcript {replay.transcript.name}, policy {replay.policy}",
                "trial": f"{trial.id} {trial.outcome}",
                "wanted": replay.transcript.fact(fact).value,
                "answer": trial.text,
                "tokens": f"{request.tokens:,} by {replay.counter.name}",
            },
            messages=request.messages,
            tools=replay.transcript.tools,
        )


def _of_recall(item: pytest.Item, judged: JudgedRecall) -> Iterator[Prompt]:
    recall = judged.recall
    needles = {id_: each for cell in recall.sample.cells for id_, each in cell.needles.items()}
    for trial in missed_needles(recall):
        transcript = needles[trial.id].transcript
        (fact,) = transcript.facts
        yield Prompt(
            test=node_id(item),
            trial="-".join(filter(None, (recall.label, trial.id))),
            header={
                "recall": f"haystack {recall.sample.haystack}, policy {recall.policy}",
                "trial": f"{trial.id} {trial.outcome}, {carried_text(trial)}",
                "recipe": trial.recipe,
                "wanted": fact.value,
                "answer": trial.text,
                "tokens": f"{trial.tokens:,} by {recall.counter}",
            },
            messages=judged.shown[trial.id].request.messages,
            tools=transcript.tools,
        )
