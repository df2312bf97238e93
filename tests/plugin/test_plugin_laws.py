"""``ctx_policy_laws``: a policy held to the laws, by the fixture or by the mark."""

from __future__ import annotations

import sys

import pytest

from tests.plugin.project import Project

POLICIES = """
import pytest
from pytest_ctxguard import SlidingWindow, UserMessages, broken_law

def newest(messages, last=3):
    return messages[-last:]

def nothing(messages):
    return list(messages)

def shout(messages):
    return [*messages[:-1], {**messages[-1], "content": "WHAT?"}]
"""
FEW = "max_examples=15"
ANYIO = ("-p", "anyio.pytest_plugin")


@pytest.fixture
def laws(project: Project) -> Project:
    return project.with_file("policies.py", POLICIES)


IMPORT = "from policies import *\n"


def test_a_policy_that_keeps_them_passes_and_the_section_says_on_what(laws: Project) -> None:
    result = laws.with_test(
        IMPORT + f"def test_it(ctx_policy_laws): ctx_policy_laws(UserMessages(last_turns=1), {FEW})"
    ).run("--ctxguard")

    assert result.outcomes == {"passed": 1}
    assert "UserMessages\n    pass         policy_laws: 7 of 7 laws kept" in result.section
    assert "15 histories" in result.section
    assert "by two processes of different PYTHONHASHSEED" in result.section
    assert "promises: 1 pass" in result.section


def test_a_broken_law_fails_with_five_parts_and_a_test_to_paste(laws: Project) -> None:
    failing = laws.with_test(
        IMPORT + f"def test_it(ctx_policy_laws): ctx_policy_laws(lambda: newest, {FEW})"
    )

    result = failing.run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    found = result.findings("test_it")
    assert {*found} == {"ctx_policy_laws.well-formed", "ctx_policy_laws.current-turn"}
    assert found["ctx_policy_laws.well-formed"]["where"].endswith("messages")
    assert "To see it again, and to keep it mended, paste:" in result.failure("test_it")
    assert "Traceback" not in result.failure("test_it")


def test_the_printed_test_fails_without_ctxguard_until_the_policy_is_mended(
    laws: Project,
) -> None:
    named = laws.with_test(
        IMPORT + "def test_it(ctx_policy_laws): ctx_policy_laws(newest, max_examples=15)"
    )
    printed = named.run("--ctxguard").failure("test_it").partition("paste:\n\n")[2]

    pasted = laws.with_test(printed)
    assert pasted.run(subprocess=True).outcomes == {"failed": 2}
    mended = pasted.with_file("policies.py", "from pytest_ctxguard import full_history as newest")
    assert mended.run(subprocess=True).outcomes == {"passed": 2}


def test_the_mark_holds_the_policies_it_names_and_gives_options(laws: Project) -> None:
    result = laws.with_test(
        IMPORT
        + """
        pytestmark = pytest.mark.ctx_policy_laws(max_examples=9, inserts="WHAT?")

        @pytest.mark.ctx_policy_laws(policy=UserMessages(last_turns=1), max_examples=7)
        def test_marked(): pass

        def test_called(ctx_policy_laws): ctx_policy_laws(shout, max_examples=8)

        @pytest.mark.ctx_policy_laws(policy=newest)
        def test_both(ctx_policy_laws): ctx_policy_laws(UserMessages(last_turns=1))
        """.replace("\n        ", "\n")
    ).run("--ctxguard")

    assert result.outcomes == {"passed": 1, "failed": 2}
    rows = {test: result.subjects(test, kind="laws") for test in result.payloads}
    assert " 7 histories" in rows["test_marked"][0]["judgements"][0]["summary"]
    assert " 8 histories" in rows["test_called"][0]["judgements"][0]["summary"]
    assert {*result.findings("test_called")} == {"ctx_policy_laws.current-turn"}
    assert [row["policy"] for row in rows["test_both"]] == ["UserMessages", "newest"]
    assert all(" 9 histories" in row["judgements"][0]["summary"] for row in rows["test_both"])


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("tiny=1", "ctx_policy_laws has no argument 'tiny'; it has: provider, declares, "),
        ('"fit"', "ctx_policy_laws: 'fit' is no policy=…. Usage: "),
        ("policy=3", "ctx_policy_laws: 3 is no policy=…. Usage: "),
    ],
)
def test_an_impossible_mark_is_the_tests_own_setup_error(
    laws: Project, mark: str, said: str
) -> None:
    result = laws.with_test(
        f"@pytest.mark.ctx_policy_laws({mark})\ndef test_it(): pass\ndef test_other(): pass"
    ).run("--ctxguard")

    assert result.outcomes == {"errors": 1, "passed": 1}
    assert said in result.text


