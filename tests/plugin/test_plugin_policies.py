"""Every shape of policy, through the fixture."""

from __future__ import annotations

import pytest

from tests.plugin.project import Project

RAISING = """
    class Overflow(RuntimeError):
        pass

    def cut(messages):
        if len(messages) > 10:
            raise Overflow("too much")
        return messages

    def nested(messages):
        return cut(messages)

    def test_it(ctx_replay):
        ctx_replay("mini", nested)

    def test_expected(ctx_replay):
        with pytest.raises(Overflow, match="too much"):
            ctx_replay("mini", nested)
        ctx_replay("mini", full_history)
    """


def test_what_a_policy_raises_keeps_its_type_and_says_where(project: Project) -> None:
    result = project.with_test(RAISING).run("--ctxguard")

    assert result.outcomes == {"failed": 1, "passed": 1}
    lines = result.failure("test_it").splitlines()
    assert any(line.endswith("Overflow: too much") for line in lines)
    assert (
        "E           ctxguard: raised by policy nested at call 5 of transcript 'mini' "
        "(history of 12 messages)" in lines
    )


def test_the_traceback_shows_the_users_frames_and_none_of_ours(project: Project) -> None:
    failure = project.with_test(RAISING).run("--ctxguard").failure("test_it")

    assert '>       ctx_replay("mini", nested)' in failure
    assert ">       return cut(messages)" in failure
    assert '>           raise Overflow("too much")' in failure
    assert "pytest_ctxguard/" not in failure
    assert "run.py" not in failure


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("lambda messages: None", "returned NoneType at call 0; a policy returns the list"),
        ("lambda messages: 'all'", "returned str at call 0; a policy returns the list"),
        ("lambda messages: iter(messages)", "returned list_iterator at call 0"),
        ("lambda messages: ['hello']", "returned a str as message 0 at call 0; messages are"),
        ("lambda messages: [{'content': 'x'}]", "has role None"),
        ("lambda: None", "None is not a policy: it cannot be called"),
        ("'full_history'", "'full_history' is not a policy: it cannot be called"),
        ("lambda messages, window: messages", "needs an argument 'window', and a replay offers"),
        ("ThreeStepFit()", "policy ThreeStepFit needs a budget. Give ctx_replay(…, budget=N)"),
    ],
)
def test_what_is_no_policy_is_an_error_that_teaches(
    project: Project, policy: str, text: str
) -> None:
    test = f'def test_it(ctx_replay):\n    ctx_replay("mini", {policy})'

    failure = project.with_test(test).run("--ctxguard").failure("test_it")

    assert text in failure
    assert "pytest_ctxguard/" not in failure


def test_a_policy_gets_what_its_signature_names(project: Project) -> None:
    test = """
        SEEN = []

        def fit(messages, *, budget, count, tools, other=None):
            SEEN.append((budget, count(messages), [t["function"]["name"] for t in tools], other))
            while count(messages) > budget:
                messages = messages[:1] + messages[2:]
            return messages

        @pytest.mark.ctx_budget(1000)
        def test_it(ctx_replay):
            replay = ctx_replay("mini", fit)
            assert SEEN[0] == (1000, replay.steps[0].history_tokens, ["read_log"], None)
            assert max(replay.tokens.by_call) <= 1000
        """

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"passed": 1}


ASYNC = """
    import asyncio

    async def window(messages):
        await asyncio.sleep(0)
        return messages[:1] + messages[-4:]

    class Window:
        async def __call__(self, messages):
            return await window(messages)
    """


def test_an_async_policy_needs_no_event_loop_of_the_user(project: Project) -> None:
    test = (
        ASYNC
        + """
    @pytest.mark.parametrize("policy", [window, Window()], ids=["function", "object"])
    @pytest.mark.ctx_absent("shard")
    def test_it(ctx_replay, policy):
        assert ctx_replay("mini", policy).acted
    """
    )

    assert project.with_test(test).run("--ctxguard").outcomes == {"passed": 2}


def test_inside_a_running_loop_the_sync_form_names_aio_and_aio_works(project: Project) -> None:
    test = (
        ASYNC
        + """
    @pytest.mark.ctx_absent("shard")
    @pytest.mark.ctx_budget(1000)
    def test_sync(ctx_replay):
        async def body():
            ctx_replay("mini", window)
        asyncio.run(body())

    @pytest.mark.ctx_absent("shard")
    @pytest.mark.ctx_budget(1000)
    @pytest.mark.parametrize("policy", [window, SlidingWindow(last=4)], ids=["async", "sync"])
    def test_aio(ctx_replay, policy):
        async def body():
            return await ctx_replay.aio("mini", policy, name="loop")
        assert asyncio.run(body()).budget == 1000
    """
    )

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"failed": 1, "passed": 2}
    assert "running event loop: await ctx_replay.aio(…)" in result.failure("test_sync")
    assert "mini / SlidingWindow [loop]: 19 calls" in result.section


STATEFUL = """
    class Counting:
        made = 0

        def __init__(self):
            type(self).made += 1
            self.calls = []

        def __call__(self, messages):
            self.calls.append(len(messages))
            note = {"role": "system", "content": f"call {len(self.calls)}"}
            return [*messages[:1], note, *messages[1:]]

    class Locked(Counting):
        def __deepcopy__(self, memo):
            raise TypeError("cannot pickle a lock")
    """


def test_probes_run_on_copies_of_a_stateful_policy(project: Project) -> None:
    test = (
        STATEFUL
        + """
    def test_it(ctx_replay):
        policy = Counting()
        replay = ctx_replay("mini", policy)
        assert len(policy.calls) == len(replay.steps) == 19
        probes = [r for requests in replay.probes.values() for r in requests]
        assert len(probes) == 6
        assert {r.messages[1]["content"] for r in probes} == {"call 19"}  # in place of the last
        assert Counting.made == 1
    """
    )

    assert project.with_test(test).run("--ctxguard").outcomes == {"passed": 1}


def test_a_policy_that_cannot_be_copied_asks_for_a_factory_and_a_factory_works(
    project: Project,
) -> None:
    test = (
        STATEFUL
        + """
    def test_object(ctx_replay):
        ctx_replay("mini", Locked())

    @pytest.mark.parametrize("factory", [Locked, lambda: Locked()], ids=["class", "function"])
    def test_factory(ctx_replay, factory):
        replay = ctx_replay("mini", factory)
        probes = [r for requests in replay.probes.values() for r in requests]
        assert {r.messages[1]["content"] for r in probes} == {"call 19"}
    """
    )

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"failed": 1, "passed": 2}
    failure = result.failure("test_object")
    assert "policy Locked cannot be copied (TypeError('cannot pickle a lock'))" in failure
    assert "Give a factory instead" in failure
