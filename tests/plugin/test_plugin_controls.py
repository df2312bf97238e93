"""Controls beside the probes, and values that the model must not give."""

from __future__ import annotations

from tests.plugin.project import Project

ANSWERED = """
    @pytest.mark.ctx_answered("shard")
    def test_it(ctx_replay): ctx_replay("mini", full_history)

    @pytest.mark.ctx_answered("shard")
    def test_again(ctx_replay): ctx_replay("mini", full_history)
    """
CONTROLS = (
    "controls, of 3: full 3, alone 3, without 0, restated 3, unstable 0; normalised 1.00"
)  # fmt: skip


def test_every_control_is_shown_when_asked_for(project: Project) -> None:
    tested = project.with_test(ANSWERED)

    assert CONTROLS in tested.run("--ctxguard", "-octxguard_controls=all").section
    usable = tested.run("--ctxguard")
    assert "controls" not in usable.section
    assert usable.outcomes == {"passed": 2}


UNANSWERED = """
    @pytest.mark.ctx_unanswered("shard", "employee")
    def test_it(ctx_replay): ctx_replay("mini", POLICY)
    """


def test_a_value_that_should_be_gone_and_is_given(project: Project) -> None:
    tested = project.with_test(UNANSWERED.replace("POLICY", "full_history"))

    result = tested.run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    finding = result.findings("test_it")["ctx_unanswered.given"]
    assert finding["measured"] == "given in 3 of 3 usable wordings"
    assert "/1 hit: 'It is " in finding["where"]


def test_a_value_that_is_gone(project: Project) -> None:
    tested = project.with_test(UNANSWERED.replace("POLICY", "SlidingWindow(last=4)"))

    result = tested.run("--ctxguard")

    assert result.outcomes == {"passed": 1}
    assert "unanswered(shard): given in 0 of 3 usable wordings" in result.section


def test_what_no_wording_can_show_is_not_passed(project: Project) -> None:
    tested = project.with_test(UNANSWERED.replace("POLICY", "full_history"))

    result = tested.with_backend("guessing").run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert "no wording is usable" in result.failure("test_it")


def test_it_is_left_out_where_no_model_is_asked(project: Project) -> None:
    tested = project.with_test(UNANSWERED.replace("POLICY", "full_history"))

    result = tested.run("--ctxguard", "--ctxguard-tier=structure")

    assert result.outcomes == {"skipped": 1}


def test_it_can_be_judged_in_the_body(project: Project) -> None:
    test = """
        def test_it(ctx_replay):
            replay = ctx_replay("mini", SlidingWindow(last=4))
            replay.check.unanswered("shard")
        """

    assert project.with_test(test).run("--ctxguard").outcomes == {"passed": 1}