def test_an_unknown_option_of_the_call_names_those_there_are(laws: Project) -> None:
    result = laws.with_test(
        "def test_it(ctx_policy_laws): ctx_policy_laws(full_history, tiny=1)"
    ).run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert "ctx_policy_laws has no argument 'tiny'" in result.failure("test_it")


def test_a_test_that_holds_nothing_fails(laws: Project) -> None:
    result = laws.with_test("def test_it(ctx_policy_laws): pass").run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert "nothing to check" in result.failure("test_it")


def test_a_policy_that_never_acts_is_told_unless_it_is_meant_to(laws: Project) -> None:
    result = laws.with_test(
        IMPORT
        + """
def test_idle(ctx_policy_laws): ctx_policy_laws(nothing, max_examples=5)
def test_meant(ctx_policy_laws): ctx_policy_laws(
    nothing, max_examples=5, expect_identity=True, declares="always-extended")
"""
    ).run("--ctxguard")

    assert result.outcomes == {"passed": 1, "failed": 1}
    assert {*result.findings("test_idle")} == {"ctx_policy_laws.idle"}


def test_without_hypothesis_the_error_says_how_to_install_it(
    laws: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)

    result = laws.with_test(
        "def test_it(ctx_policy_laws): ctx_policy_laws(full_history)\n"
        'def test_own(ctx_policy_laws): ctx_policy_laws(full_history, transcripts="mini",\n'
        "    max_examples=0, expect_identity=True)"
    ).run("--ctxguard")

    assert result.outcomes == {"failed": 1, "passed": 1}
    assert "pip install 'pytest-ctxguard[laws]'" in result.failure("test_it")


def test_the_users_own_profile_neither_counts_nor_changes(laws: Project) -> None:
    result = laws.with_test(
        """
from hypothesis import settings
settings.register_profile("mine", max_examples=2, deadline=1, derandomize=True)
settings.load_profile("mine")

def test_it(ctx_policy_laws):
    before = settings.default
    verdict = ctx_policy_laws(UserMessages(last_turns=1), max_examples=12)
    assert " 12 histories" in verdict.judgement.summary
    assert settings.default is before
    assert settings.default.max_examples == 2
"""
    ).run("--ctxguard", subprocess=True)

    assert result.outcomes == {"passed": 1}


def test_two_workers_come_to_the_same(laws: Project) -> None:
    project = laws.with_test(
        IMPORT
        + f"""
def test_one(ctx_policy_laws): ctx_policy_laws(newest, {FEW})
@pytest.mark.ctx_policy_laws(policy=UserMessages(last_turns=1), {FEW})
def test_two(): pass
"""
    )

    alone, parallel = project.run("--ctxguard"), project.run("--ctxguard", "-n2")

    assert alone.outcomes == parallel.outcomes == {"passed": 1, "failed": 1}
    assert alone.section == parallel.section
    assert alone.findings("test_one") == parallel.findings("test_one")


ASYNC = """
import asyncio
import pytest
from pytest_ctxguard import UserMessages

class Window:
    # Knows the loop of its first call, and cuts where no policy should.
    def __init__(self, last):
        self.last, self.loop = last, None

    async def __call__(self, messages):
        await asyncio.sleep(0)
        self.loop = self.loop or asyncio.get_running_loop()
        assert asyncio.get_running_loop() is self.loop
        return messages[-self.last:]

async def newest(messages):
    return await Window(3)(messages)

class Turns:
    def __init__(self):
        self.turns = UserMessages(last_turns=1)

    async def __call__(self, messages):
        await asyncio.sleep(0)
        return self.turns(messages)

@pytest.fixture
def anyio_backend(): return "asyncio"
"""


def test_async_policies_are_held_to_the_laws_in_both_forms_and_by_the_mark(laws: Project) -> None:
    project = laws.with_file("awaited.py", ASYNC).with_test(
        f"""
        from awaited import *

        def test_sync(ctx_policy_laws): ctx_policy_laws(newest, {FEW})

        @pytest.mark.anyio
        async def test_aio(ctx_policy_laws): await ctx_policy_laws.aio(newest, {FEW})

        @pytest.mark.anyio
        @pytest.mark.ctx_policy_laws(policy=newest, {FEW})
        async def test_marked(): await asyncio.sleep(0)

        @pytest.mark.anyio
        async def test_kept(ctx_policy_laws):
            await ctx_policy_laws.aio(Turns(), {FEW}, declares="idempotent")
            await ctx_policy_laws.aio(UserMessages(last_turns=1), {FEW})
        """
    )

    result = project.run("--ctxguard", *ANYIO)

    assert result.outcomes == {"failed": 3, "passed": 1}
    found = [result.findings(test) for test in ("test_sync", "test_aio", "test_marked")]
    assert {*found[0]} == {"ctx_policy_laws.well-formed", "ctx_policy_laws.current-turn"}
    assert found[0] == found[1] == found[2]
    rows = {test: result.subjects(test, kind="laws") for test in result.payloads}
    assert rows["test_sync"] == rows["test_aio"] == rows["test_marked"]
    assert [row["judgements"][0]["verdict"] for row in rows["test_kept"]] == ["pass", "pass"]
    assert (
        "two processes of different PYTHONHASHSEED"
        in rows["test_aio"][0]["judgements"][0]["summary"]
    )


