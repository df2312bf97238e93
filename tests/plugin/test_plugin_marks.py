"""How marks are read: which one counts, and what a wrong one says."""

from __future__ import annotations

import pytest

from tests.plugin.project import Project, mini_transcript


def test_the_closest_mark_wins_per_subject_and_other_subjects_stack(project: Project) -> None:
    test = """
        pytestmark = [pytest.mark.ctx_budget(100), pytest.mark.ctx_carried("employee")]

        @pytest.mark.ctx_budget(200)
        @pytest.mark.ctx_carried("shard", at="every")
        class TestClass:
            @pytest.mark.ctx_budget(4000)
            @pytest.mark.ctx_carried("shard", at="probe")
            @pytest.mark.ctx_wellformed
            def test_it(self, ctx_replay):
                assert ctx_replay("mini", full_history).budget == 4000
        """

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"passed": 1}
    [replay] = result.subjects("TestClass::test_it", kind="replay")
    promised = [judgement["promise"] for judgement in replay["judgements"]]
    assert promised == [
        "guard",
        "budget",
        "carried(employee)",
        "carried(shard)",
        "wellformed(openai)",
    ]
    assert "of 4000 tokens" in result.section
    assert "carried(shard): in 3 of 3 requests at probe" in result.section


def test_an_argument_of_the_call_beats_the_mark_for_the_policy_but_not_for_the_promise(
    project: Project,
) -> None:
    test = """
        @pytest.mark.ctx_budget(4000)
        def test_it(ctx_replay):
            assert ctx_replay("mini", ThreeStepFit(), budget=1000).budget == 1000
        """

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"passed": 1}
    assert "of 4000 tokens" in result.section


WRONG = [
    ('ctx_anwsered("shard")', "no marker is named 'ctx_anwsered'; there are: ctx_wellformed"),
    (
        'ctx_carried("shard", att="every")',
        "ctx_carried has no argument 'att'; it has: fact, at, budgets.",
    ),
    ('ctx_carried("shard", at="end")', "at='end' is neither 'probe' nor 'every'"),
    ("ctx_carried", "ctx_carried names no fact. Usage: ctx_carried("),
    ("ctx_carried(7)", "ctx_carried: 7 is not the name of a fact"),
    ("ctx_absent()", "ctx_absent names no fact. Usage: ctx_absent("),
    ("ctx_answered(at_least=2)", "ctx_answered names no fact. Usage: ctx_answered("),
    ('ctx_answered("shard", at_least=0)', "at_least=0 is not a count of wordings, 1 or more"),
    ('ctx_answered("shard", at_least=2.5)', "at_least=2.5 is not a count of wordings"),
    ('ctx_answered("shard", max_lost=True)', "max_lost=True is not a count"),
    ("ctx_budget", "ctx_budget: missing 1 required positional argument: 'limit'. Usage: ctx_b"),
    ('ctx_budget("4000")', "ctx_budget: '4000' is not a number of tokens. Usage: ctx_budget(4000)"),
    ("ctx_budget(0)", "ctx_budget: 0 is not a number of tokens"),
    ('ctx_wellformed(provider="openia")', "no rules for 'openia', but for openai"),
    ('ctx_wellformed(provider=["openai"])', "ctx_wellformed: unhashable type: 'list'. Usage: "),
    ("ctx_token_cost(max_increase=-0.1)", "max_increase=-0.1 is not a ratio of 0 or more"),
    ('ctx_token_cost(max_increase="2%")', "max_increase='2%' is not a ratio of 0 or more"),
    ('ctx_transcripts("chat-*x")', "no transcript matches 'chat-*x'; there are: "),
    ("ctx_transcripts()", "ctx_transcripts takes names or patterns of transcripts, one or more"),
    ('ctx_transcripts(pattern="mini")', "ctx_transcripts takes names or patterns of transcripts"),
    ("ctx_transcripts(7)", "ctx_transcripts takes names or patterns of transcripts"),
]


