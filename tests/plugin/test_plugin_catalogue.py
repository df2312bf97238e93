"""``ctx_catalogue`` in a run."""

from __future__ import annotations

from dataclasses import replace

from tests.factories import tool
from tests.plugin.project import Project, mini_transcript

GUARDED = """
    @pytest.mark.ctx_catalogue{arguments}
    def test_it(ctx_replay):
        ctx_replay("{transcript}", full_history)
    """


def guarded(arguments: str = "", transcript: str = "mini") -> str:
    return GUARDED.format(arguments=arguments, transcript=transcript)


def test_a_catalogue_that_is_called_passes_and_is_summed_up(project: Project) -> None:
    result = project.with_test(guarded("(max_never_called=0)")).run("--ctxguard")

    assert result.outcomes == {"passed": 1}
    assert "catalogue: 1 tools, " in result.section
    assert "0 never called; 0 calls of tools that do not exist" in result.section


def test_a_tool_called_that_does_not_exist_fails_the_test(project: Project) -> None:
    other = replace(mini_transcript(name="other"), tools=(tool("search_logs"), tool("page")))
    suite = project.with_transcript(other).with_test(guarded("(max_never_called=1)", "other"))

    result = suite.run("--ctxguard", "--ctxguard-tier=structure")

    assert result.outcomes == {"failed": 1}
    findings = result.findings("test_it")
    assert findings.keys() == {"ctx_catalogue.unknown", "ctx_catalogue.never-called"}
    unknown = findings["ctx_catalogue.unknown"]
    assert unknown["where"].endswith("'read_log' 8 times (the nearest is 'search_logs')")
    assert unknown["measured"] == "8 calls"
    assert "tokens a request" in findings["ctx_catalogue.never-called"]["measured"]


def test_definitions_that_are_too_much_of_what_is_billed_fail_the_test(project: Project) -> None:
    result = project.with_test(guarded("(max_share=0.001)")).run("--ctxguard")

    finding = result.findings("test_it")["ctx_catalogue.share"]
    assert finding["allowed"] == "0.1%"


def test_a_transcript_without_definitions_is_an_error_and_no_pass(project: Project) -> None:
    bare = replace(mini_transcript(name="bare"), tools=())

    suite = project.with_transcript(bare).with_test(guarded(transcript="bare"))
    result = suite.run("--ctxguard")

    assert "passed" not in result.outcomes
    assert "transcript 'bare' has no tool definitions" in result.text
