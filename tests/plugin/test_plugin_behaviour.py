"""The fixtures that ask the model for its next step, and for summaries."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.plugin.project import TEMPLATE, Project

ANSWER = """
    from pytest_ctxguard import Completion, ToolCall

    def answer(messages, *, variant):
        if variant == "idle":
            return "That is enough."
        if "cleared for you" in str(messages[0]["content"]):
            return Completion("", tool_calls=(ToolCall("read_chapter", "{}"),))
        if "ummarise" in messages[-1]["content"]:
            return Completion("The number is 48213.", completion_tokens=5)
        return Completion("", tool_calls=(ToolCall("read_log", "{}"),))
    """
LONG = """
    import pytest
    from pytest_ctxguard import Transcript, SummaryCompaction

    MESSAGES = []
    for n in range(12):
        MESSAGES.append({"role": "user", "content": "number %d, again and again " % n * 9})
        MESSAGES.append({"role": "assistant", "content": "ok"})
    TOOL = {"type": "function", "function": {"name": "search_logs", "parameters": {}}}
    LONG = Transcript(name="long", messages=tuple(MESSAGES), tools=(TOOL,))
    """


@pytest.fixture
def scripted(project: Project) -> Project:
    conftest = (TEMPLATE / "conftest.py").read_text() + dedent(ANSWER)
    return project.with_file("conftest.py", conftest).with_file("sessions.py", dedent(LONG))


def test_enough_tasks_go_on(scripted: Project) -> None:
    test = """
        def test_reader(ctx_behaviour):
            result = ctx_behaviour.early_stop(at_least=3, draws=3, budget=4000)
            assert result.without.outcomes == {"unknown tool": 3}
            assert result.noticed.goes_on == 3
        """
    result = scripted.with_test(test).run("--ctxguard")
    assert result.outcomes == {"passed": 1}
    assert "3 of 3 go on with the notice (44% to 100%), 0 without it" in result.section


def test_too_few_go_on(scripted: Project) -> None:
    test = """
        def test_reader(ctx_behaviour):
            ctx_behaviour.early_stop(at_least=1, draws=2, budget=4000)
        """
    result = scripted.with_backend("idle").with_test(test).run("--ctxguard")
    assert result.outcomes == {"failed": 1}
    finding = result.findings("test_reader")["ctx_behaviour.early_stop"]
    assert finding["measured"] == "2 text; without the notice: 2 text"


def test_tools_that_do_not_exist(scripted: Project) -> None:
    test = """
        from sessions import LONG

        def test_some_allowed(ctx_behaviour):
            steps = ctx_behaviour.tool_choice(LONG, full_history, max_unknown=12)
            assert steps.unknown_tools == {"read_log": 12}

        def test_none_allowed(ctx_behaviour):
            ctx_behaviour.tool_choice(LONG, SlidingWindow(last=4), max_unknown=0)
        """
    result = scripted.with_test(test).run("--ctxguard")
    assert result.outcomes == {"passed": 1, "failed": 1}
    finding = result.findings("test_none_allowed")["ctx_behaviour.unknown_tool"]
    assert finding["measured"] == "12 of 12 steps: read_log 12x"
    assert finding["where"].startswith("transcript long, policy SlidingWindow, turn 1 (")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("early_stop(at_least=4, draws=3)", "at_least=4 is not a whole number, from 1 to 3"),
        ("early_stop(at_least=0, draws=3)", "at_least=0 is not a whole number, from 1 to 3"),
        ("early_stop(budget=100)", "budget=100: a quarter of it has no room"),
        ("tool_choice('mini', list, max_unknown=-1)", "max_unknown=-1 is not a whole number, 0 or"),
    ],
)
def test_impossible_calls(scripted: Project, call: str, said: str) -> None:
    test = f"""
        def test_reader(ctx_behaviour):
            ctx_behaviour.{call}
        """
    result = scripted.with_test(test).run("--ctxguard")
    assert result.outcomes == {"failed": 1}
    assert said in result.failure("test_reader")


def test_a_test_that_asks_for_nothing_checks_nothing(scripted: Project) -> None:
    test = """
        def test_reader(ctx_behaviour):
            pass
        """
    result = scripted.with_test(test).run("--ctxguard")
    assert result.outcomes == {"failed": 1}
    assert "nothing to check" in result.failure("test_reader")


def test_the_structure_tier_asks_nobody(scripted: Project) -> None:
    test = """
        from sessions import LONG

        def test_reader(ctx_behaviour):
            ctx_behaviour.early_stop(at_least=1)

        def test_tools(ctx_behaviour):
            ctx_behaviour.tool_choice(LONG, full_history)
        """
    result = scripted.with_test(test).run("--ctxguard", "--ctxguard-tier=structure")
    assert result.outcomes == {"skipped": 2}


def test_the_model_is_the_summariser(scripted: Project) -> None:
    test = """
        from sessions import LONG, SummaryCompaction

        def test_compaction(ctx_replay, ctx_summariser):
            summariser = ctx_summariser(max_tokens=20)
            replay = ctx_replay(LONG, SummaryCompaction, budget=900, summariser=summariser)
            assert summariser.name == "scripted, 20 tokens"
            use = replay.summary_use
            assert use.calls > 0
            assert use.output == 5 * use.calls
            texts = {s.text for step in replay.summaries for s in step}
            assert texts == {"The number is 48213."}
        """
    result = scripted.with_test(test).run("--ctxguard")
    assert result.outcomes == {"passed": 1}
