"""Answer the probe workload, ours against the peers: ``python benchmarks/probes.py --json``.

Every engine keeps its prefixes between prompts. The engines take turns after each group of
prompts (a condition, a depth), so that a slow spell of the machine falls on all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figures import OURS, PROBE_FLOORS, floor_table, judge_floors, time_ratios
from benchmarks.options import add_options, settings_from
from benchmarks.processes import Engine, machine, parse_pythons, running, say
from benchmarks.workload import (
    ANSWER_TOKENS,
    TRANSCRIPT,
    Question,
    groups,
    needle_questions,
    policy_questions,
)
from pytest_ctxguard.tokens.request import RequestEncoder

DEFAULT_ENGINES = ("ours", "llama_cpp", "torch_bf16", "openvino", "openvino_batched")
KINDS = ("policy", "needle")
QUICK_CONDITION, QUICK_DEPTHS, QUICK_PROMPTS = "sliding-window", 2, 3
WARM_UP = list(range(5000, 5064))


@dataclass(slots=True)
class Score:
    """What one engine did so far."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(KINDS, 0.0))
    right: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    by_group: dict[str, float] = field(default_factory=dict)
    answers: list[tuple[int, ...]] = field(default_factory=list)
    computed: int | None = 0

    def add(
        self, questions: Sequence[Question], reply: dict[str, Any], encoder: RequestEncoder
    ) -> None:
        """Count one group."""
        kind, group = questions[0].kind, questions[0].group
        self.seconds[kind] += reply["seconds"]
        self.by_group[f"{kind}: {group}"] = round(reply["seconds"], 2)
        for question, answer in zip(questions, reply["answers"], strict=True):
            tokens = tuple(answer["tokens"])
            self.answers.append(tokens)
            self.right[kind] += question.right(encoder.decode(tokens))
            if answer["computed"] is None or self.computed is None:
                self.computed = None
            else:
                self.computed += answer["computed"]


def chosen(encoder: RequestEncoder, *, quick: bool) -> dict[tuple[str, str], list[Question]]:
    """Return the questions by group; a few of them when ``quick``."""
    policy, needle = groups(policy_questions(encoder)), groups(needle_questions(encoder))
    if not quick:
        return {**policy, **needle}
    few = [("policy", QUICK_CONDITION), *list(needle)[:QUICK_DEPTHS]]
    return {key: {**policy, **needle}[key][:QUICK_PROMPTS] for key in few}


def ask_all(
    engines: dict[str, Engine],
    asked: dict[tuple[str, str], list[Question]],
    encoder: RequestEncoder,
) -> dict[str, Score]:
    """Ask every engine every group, in turn."""
    scores = {name: Score() for name in engines}
    stop = list(encoder.stop_ids)
    for engine in engines.values():
        engine.ask(op="answer", prompts=[WARM_UP], max_tokens=4, stop=stop)
    for number, ((kind, group), questions) in enumerate(asked.items(), 1):
        say(f"{kind}: {group} ({number} of {len(asked)})")
        prompts = [list(question.ids) for question in questions]
        for name, engine in engines.items():
            reply = engine.ask(op="answer", prompts=prompts, max_tokens=ANSWER_TOKENS, stop=stop)
            scores[name].add(questions, reply, encoder)
            say(f"  {name:20} {reply['seconds']:7.2f} s")
    return scores


def engine_row(score: Score, ours: Score | None) -> dict[str, Any]:
    """Return one engine's part of the report."""
    total = sum(score.seconds.values())
    same = None
    if ours is not None:
        same = sum(mine == theirs for mine, theirs in zip(ours.answers, score.answers, strict=True))
    return {
        "policy_s": round(score.seconds["policy"], 2),
        "needle_s": round(score.seconds["needle"], 2),
        "total_s": round(total, 2),
        "right_policy": score.right["policy"],
        "right_needle": score.right["needle"],
        "computed_tokens": score.computed,
        "generated_tokens": sum(map(len, score.answers)),
        "same_answers_as_ours": same,
        "by_group_s": score.by_group,
    }


def report(engines: dict[str, Engine], skipped: dict[str, str], *, quick: bool) -> dict[str, Any]:
    """Ask everything and return the report."""
    where = machine()
    encoder = RequestEncoder()
    asked = chosen(encoder, quick=quick)
    scores = ask_all(engines, asked, encoder)
    questions = [question for group in asked.values() for question in group]
    rows = {name: engine_row(score, scores.get(OURS)) for name, score in scores.items()}
    counts = {kind: sum(question.kind == kind for question in questions) for kind in KINDS}
    result: dict[str, Any] = {
        "workload": {
            "transcript": TRANSCRIPT,
            **{f"{kind}_prompts": count for kind, count in counts.items()},
            "prompt_tokens": sum(len(question.ids) for question in questions),
            "longest_prompt": max(len(question.ids) for question in questions),
        },
        "results": rows,
        "time_ratio": time_ratios({name: row["total_s"] for name, row in rows.items()}),
        "peak_rss_mb": {
            name: engine.ask(op="peak")["peak_rss_mb"] for name, engine in engines.items()
        },
        "engines": {name: engine.hello["about"] for name, engine in engines.items()},
        "skipped": skipped,
        "machine": where,
    }
    if quick:
        result["note"] = "quick: a part of the workload, which the floors are not about"
    result["floors"] = judge_floors({} if quick else result, PROBE_FLOORS)
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, engines=DEFAULT_ENGINES)
    options = parser.parse_args(arguments)
    longest = max(
        len(question.ids)
        for group in chosen(RequestEncoder(), quick=options.quick).values()
        for question in group
    )
    settings = settings_from(options, context=longest + ANSWER_TOKENS + 1)
    with running(options.engines, pythons=parse_pythons(options.python), settings=settings) as (
        engines,
        skipped,
    ):
        result = report(engines, skipped, quick=options.quick)
    if options.json:
        sys.stdout.write(json.dumps(result, indent=2) + "\n")
    else:
        for name, row in result["results"].items():
            shown = {key: value for key, value in row.items() if key != "by_group_s"}
            sys.stdout.write(f"{name:20} {json.dumps(shown)}\n")
    say("\n" + floor_table(result["floors"]))


if __name__ == "__main__":
    main()
