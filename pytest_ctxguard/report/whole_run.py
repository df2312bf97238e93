"""What only a run as a whole tells: that nothing was judged, or that not all of it is known."""

from __future__ import annotations

from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.report.run import BROKEN, Run


def nothing_judged(run: Run) -> Finding | None:
    """Return the finding of a whole run in which no guarded test was judged; ``None``: one was.

    A run that was narrowed may have none: it is a shard, or a look at something else.
    """
    skipped = all(test.verdict == "skipped" and test.outcome == "skipped" for test in run.tests)
    if run.collection.narrowed or not skipped:
        return None
    count = len(run.tests)
    tests = "1 guarded test was" if count == 1 else f"{count} guarded tests were"
    left_out = [test for test in run.tests if test.unchecked]
    remedy = "take the skips away; what cannot run here is not guarded here"
    if left_out:
        remedy = "run the model tier too; or guard something that needs no model: ctx_carried"
    if not run.tests:
        remedy = (
            "give a test a ctx mark, or a ctx fixture; check that pytest collects it (pytest "
            "--ctxguard --co). Where nothing is to be guarded, leave --ctxguard out"
        )
    return Finding(
        rule="run.nothing-judged",
        what="no guarded test was judged",
        where=f"the whole run, {run.instruments.tier} tier",
        measured=f"{tests} skipped" if run.tests else "no guarded test was collected",
        allowed="one or more",
        why="nothing was checked, and green would say that something was",
        remedy=remedy,
        inconclusive=True,
    )


def uncollected(run: Run) -> Finding | None:
    """Return the finding of a run that went on although a module could not be collected."""
    if BROKEN not in run.collection.narrowed or not run.tests:
        return None
    return Finding(
        rule="run.broken",
        what=f"{BROKEN}, so that its tests are not known",
        where="the collection, see the errors above",
        measured="one module or more",
        allowed="none",
        why="whether their promises hold is not known",
        remedy="mend the error that pytest printed there",
    )
