"""Nothing is green by accident."""

from __future__ import annotations

import pytest

from tests.plugin.project import PARTS, Project

NOTHING = "nothing to check: this test promises something about a context, and no replay was judged"


@pytest.mark.parametrize(
    "test",
    [
        '@pytest.mark.ctx_carried("shard")\ndef test_it(): pass',
        "def test_it(ctx_replay): pass",
        'def test_it(ctx_replay): ctx_replay("mini", full_history, judged=False)',
        '@pytest.mark.ctx_transcripts("mini")\ndef test_it(ctx_transcript): pass',
        "def test_it(ctx_replay):\n"
        '    ctx_replay("mini", full_history, judged=False).check.budget(9999)',
    ],
    ids=["mark", "fixture", "unjudged", "transcript", "checked-unjudged"],
)
def test_a_test_that_judged_no_replay_fails(project: Project, test: str) -> None:
    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert NOTHING in next(r["text"] for r in result.reports if r["outcome"] == "failed")


def test_an_unjudged_replay_beside_a_judged_one_is_left_alone(project: Project) -> None:
    test = """
        @pytest.mark.ctx_carried("shard")
        def test_it(ctx_replay):
            before = ctx_replay("mini", SlidingWindow(last=2), judged=False)
            after = ctx_replay("mini", full_history)
            assert not before.carried("shard") and after.carried("shard")
        """

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"passed": 1}
    assert "SlidingWindow" not in result.section


def test_a_policy_that_never_acts_over_budget_fails(project: Project) -> None:
    test = """
        def test_idle(ctx_replay):
            ctx_replay("mini", full_history, budget=1000)

        def test_meant(ctx_replay):
            ctx_replay("mini", full_history, budget=1000, expect_identity=True)

        def test_within(ctx_replay):
            ctx_replay("mini", full_history, budget=9000)
        """

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"failed": 1, "passed": 2}
    finding = result.findings("test_idle")["ctx_replay.idle"]
    assert finding.keys() == {"what", *PARTS}
    assert finding["allowed"] == "1000 tokens"
    assert "expect_identity=True" in finding["remedy"]
    assert "  fail         guard: the policy changed 0 of 19 requests" in result.section


MUTATING = """
    def edits_message(messages):
        for message in messages:
            if message["role"] == "tool":
                message["content"] = "cut"
        return messages

    def edits_call(messages):
        for message in messages:
            for call in message.get("tool_calls") or ():
                call["function"]["arguments"] = "{}"
        return list(messages)

    def edits_list(messages):
        del messages[1:-4]
        return messages

    def edits_nothing(messages):
        return [{**m, "content": "cut"} if m["role"] == "tool" else m for m in messages]

    POLICIES = [edits_message, edits_call, edits_list, edits_nothing]

    @pytest.mark.parametrize("policy", POLICIES)
    def test_it(ctx_replay, policy):
        ctx_replay("mini", policy)
    """


def test_a_changed_history_is_a_finding(project: Project) -> None:
    result = project.with_test(MUTATING).run("--ctxguard")

    assert result.outcomes == {"failed": 3, "passed": 1}
    places = {
        policy: result.findings(f"test_it[{policy}]")["ctx_replay.mutated"]["where"]
        for policy in ("edits_message", "edits_call", "edits_list")
    }
    assert places["edits_message"].endswith("edits_message, call 3, message 7")
    assert places["edits_call"].endswith("edits_call, call 3, message 6")
    assert places["edits_list"].endswith("edits_list, call 2, the list of messages")


def test_two_judged_replays_need_two_names(project: Project) -> None:
    test = """
        def test_twice(ctx_replay):
            ctx_replay("mini", full_history)
            ctx_replay("mini", SlidingWindow(last=4))

        def test_named(ctx_replay):
            ctx_replay("mini", full_history, name="all")
            ctx_replay("mini", SlidingWindow(last=4), name="window")

        def test_same_name(ctx_replay):
            ctx_replay("mini", full_history, name="all")
            ctx_replay("mini", full_history, name="all")
        """

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"failed": 2, "passed": 1}
    assert "two judged replays are named '' in one test" in result.failure("test_twice")
    assert "two judged replays are named 'all'" in result.failure("test_same_name")
    assert "mini / SlidingWindow [window]: 19 calls" in result.section


BODIES = """
    @pytest.mark.ctx_carried("shard")
    @pytest.mark.ctx_token_cost
    class TestBody:
        def test_fails(self, ctx_replay):
            replay = ctx_replay("mini", SlidingWindow(last=4))
            assert replay.tokens.billed == 0

        def test_skips(self, ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4))
            pytest.skip("not today")

        def test_checks(self, ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4)).check.budget(100)

        @pytest.fixture
        def broken(self):
            raise LookupError("no such thing")

        def test_setup(self, ctx_replay, broken):
            raise SystemError

        @pytest.mark.skip(reason="never")
        def test_marked(self, ctx_replay):
            raise SystemError
    """


def test_a_body_that_did_not_pass_is_not_judged_and_not_recorded(project: Project) -> None:
    result = project.with_test(BODIES).run("--ctxguard", "--ctxguard-update")

    assert result.outcomes == {"failed": 2, "skipped": 2, "errors": 1}
    assert "assert 10388 == 0" in result.failure("TestBody::test_fails")
    assert result.findings("TestBody::test_checks").keys() == {"ctx_budget.over"}
    notes = {test: payload["note"] for test, payload in result.payloads.items()}
    assert notes == {
        "TestBody::test_fails": "the body did not pass, so nothing was judged",
        "TestBody::test_skips": "the body did not pass, so nothing was judged",
        "TestBody::test_checks": "the body ended at a broken check; its marks were not judged",
        "TestBody::test_setup": "the body did not run, so nothing was judged",
        "TestBody::test_marked": "the body did not run, so nothing was judged",
    }
    for note in notes.values():
        assert f"  {note}" in result.section
    [checked] = result.subjects("TestBody::test_checks", kind="replay")
    assert [row["verdict"] for row in checked["judgements"]] == ["fail"]
    assert not result.baseline_path.exists()


BY_NAME = """
    @pytest.fixture
    def replay(request):
        return request.getfixturevalue("ctx_replay")

    def test_it(replay):
        replay("mini", full_history)
    """


def test_a_fixture_that_pytest_cannot_see_is_refused(project: Project) -> None:
    """Such a test is not known to be guarded: it is not deselected, and would not be judged."""
    hidden = project.with_test(BY_NAME)

    plain, guarded = hidden.run(), hidden.run("--ctxguard")

    assert plain.outcomes == guarded.outcomes == {"errors": 1}
    assert "ctx_replay works under `pytest --ctxguard` only" in plain.failure("test_it")
    assert "name ctx_replay in the signature" in guarded.failure("test_it")


def test_a_fixture_of_the_users_own_may_build_on_ctx_replay(project: Project) -> None:
    test = """
        @pytest.fixture
        def replay(ctx_replay):
            return ctx_replay("mini", SlidingWindow(last=4))

        @pytest.mark.ctx_carried("shard")
        def test_it(replay):
            assert replay.acted
        """
    guarded = project.with_test(test)

    assert guarded.run().outcomes == {"deselected": 1}
    assert guarded.run("--ctxguard").findings("test_it").keys() == {"ctx_carried.lost"}
