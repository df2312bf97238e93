"""What is allowed of a model's next steps: to stop a long task, or to call what does not exist."""

from __future__ import annotations

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.recall.behaviour import EarlyStop, Step, Steps

SHOWN = 3


def judge_early_stop(result: EarlyStop, *, at_least: int | None) -> Judgement:
    """Hold the tasks with the notice to a number that must go on.

    An error is no step, so that it fails whatever is allowed.
    """
    told, untold = result.noticed, result.without
    low, high = told.interval.low, told.interval.high
    summary = (
        f"{told.goes_on} of {told.of} go on with the notice ({low:.0%} to {high:.0%}), "
        f"{untold.goes_on} without it"
    )
    findings = _errors(told, rule="ctx_behaviour.early_stop_error")
    if at_least is not None and told.goes_on < at_least:
        findings += (
            Finding(
                rule="ctx_behaviour.early_stop",
                what="the model stops a long task although there is room",
                where=_places([s for s in told.steps if s.outcome != "calls"]),
                measured=f"{_counts(told)}; without the notice: {_counts(untold)}",
                allowed=f"at least {at_least} of {told.of} go on",
                why="the work ends at a quarter of the budget, and nobody is told",
                remedy="say in the system message that old results are cleared and the newest "
                "stay, and that a long task is not to be ended to save space",
            ),
        )
    return Judgement("behaviour(early_stop)", summary, findings)


def judge_tool_choice(steps: Steps, *, max_unknown: int | None, where: str) -> Judgement:
    """Hold next steps to a number that may call a tool that does not exist."""
    unknown = [step for step in steps.steps if step.outcome == "unknown tool"]
    summary = f"{_counts(steps)}, of {steps.of} user turns"
    findings = _errors(steps, rule="ctx_behaviour.tool_choice_error")
    if max_unknown is not None and len(unknown) > max_unknown:
        names = ", ".join(f"{name} {n}x" for name, n in steps.unknown_tools.items())
        findings += (
            Finding(
                rule="ctx_behaviour.unknown_tool",
                what="the model calls tools that do not exist",
                where=f"{where}, {_places(unknown)}",
                measured=f"{len(unknown)} of {steps.of} steps: {names}",
                allowed=f"{max_unknown}",
                why="each is a refused call and a turn more, or ends the agent",
                remedy="name tools as the model would guess them, and do not clear the calls that "
                "show how they are used",
            ),
        )
    return Judgement("behaviour(tool_choice)", summary, findings)


def _errors(steps: Steps, *, rule: str) -> tuple[Finding, ...]:
    failed = [step for step in steps.steps if step.outcome == "error"]
    if not failed:
        return ()
    return (
        Finding(
            rule=rule,
            what="the model could not be asked",
            where=_places(failed),
            measured=f"{len(failed)} of {steps.of} steps are errors",
            allowed="0",
            why="nothing is known of these steps",
            remedy="give a smaller budget, or a model with a larger window",
        ),
    )


def _counts(steps: Steps) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in steps.outcomes.items())


def _places(steps: list[Step]) -> str:
    shown = [f"{step.id} ({step.text.strip()[:60]!r})" for step in steps[:SHOWN]]
    more = f" and {len(steps) - SHOWN} more" if len(steps) > SHOWN else ""
    return ", ".join(shown) + more
