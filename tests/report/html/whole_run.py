"""A run that has everything the page can show."""

from __future__ import annotations

from typing import Any

from pytest_ctxguard.baseline import Accepted, Metric
from pytest_ctxguard.report.figures import Break, CallFigures
from pytest_ctxguard.report.run import Change, Effort, Instruments, Run
from tests.report import runs

CALLS = 20
BREAK = Break(
    where="message 3 (tool), character 17",
    before="cleared to keep the request inside the budget",
    after='{"shard": "pay-shard-7", "lag": 4417}',
    why="tool result cleared",
)


def calls(count: int = CALLS, *, every: int = 0, broken: Break = BREAK) -> tuple[CallFigures, ...]:
    """Requests that grow; each ``every``-th does not begin with the one before."""
    found = []
    for number in range(count):
        parts = {
            "system": 85,
            "tools": 1_817,
            "tool_results": 140 * number,
            "conversation": 40 + 60 * number,
        }
        size = sum(parts.values())
        breaks = bool(number and every and number % every == 0)
        found.append(
            CallFigures(
                call=number,
                turn=1 + number // 2,
                **parts,
                reused=0 if not number else 1_902 if breaks else size - 200,
                kind="first" if not number else "diverged" if breaks else "extended",
                broken=broken if breaks else None,
            )
        )
    return tuple(found)


def cells(depths: tuple[float, ...], *, records: int = 25) -> tuple[Any, ...]:
    hits = (27, 9, 6, 5, 7)
    return tuple(
        runs.cell(
            name=f"records={records}:depth={depth}",
            title=f"{records} records, depth {depth}",
            records=records,
            depth=depth,
            hits=hits[place],
            low=round(hits[place] / 32 * 0.7, 4),
            high=round(min(1, hits[place] / 32 * 1.2 + 0.05), 4),
            outcomes={
                "hit": hits[place],
                "neighbour": 3,
                "other": 29 - hits[place],
            },
        )
        for place, depth in enumerate(depths)
    )


def facts(employee: int | None, shard: int | None, *, carried: int = 6) -> tuple[Any, ...]:
    def one(name: str, hits: int | None) -> Any:
        if hits is None:
            return runs.fact(name, carried=carried, sources=("original",))
        outcomes = {"hit": hits, "invented": 6 - hits} if hits < 6 else {"hit": 6}
        return runs.fact(
            name,
            carried=carried,
            sources=("original", "echoed"),
            answered=hits,
            asked=6,
            outcomes={k: v for k, v in outcomes.items() if v},
        )

    return one("employee", employee), one("shard", shard)


def whole_run(**changes: Any) -> Run:
    """Six policies, two recalls, changes of every state, findings of tests and of the run."""
    lost = runs.judgement("carried(shard)", runs.finding(), summary="0 of 6", state="regressed")
    unsure = runs.judgement(
        "needle_recall",
        runs.finding("ctx_needle_recall.rate", inconclusive=True, what="32 trials cannot decide"),
        summary="16 of 32",
    )
    kept = runs.judgement("carried(shard)", summary="6 of 6 requests", state="unchanged")
    policies = (
        ("full_history", 370_291, facts(6, 6), kept, 0),
        ("SlidingWindow(last=12)", 158_204, facts(4, 0, carried=0), lost, 2),
        ("UserMessages(last_turns=4)", 168_550, facts(6, 5), kept, 5),
        ("Compaction(budget=4000)", 171_900, facts(3, 1, carried=2), kept, 9),
        ("CountedThreeStepFit()", 140_020, facts(None, None), kept, 4),
        ("pinned", 170_020, facts(6, 6), kept, 0),
    )
    tests = [
        runs.result(
            f"test_policies.py::test_{number}",
            runs.replay(
                judgement,
                policy=policy,
                billed=billed,
                calls=CALLS,
                facts=told,
                by_call=calls(every=every),
            ),
        )
        for number, (policy, billed, told, judgement, every) in enumerate(policies)
    ]
    depths = (0.0, 0.25, 0.5, 0.75, 1.0)
    panels = (*cells(depths), *cells(depths, records=140))
    tests += [
        runs.result("test_recall.py::test_depth", runs.recall(unsure, cells=cells(depths))),
        runs.result(
            "test_recall.py::test_grid", runs.recall(runs.judgement(), cells=panels, seed=5)
        ),
        runs.result(
            "test_recall.py::test_dies",
            verdict="error",
            outcome="lost",
            message="the worker died",
        ),
    ]
    accepted = Accepted("the dearer notes are worth it", was=150_000)
    made: dict[str, Any] = {
        "tests": tuple(sorted(tests, key=lambda test: test.nodeid)),
        "findings": (runs.finding("baseline.stale", what="an entry has no test any more"),),
        "changes": (
            runs.change("regressed", 158_204, 171_900),
            runs.change("improved", 171_900, 158_204, metric="final_tokens"),
            runs.change("new", None, 6, metric="answered.shard"),
            runs.change("stale", 6, None, nodeid="test_gone.py::test_gone", metric=""),
            runs.change("incomparable", 5, 6, differing=("counter", "model")),
            Change(
                nodeid="test_a.py::test_b",
                label="notes",
                metric="billed_input_tokens",
                state="unchanged",
                was=Metric(168_550, {}, accepted=accepted),
                now=Metric(168_550, {}),
            ),
        ),
        "instruments": Instruments(counter="qwen2.5", model="qwen2.5-0.5b", seed=7),
        "effort": Effort(started="2026-11-30T09:00:00+00:00", seconds=61.5, asked=72, kept=8),
    }
    return Run(**{**made, **changes})