def test_aio_runs_policies_in_the_loop_of_the_test_and_factories_too(laws: Project) -> None:
    result = (
        laws.with_file("awaited.py", ASYNC)
        .with_test(
            f"""
        from awaited import *
        from functools import partial

        @pytest.mark.anyio
        async def test_it(ctx_policy_laws):
            mine, seen = asyncio.get_running_loop(), set()

            async def policy(messages):
                seen.add(asyncio.get_running_loop())
                return await Window(3)(messages)

            def made():
                seen.add(asyncio.get_running_loop())
                return policy

            verdict = await ctx_policy_laws.aio(made, {FEW}, judged=False)
            assert seen == {{mine}}
            assert verdict.judgement.verdict == "fail" and verdict.tests
            await ctx_policy_laws.aio(Turns, {FEW})
        """
        )
        .run("--ctxguard", *ANYIO)
    )

    assert result.outcomes == {"passed": 1}


def test_inside_a_running_loop_the_sync_form_names_aio(laws: Project) -> None:
    result = (
        laws.with_file("awaited.py", ASYNC)
        .with_test(
            """
        from awaited import *

        @pytest.mark.anyio
        async def test_sync(ctx_policy_laws): ctx_policy_laws(newest)

        @pytest.mark.anyio
        async def test_misspelt(ctx_policy_laws): await ctx_policy_laws.aio(newest, tiny=1)
        """
        )
        .run("--ctxguard", *ANYIO)
    )

    assert result.outcomes == {"failed": 2}
    said = "ctx_policy_laws was called inside a running event loop: await ctx_policy_laws.aio(…)"
    assert said in result.failure("test_sync")
    assert "ctx_policy_laws has no argument 'tiny'" in result.failure("test_misspelt")


def test_a_test_that_is_cancelled_leaves_no_policy_running(laws: Project) -> None:
    result = (
        laws.with_file("awaited.py", ASYNC)
        .with_test(
            """
        from awaited import *

        async def slow(messages):
            slow.calls += 1
            if slow.calls == 3:
                slow.task.cancel()
            await asyncio.sleep(0.01)
            return messages

        def test_it(ctx_policy_laws):
            async def body():
                slow.calls, slow.task = 0, asyncio.current_task()
                await ctx_policy_laws.aio(slow)

            with pytest.raises(asyncio.CancelledError):
                asyncio.run(body())
            assert slow.calls < 100
            ctx_policy_laws(UserMessages(last_turns=1), max_examples=5)
        """
        )
        .run("--ctxguard")
    )

    assert result.outcomes == {"passed": 1}


def test_it_is_left_out_without_ctxguard(laws: Project) -> None:
    result = laws.with_test(
        "def test_one(ctx_policy_laws): assert False\n"
        "@pytest.mark.ctx_policy_laws(policy=full_history)\ndef test_two(): assert False\n"
        "def test_three(): pass"
    ).run()

    assert result.outcomes == {"passed": 1, "deselected": 2}


def test_transcripts_by_name_pattern_and_value_and_a_knob_over_every_call(laws: Project) -> None:
    result = laws.with_test(
        """
from pytest_ctxguard import Transcript
OWN = Transcript(name="own", messages=({"role": "user", "content": "a"},) * 3)

def test_it(ctx_policy_laws):
    verdict = ctx_policy_laws(
        SlidingWindow, sweep={"last": range(1, 30)}, transcripts=("mi*", OWN), max_examples=0,
        judged=False)
    assert "2 histories, 58 runs" in verdict.judgement.summary
    [finding] = verdict.judgement.findings
    assert finding.where.endswith("found in transcript mini")
    ctx_policy_laws(UserMessages(last_turns=1), transcripts="mini", max_examples=0)
"""
    ).run("--ctxguard")

    assert result.outcomes == {"passed": 1}
    assert len(result.subjects("test_it", kind="laws")) == 1