@pytest.fixture
def wrong(project: Project) -> Project:
    """One test per wrong mark, and one good test after them."""
    tests = [
        f"@pytest.mark.{mark}\ndef test_{n}(ctx_replay, ctx_transcript):\n    raise SystemError\n"
        for n, (mark, _) in enumerate(WRONG)
    ]
    good = "@pytest.mark.ctx_budget(4000)\ndef test_good(ctx_replay):\n    "
    return project.with_test("\n".join([*tests, good + 'ctx_replay("mini", full_history)']))


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
def test_a_wrong_mark_is_its_own_tests_setup_error(
    wrong: Project, workers: tuple[str, ...]
) -> None:
    result = wrong.run("--ctxguard", *workers)

    assert result.outcomes == {"errors": len(WRONG), "passed": 1}
    assert "INTERNALERROR" not in result.text
    for number, (_, text) in enumerate(WRONG):
        assert text in result.failure(f"test_{number}")
    failed = {r["when"] for r in result.reports if r["outcome"] == "failed"}
    assert failed == {"setup"}


def test_an_unknown_fact_is_an_error_that_lists_the_known_ones(project: Project) -> None:
    test = """
        @pytest.mark.ctx_carried("sherd")
        def test_it(ctx_replay):
            ctx_replay("mini", full_history)
        """

    result = project.with_test(test).run("--ctxguard")

    failure = result.failure("test_it")
    assert (
        "UsageError: ctx_carried('sherd'): transcript 'mini' has no such fact; "
        "it has: employee, shard" in failure
    )
    assert 'ctx_replay("mini", full_history)' in failure  # the line to mend
    assert "site-packages" not in failure


def test_a_fact_given_in_the_call_is_known(project: Project) -> None:
    test = """
        from pytest_ctxguard import Fact
        SYSTEM = Fact(name="team", value="payments", kind="rule", planted_at=0,
                      wordings=("Which team?",), shape="[a-z]+")

        @pytest.mark.ctx_carried("team")
        def test_it(ctx_replay):
            ctx_replay("mini", SlidingWindow(last=2), facts=[SYSTEM])
        """

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"passed": 1}
    assert "carried(team): in 1 of 1 requests at probe (original)" in result.section


def test_an_unknown_transcript_is_an_error_that_lists_the_known_ones(project: Project) -> None:
    test = 'def test_it(ctx_replay): ctx_replay("minni", full_history)'

    failure = project.with_test(test).run("--ctxguard").failure("test_it")

    assert "no transcript named 'minni'; there are: " in failure
    assert "mini" in failure.partition("there are: ")[2]
    assert "ini `ctxguard_transcripts`" in failure


def test_a_transcript_may_be_named_by_its_path_or_given(project: Project) -> None:
    test = """
        import dataclasses
        from pathlib import Path

        @pytest.mark.ctx_carried("shard")
        def test_path(ctx_replay):
            ctx_replay(Path(__file__).parent / "transcripts" / "mini.jsonl", full_history)

        @pytest.mark.ctx_carried("shard")
        def test_value(ctx_replay):
            transcript = ctx_replay("mini", full_history, judged=False).transcript
            ctx_replay(dataclasses.replace(transcript, name="other"), full_history)
        """

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"passed": 2}
    assert "  other / full_history: 19 calls" in result.section


def test_ctx_transcripts_parametrises_by_name(project: Project) -> None:
    test = """
        @pytest.mark.ctx_transcripts("mini*")
        class TestAll:
            @pytest.mark.parametrize("policy", [full_history, UserMessages()], ids=["full", "user"])
            @pytest.mark.ctx_carried("shard")
            def test_every(self, ctx_replay, ctx_transcript, policy):
                ctx_replay(ctx_transcript, policy)

            @pytest.mark.ctx_transcripts("mini-two")
            def test_closest(self, ctx_replay, ctx_transcript):
                ctx_replay(ctx_transcript, full_history)

            def test_none(self, ctx_replay):
                ctx_replay("mini", full_history)
        """
    two = project.with_transcript(mini_transcript(turns=2, name="mini-two"))

    result = two.with_test(test).run("--ctxguard")

    assert result.outcomes == {"passed": 6}
    assert sorted(result.payloads) == [
        "TestAll::test_closest[mini-two]",
        "TestAll::test_every[mini-full]",
        "TestAll::test_every[mini-two-full]",
        "TestAll::test_every[mini-two-user]",
        "TestAll::test_every[mini-user]",
        "TestAll::test_none",
    ]
    assert "  mini-two / full_history: 7 calls" in result.section


def test_the_transcript_fixture_without_its_mark_says_what_it_needs(project: Project) -> None:
    test = "def test_it(ctx_replay, ctx_transcript): pass"

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"errors": 1}
    assert 'ctx_transcript needs the marker ctx_transcripts("pattern")' in result.failure("test_it")
