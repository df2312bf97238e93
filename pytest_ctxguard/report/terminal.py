"""The ctxguard section of pytest's terminal report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_ctxguard.recall.asking import Spent
from pytest_ctxguard.report.recall import recall_lines

Line = tuple[str, tuple[str, ...]]
STYLES = {"fail": ("red",), "inconclusive": ("yellow",), "pass": ()}


def summary_lines(
    payloads: Sequence[dict[str, Any]], *, updated: Sequence[str], seed: int = 0
) -> Iterator[Line]:
    """Yield the section's lines, each with its styles.

    Args:
        payloads: one per guarded test, as :mod:`pytest_ctxguard.plugin.record` makes them, with
            the test's ``outcome``.
        updated: baseline files that were written.
        seed: what samples were drawn with; any but 0 is said.
    """
    for payload in sorted(payloads, key=lambda p: p["nodeid"]):
        yield payload["nodeid"], ("bold",)
        for replay in payload["replays"]:
            yield from _replay_lines(replay)
        for recall in payload["recalls"]:
            yield from ((line, ()) for line in recall_lines(recall))
            yield from map(_judgement_line, recall["judgements"])
        for row in payload["laws"]:
            yield f"  {row['policy']}", ()
            yield _judgement_line(row)
        for row in payload.get("estimates", ()):
            promise, name = row["promise"], row["estimator"]
            yield _judgement_line({**row, "promise": f"{name}, {promise}"})
        yield from map(_judgement_line, payload.get("agents", ()))
        if payload["note"]:
            yield f"  {payload['note']}", ("yellow",)
        if payload["unchecked"]:
            yield f"  not checked in this tier: {', '.join(payload['unchecked'])}", ("yellow",)
    approximations = {row["approximate"] for p in payloads for row in p["replays"]} - {""}
    for line in sorted(approximations):
        yield line, ("yellow",)
    yield from _totals(payloads, hint=not updated)
    if seed:
        yield f"samples were drawn anew, with --ctxguard-seed {seed}", ("yellow",)
    for path in updated:
        yield f"baseline written: {path}", ("green",)


def spent_lines(spent: Spent, *, notes: Sequence[str]) -> Iterator[Line]:
    """Yield what asking the model took, if it was asked, and what was noted on the way."""
    if spent.asked + spent.kept:
        kept = f" ({spent.kept:,} kept from an earlier run)" if spent.kept else ""
        yield (
            f"model: {spent.asked + spent.kept:,} answers{kept}, {spent.prompt_tokens:,} prompt "
            f"tokens billed, {spent.computed_tokens:,} computed, {spent.seconds:.0f} s",
            (),
        )
    for text in notes:
        yield text, ("yellow",)


def _replay_lines(replay: dict[str, Any]) -> Iterator[Line]:
    label = f" [{replay['label']}]" if replay["label"] else ""
    budget = f", budget {replay['budget']:,}" if replay["budget"] else ""
    yield (
        f"  {replay['transcript']} / {replay['policy']}{label}: {replay['calls']} calls, "
        f"{replay['billed']:,} tokens billed, {replay['final']:,} in the last request{budget}",
        (),
    )
    yield from map(_judgement_line, replay["judgements"])


def _judgement_line(judgement: dict[str, Any]) -> Line:
    state = f" [{judgement['state']}]" if judgement["state"] else ""
    return (
        f"    {judgement['verdict']:<13}{judgement['promise']}: {judgement['summary']}{state}",
        STYLES[judgement["verdict"]],
    )


def _totals(payloads: Sequence[dict[str, Any]], *, hint: bool) -> Iterator[Line]:
    judged = [row for p in payloads for row in (*p["replays"], *p["recalls"])]
    judgements = [judgement for row in judged for judgement in row["judgements"]]
    judgements += [row for p in payloads for row in p["laws"]]
    judgements += [
        row for p in payloads for key in ("agents", "estimates") for row in p.get(key, ())
    ]
    counts = {verdict: sum(j["verdict"] == verdict for j in judgements) for verdict in STYLES}
    parts = [f"{count} {verdict}" for verdict, count in counts.items() if count]
    states = [j["state"] for j in judgements if j["state"]]
    named = [f"{states.count(state)} {state}" for state in sorted(set(states))]
    against = f"; against the baseline: {', '.join(named)}" if named else ""
    yield f"promises: {', '.join(parts) or 'none judged'}{against}", ("bold",)
    if hint and "new" in states:
        yield "record new values with --ctxguard-update, and commit the .ctxguard.json files", ()
