"""Reported agents under the agent guard, by case id: faulty, then corrected."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import httpcore2  # noqa: F401 - else each run inside imports it anew, and httpx2 knows the first
import pytest

from pytest_ctxguard.tokens.request import RequestEncoder
from tests.plugin.conftest import project, tokenizer  # noqa: F401 - fixtures
from tests.plugin.project import Project

AGENTS = Path(__file__).with_name("agents_of_cases.py")
OVERFLOW = {
    "type": "invalid_request_error",
    "code": "context_length_exceeded",
    "message": "maximum context length is 8192 tokens",
}


@dataclass(frozen=True)
class Reported:
    """One case: the calls of ``ctx_agent``, and what the faulty one is told."""

    faulty: str
    corrected: str
    rule: str
    measured: str
    allowed: str


def words_of(prompt_tokens: int) -> int:
    """Return how many words make a prompt of so many tokens."""
    one = RequestEncoder().count([{"role": "user", "content": "word"}])
    return prompt_tokens - one + 1


def cases() -> dict[str, Reported]:
    window = "answers=['ok'], window=15000"
    course = 'answers=agents.model, runs=["read_file", "write_file"], says="^All done"'
    idle = "answers=['routes.py. Shall I change it?', 'Summary.', 'Changed.'], sends=2"
    return {
        "retry-01": Reported(
            faulty=f"agents.retry_everything, refuse={{'status': 400, 'body': {OVERFLOW}}}",
            corrected=f"agents.retry_nothing_refused, refuse={{'status': 400, 'body': {OVERFLOW}}}"
            ", sends=1, says='Start a new chat'",
            rule="resent",
            measured="10 identical requests",
            allowed="1:",
        ),
        "retry-02": Reported(
            faulty="agents.match_phrases_only, refuse='code-only'",
            corrected="agents.honour_the_code, refuse='code-only', sends=3, says='Done'",
            rule="resent",
            measured="4 identical requests",
            allowed="1:",
        ),
        "retry-04": Reported(
            faulty="agents.retry_unknown_refusals, refuse='bare-400'",
            corrected="agents.consult_the_estimate, refuse='bare-400', sends=2, says='Done'",
            rule="resent",
            measured="3 identical requests",
            allowed="1:",
        ),
        "budget-01": Reported(
            faulty=f"agents.request_up_to_the_window({words_of(12_970)}), {window}",
            corrected=f"agents.request_up_to_the_window({words_of(12_970 - 18)}), {window}",
            rule="over-window",
            measured="12,970 + 2,048 = 15,018 tokens",
            allowed="15,000 tokens; 18 fewer",
        ),
        "budget-05": Reported(
            faulty="lambda s: agents.report_a_saving(s, really=False), window=600",
            corrected="lambda s: agents.report_a_saving(s, really=True), window=600",
            rule="over-window",
            measured="9,0",
            allowed="600 tokens; 8,4",
        ),
        "loop-02": Reported(
            faulty="agents.condense_for_ever, refuse='openai'",
            corrected="agents.stop_at_a_no_op, refuse='openai', sends=1, says='context_length'",
            rule="resent",
            measured="5 identical requests",
            allowed="1:",
        ),
        "stop-01": Reported(
            faulty=f"lambda s: agents.work(s, compact=True, summary_ends=True), {course}",
            corrected=f"lambda s: agents.work(s, compact=True), {course}",
            rule="course",
            measured="read_file",
            allowed="read_file, write_file",
        ),
        "stop-02": Reported(
            faulty=f"lambda s: agents.compact_while_idle(s, go_on=True), {idle}",
            corrected=f"lambda s: agents.compact_while_idle(s, go_on=False), {idle}",
            rule="sends",
            measured="3 requests: 200, 200, 200",
            allowed="2",
        ),
    }


CASES = cases()


@pytest.mark.parametrize("id_", CASES)
def test_the_guard_finds_the_fault_and_passes_the_repair(project: Project, id_: str) -> None:  # noqa: F811
    case = CASES[id_]
    test = f"""
import agents

def test_faulty(ctx_agent):
    ctx_agent({case.faulty})

def test_corrected(ctx_agent):
    ctx_agent({case.corrected})
"""
    mine = project.with_file("agents.py", AGENTS.read_text()).with_test(test)

    result = mine.run("--ctxguard", "--ctxguard-tier=structure")

    assert result.outcomes == {"passed": 1, "failed": 1}, result.text
    found = result.findings("test_faulty")[f"ctx_agent.{case.rule}"]
    assert found["measured"].startswith(case.measured)
    assert found["allowed"].startswith(case.allowed)


def test_stop_01_the_course_is_the_same_with_and_without_compaction(project: Project) -> None:  # noqa: F811
    test = """
import agents

def test_it(ctx_agent):
    runs = [
        ctx_agent(lambda s: agents.work(s, compact=c), answers=agents.model, sends=3 + c)
        for c in (False, True)
    ]
    assert runs[0].tools_run == runs[1].tools_run == ("read_file", "write_file")
    assert runs[0].said == runs[1].said
"""
    mine = project.with_file("agents.py", AGENTS.read_text()).with_test(test)
    assert mine.run("--ctxguard", "--ctxguard-tier=structure").outcomes == {"passed": 1}
