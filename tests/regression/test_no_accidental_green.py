"""No accidental green: each way to have nothing checked ends red or inconclusive, and says so.

One row for each way: a test as a user might write it, what the run is given, its exit status and
the sentence that says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from pytest_ctxguard.report.json_file import read_run
from tests.plugin.conftest import project, tokenizer  # noqa: F401 - a small pytest project
from tests.plugin.project import UPDATE, Project

NO_REPLAY = (
    "nothing to check: this test promises something about a context, and no replay was judged"
)
NO_NEEDLES = (
    "nothing to check: this test promises something about needles, and no recall was judged"
)
NOTHING = "[run.nothing-judged] no guarded test was judged"
USABLE = "wordings are usable"
ONE = 'Transcript(name="one", messages=({"role": "user", "content": "Hello."},))'


@dataclass(frozen=True)
class Way:
    """One way to have nothing checked.

    Attributes:
        name: what it is.
        test: the test module, below the imports.
        says: a part of what the run prints.
        arguments: of pytest, beside ``--ctxguard``.
        backend: which scripted model answers.
        exit: pytest's exit status.
        ci: whether CI is set.
    """

    name: str
    test: str
    says: str
    arguments: tuple[str, ...] = ()
    backend: str = "honest"
    exit: int = 1
    ci: bool = False


IN_THE_TEST = [
    Way("a mark, and no replay", '@mark.ctx_carried("shard")\ndef test_it(): pass', NO_REPLAY),
    Way("a fixture, and no replay", "def test_it(ctx_replay): pass", NO_REPLAY),
    Way(
        "returns before the replay",
        """
        @mark.ctx_carried("shard")
        def test_it(ctx_replay):
            if mark is not None:
                return
            ctx_replay("mini", full_history)
        """,
        NO_REPLAY,
    ),
    Way(
        "no replay is judged",
        """
        @mark.ctx_carried("shard")
        def test_it(ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4), judged=False)
            ctx_replay("mini", SlidingWindow(last=8), judged=False)
        """,
        NO_REPLAY,
    ),
    Way(
        "no recall, but a replay",
        """
        @mark.ctx_needle_recall(at_least=1)
        def test_it(ctx_replay):
            ctx_replay("mini", full_history)
        """,
        NO_NEEDLES,
    ),
    Way(
        "no recall is judged",
        """
        @mark.ctx_needle_recall(at_least=1)
        def test_it(ctx_recall):
            ctx_recall(full_history, trials=2, judged=False)
        """,
        NO_NEEDLES,
    ),
    Way(
        "no laws are judged",
        "def test_it(ctx_policy_laws): ctx_policy_laws(full_history, judged=False)",
        NO_REPLAY,
    ),
    Way(
        "no estimator",
        """
        @mark.ctx_estimator(against="qwen2.5", max_under=0.0, max_over=1.5)
        def test_it(ctx_estimate): pass
        """,
        "nothing to check: this test promises something about an estimator, and none was judged",
    ),
    Way(
        "no request is recorded",
        "def test_it(ctx_record): pass",
        "nothing to check: ctx_record saw no request",
    ),
    Way(
        "no request reaches the server",
        """
        def test_it(ctx_server):
            ctx_server(answers="Done.")
        """,
        "nothing to check: a server of this test got no request",
    ),
    Way(
        "the agent is never refused",
        """
        def test_it(ctx_agent):
            ctx_agent(lambda server: "Done.", refuse="openai")
        """,
        "nothing to check: the agent sent 0 requests, and none was refused",
    ),
    Way(
        "the body catches its own failure",
        """
        def test_it(ctx_replay):
            try:
                ctx_replay("mini", SlidingWindow(last=4)).check.carried("shard")
            except AssertionError:
                pass
        """,
        "[ctx_carried.lost] the policy dropped 'shard'",
    ),
    Way(
        "skips itself when a check has failed",
        """
        def test_it(ctx_replay):
            try:
                ctx_replay("mini", SlidingWindow(last=4)).check.carried("shard")
            except AssertionError:
                pytest.skip("flaky")
        """,
        "[ctx_carried.lost] the policy dropped 'shard'",
    ),
    Way(
        "an expected failure that is an error",
        """
        @mark.xfail(reason="the shard is lost")
        @mark.ctx_carried("sherd")
        def test_it(ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4))
        """,
        "ctx_carried('sherd'): transcript 'mini' has no such fact",
    ),
    Way(
        "an expected failure that checks nothing",
        """
        @mark.xfail(reason="the shard is lost")
        @mark.ctx_carried("shard")
        def test_it(ctx_replay): pass
        """,
        NO_REPLAY,
    ),
    Way(
        "an expected gate failure that checks nothing",
        """
        @mark.xfail(raises=AssertionError)
        @mark.ctx_carried("shard")
        def test_it(ctx_replay): pass
        """,
        NO_REPLAY,
    ),
]
IN_THE_MARKS = [
    Way(
        "a misspelt mark of a function",
        '@mark.ctx_carrid("shard")\ndef test_it(ctx_replay): ctx_replay("mini", full_history)',
        "no marker is named 'ctx_carrid'; there are: ctx_wellformed, ",
    ),
    Way(
        "a misspelt mark of a class",
        """
        @mark.ctx_carrid("shard")
        class TestIt:
            def test_it(self, ctx_replay): ctx_replay("mini", full_history)
        """,
        "no marker is named 'ctx_carrid'; there are: ctx_wellformed, ",
    ),
    Way(
        "a misspelt mark of a module",
        """
        pytestmark = mark.ctx_carrid("shard")
        def test_it(ctx_replay): ctx_replay("mini", full_history)
        """,
        "no marker is named 'ctx_carrid'; there are: ctx_wellformed, ",
    ),
    Way(
        "a mark misspelt at its beginning",
        '@mark.cxt_carried("shard")\ndef test_it(ctx_replay): ctx_replay("mini", full_history)',
        "no marker is named 'cxt_carried'; did you mean ctx_carried?",
    ),
    Way(
        "a mark misspelt at its beginning, the test's only one",
        "@mark.cxt_policy_laws(policy=full_history)\ndef test_it(): pass",
        "no marker is named 'cxt_policy_laws'; did you mean ctx_policy_laws?",
    ),
    Way(
        "a mark misspelt at its beginning, and strict markers",
        "@mark.cxt_policy_laws(policy=full_history)\ndef test_it(): pass",
        "'cxt_policy_laws' not found in `markers` configuration option",
        arguments=("--strict-markers",),
        exit=2,
    ),
    Way(
        "no fact in the mark",
        '@mark.ctx_carried()\ndef test_it(ctx_replay): ctx_replay("mini", full_history)',
        "ctx_carried names no fact",
    ),
    Way(
        "a misspelt fact",
        '@mark.ctx_absent("sherd")\ndef test_it(ctx_replay): ctx_replay("mini", full_history)',
        "ctx_absent('sherd'): transcript 'mini' has no such fact; it has: employee, shard",
    ),
    Way(
        "a misspelt argument",
        '@mark.ctx_budget(limt=10)\ndef test_it(ctx_replay): ctx_replay("mini", full_history)',
        "ctx_budget has no argument 'limt'",
    ),
    Way(
        "no trials in the mark",
        """
        @mark.ctx_needle_recall(trials=0, at_least=1)
        def test_it(ctx_recall): ctx_recall(full_history)
        """,
        "ctx_needle_recall: trials=0 is not a count",
    ),
    Way(
        "no trials in the call",
        """
        @mark.ctx_needle_recall(at_least=1)
        def test_it(ctx_recall): ctx_recall(full_history, trials=0)
        """,
        "trials=0: a cell has 1 or more trials",
    ),
    Way(
        "no depths",
        """
        @mark.ctx_needle_recall(at_least=1)
        def test_it(ctx_recall): ctx_recall(full_history, trials=2, depths=[])
        """,
        "depths=[]: give one or more depths",
    ),
    Way(
        "no hits are asked for",
        """
        @mark.ctx_needle_recall(at_least=0)
        def test_it(ctx_recall): ctx_recall(full_history, trials=2)
        """,
        "ctx_needle_recall: at_least=0 is not a count of trials, 1 or more",
    ),
    Way(
        "no claim",
        "@mark.ctx_needle_recall\ndef test_it(ctx_recall): ctx_recall(full_history, trials=2)",
        "ctx_needle_recall: it claims nothing; give at_least, min_rate, max_lost or margin",
    ),
    Way(
        "two marks in one place that contradict each other",
        """
        @mark.ctx_budget(100)
        @mark.ctx_budget(90_000)
        def test_it(ctx_replay): ctx_replay("mini", full_history)
        """,
        "budget is promised twice in one place, and differently: Budget(limit=90000) and Budget(",
    ),
    Way(
        "a parameter's mark that contradicts its test's",
        """
        SMALL = pytest.param("small", marks=mark.ctx_budget(100))
        @mark.ctx_budget(90_000)
        @mark.parametrize("size", [SMALL])
        def test_it(ctx_replay, size): ctx_replay("mini", full_history)
        """,
        "budget is promised twice in one place, and differently: Budget(limit=90000) and Budget(",
    ),
    Way(
        "two bounds of an estimator that contradict each other",
        """
        @mark.ctx_estimator(against="qwen2.5", max_under=0.0, max_over=1.5)
        @mark.ctx_estimator(against="qwen2.5", max_under=0.9, max_over=9.0)
        def test_it(ctx_estimate): ctx_estimate(len)
        """,
        "estimator(qwen2.5) is promised twice in one place, and differently: ",
    ),
    Way(
        "a pattern that matches no transcript",
        """
        @mark.ctx_transcripts("minni-*")
        def test_it(ctx_replay, ctx_transcript): ctx_replay(ctx_transcript, full_history)
        """,
        "no transcript matches 'minni-*'",
    ),
    Way(
        "no examples for the laws",
        "@mark.ctx_policy_laws(policy=full_history, max_examples=0)\ndef test_it(): pass",
        "ctx_policy_laws: max_examples=0 and no transcripts leave nothing to check",
    ),
    Way(
        "no texts for the estimator",
        """
        @mark.ctx_estimator(against="qwen2.5", max_under=0.0, max_over=1.5, scripts=(), kinds=())
        def test_it(ctx_estimate): ctx_estimate(len)
        """,
        "ctx_estimator: scripts=() and kinds=() leave nothing to judge",
    ),
]
IN_THE_SUBJECT = [
    Way(
        "a policy that had to act, and never did",
        'def test_it(ctx_replay): ctx_replay("mini", full_history, budget=1000)',
        "[ctx_replay.idle] the policy never changed a request although the history exceeded",
    ),
    Way(
        "a policy that ignores the mark's budget",
        """
        @mark.ctx_budget(1000)
        def test_it(ctx_replay): ctx_replay("mini", full_history)
        """,
        "[ctx_replay.idle] the policy never changed a request although the history exceeded",
    ),
    Way(
        "a budget larger than the history",
        """
        @mark.ctx_budget(90_000)
        @mark.ctx_carried("shard")
        def test_it(ctx_replay): ctx_replay("mini", ThreeStepFit())
        """,
        "[ctx_replay.untried] the history never exceeded the budget",
    ),
    Way(
        "a budget larger than the haystack",
        """
        @mark.ctx_needle_recall(at_least=1)
        def test_it(ctx_recall):
            ctx_recall(ThreeStepFit(), trials=2, budget=90_000)
        """,
        "[ctx_recall.untried] the history never exceeded the budget",
    ),
    Way(
        "a policy that sends nothing",
        """
        @mark.ctx_absent("shard")
        def test_it(ctx_replay): ctx_replay("mini", lambda messages: [])
        """,
        "[ctx_replay.empty] a request has no message",
    ),
    Way(
        "a policy that never acts, told to be honest",
        '@mark.ctx_honest\ndef test_it(ctx_replay): ctx_replay("mini", SlidingWindow(last=99))',
        "honest: the policy never changed a request",
    ),
    Way(
        "a policy that never asks its summariser",
        '@mark.ctx_summary\ndef test_it(ctx_replay): ctx_replay("mini", SlidingWindow(last=4))',
        "summary: the policy never asked its summariser",
    ),
    Way(
        "a summariser that never fails",
        """
        @mark.ctx_summariser_faults
        def test_it(ctx_replay): ctx_replay("mini", SlidingWindow(last=4))
        """,
        "summariser_faults: the policy never asked its summariser",
    ),
    Way(
        "a transcript without messages",
        """
        def test_it(ctx_replay):
            ctx_replay(Transcript(name="none", messages=()), SlidingWindow(last=4))
        """,
        "transcript 'none' has no calls; there is nothing to replay",
    ),
    Way(
        "a transcript without calls",
        """
        @mark.ctx_budget(10)
        def test_it(ctx_replay):
            system = {"role": "system", "content": "You help."}
            ctx_replay(Transcript(name="none", messages=(system,)), SlidingWindow(last=4))
        """,
        "transcript 'none' has no calls; there is nothing to replay",
    ),
    Way(
        "a transcript's file without messages",
        'def test_it(ctx_replay): ctx_replay("empty.jsonl", SlidingWindow(last=4))',
        "empty.jsonl: has no messages; nothing could be replayed",
    ),
    Way(
        "a transcript without facts",
        f"@mark.ctx_lifetime\ndef test_it(ctx_replay): ctx_replay({ONE}, full_history)",
        "transcript 'one' declares no fact, so nothing could be wrong",
    ),
    Way(
        "a transcript without tools",
        f"@mark.ctx_catalogue\ndef test_it(ctx_replay): ctx_replay({ONE}, full_history)",
        "transcript 'one' has no tool definitions, so there is no catalogue to audit",
    ),
    Way(
        "a transcript of one call",
        f"@mark.ctx_prefix_stable\ndef test_it(ctx_replay): ctx_replay({ONE}, full_history)",
        "ctx_prefix_stable compares each call with the one before, and transcript 'one' has one",
    ),
    Way(
        "a fact without wordings",
        """
        @mark.ctx_carried("team")
        def test_it(ctx_replay):
            fact = Fact(
                name="team", value="payments", kind="rule", planted_at=0, shape="p.*", wordings=()
            )
            ctx_replay("mini", full_history, facts=[fact])
        """,
        "wordings",
    ),
    Way(
        "an empty cassette",
        'def test_it(ctx_session): ctx_session("empty.yaml")',
        "empty.yaml: no request to a chat model in this cassette",
    ),
]
ANSWERED = """
    @mark.ctx_answered("shard")
    def test_it(ctx_replay): ctx_replay("mini", full_history)
    """
UNANSWERED = """
    @mark.ctx_unanswered("shard")
    def test_it(ctx_replay): ctx_replay("mini", SlidingWindow(last=4))
    """
NEEDLES = """
    @mark.ctx_needle_recall(max_lost=4)
    def test_it(ctx_recall): ctx_recall(full_history, trials=4)
    """
IN_THE_MODEL = [
    Way("answered by an empty text", ANSWERED, f"only 0 of 3 {USABLE}", backend="silent"),
    Way("not given, by an empty text", UNANSWERED, "no wording is usable", backend="silent"),
    Way(
        "needles answered by an empty text",
        NEEDLES,
        "[ctx_recall.not-asked] none of the 4 trials had an answer",
        backend="silent",
    ),
    Way("answered by one text to all", ANSWERED, f"only 0 of 3 {USABLE}", backend="parrot"),
    Way("not given, by one text to all", UNANSWERED, "no wording is usable", backend="parrot"),
    Way(
        "needles answered by one text to all",
        NEEDLES,
        "[ctx_recall.one-answer] all 4 trials had the same wrong answer",
        backend="parrot",
    ),
    Way("answered without being told", ANSWERED, f"only 0 of 3 {USABLE}", backend="guessing"),
    Way("every wording an error", ANSWERED, f"only 0 of 3 {USABLE}", backend="broken"),
    Way("every control an error", UNANSWERED, "no wording is usable", backend="broken"),
    Way(
        "every answer an error",
        UNANSWERED,
        "[ctx_unanswered.not-asked] 3 wordings of 'shard' had no answer",
        backend="erroring",
    ),
    Way(
        "every trial an error",
        NEEDLES,
        "[ctx_recall.not-asked] none of the 4 trials had an answer: ",
        backend="broken",
    ),
]
COST = """
    @mark.ctx_token_cost
    def test_it(ctx_replay): ctx_replay("mini", SlidingWindow(last=4))
    """
IN_THE_RUN = [
    Way("no guarded test", "def test_it(): pass", NOTHING),
    Way("no test at all", "", NOTHING),
    Way(
        "every test left out by the tier",
        ANSWERED,
        NOTHING,
        arguments=("--ctxguard-tier=structure",),
    ),
    Way("every test skipped", f"pytestmark = mark.skip('later')\n{dedent(COST)}", NOTHING),
    Way(
        "a selection that selects nothing",
        COST,
        "1 deselected",
        arguments=("-k", "tset_it"),
        exit=5,
    ),
    Way("a metric without a baseline, in CI", COST, "[ctx_token_cost.new]", ci=True),
]
WAYS = [*IN_THE_TEST, *IN_THE_MARKS, *IN_THE_SUBJECT, *IN_THE_MODEL, *IN_THE_RUN]
IMPORTS = """\
import pytest
from pytest import mark
from pytest_ctxguard import Fact, SlidingWindow, ThreeStepFit, Transcript, full_history

"""


def written(project: Project, test: str) -> Project:  # noqa: F811
    empty = '{"type": "transcript", "version": 1, "name": "empty"}\n'
    return (
        project.with_file("test_mini.py", IMPORTS + dedent(test))
        .with_file("empty.jsonl", empty)
        .with_file("empty.yaml", "version: 1\ninteractions: []\n")
    )


@pytest.mark.parametrize("way", [pytest.param(way, id=way.name) for way in WAYS])
def test_nothing_checked_is_not_green(
    project: Project,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    way: Way,
) -> None:
    if way.ci:
        monkeypatch.setenv("CI", "true")

    result = written(project.with_backend(way.backend), way.test).run(
        "--ctxguard", "--ctxguard-report=run.json", *way.arguments
    )

    assert result.exit == way.exit
    assert way.says in " ".join(result.text.split())
    if way.exit == 1:
        assert not read_run(result.root / "run.json").passes


WHOLE = [pytest.param(way, id=way.name) for way in IN_THE_RUN if way.says == NOTHING]


@pytest.mark.parametrize("way", WHOLE)
def test_workers_see_that_nothing_was_judged(project: Project, way: Way) -> None:  # noqa: F811
    result = written(project, way.test).run("--ctxguard", "-n2", *way.arguments)

    assert result.exit == 1
    assert way.says in " ".join(result.text.split())


@pytest.mark.parametrize("way", WHOLE)
def test_that_nothing_was_judged_may_be_tolerated_but_is_said(
    project: Project,  # noqa: F811
    way: Way,
) -> None:
    run = written(project, way.test).run
    result = run("--ctxguard", "--ctxguard-inconclusive=warn", *way.arguments)

    assert result.exit in (0, 5)
    assert way.says in " ".join(result.text.split())


def test_to_collect_only_judges_nothing_and_is_no_failure(project: Project) -> None:  # noqa: F811
    assert written(project, COST).run("--ctxguard", "--co").exit == 0


def test_a_baseline_that_was_deleted_fails_in_ci(
    project: Project,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded = written(project, COST)
    assert recorded.run(*UPDATE).baseline_path.exists()
    monkeypatch.setenv("CI", "true")
    assert recorded.run("--ctxguard").exit == 0
    recorded.run("--ctxguard").baseline_path.unlink()

    result = recorded.run("--ctxguard")

    assert result.exit == 1
    assert "[ctx_token_cost.new] billed_input_tokens is not in the baseline" in result.text


def test_a_missing_model_is_an_error(
    project: Project,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CTXGUARD_CACHE", str(tmp_path))
    nobody = project.with_backend("none").with_ini(ctxguard_fetch="never")

    result = written(nobody, ANSWERED).run("--ctxguard")

    assert result.exit == 1
    assert "the model qwen2.5-coder-0.5b-instruct is not in" in result.text


def test_an_expected_failure_does_not_excuse_a_missing_model(
    project: Project,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CTXGUARD_CACHE", str(tmp_path))
    nobody = project.with_backend("none").with_ini(ctxguard_fetch="never")
    test = f"pytestmark = mark.xfail(reason='it forgets')\n{dedent(ANSWERED)}"

    result = written(nobody, test).run("--ctxguard")

    assert result.exit == 1
    assert result.outcomes == {"failed": 1}


def test_a_lost_worker_loses_no_test_in_silence(project: Project) -> None:  # noqa: F811
    test = """
        import os

        @mark.ctx_carried("shard")
        def test_it(ctx_replay):
            ctx_replay("mini", full_history)
            os._exit(0)
        """

    result = written(project, test).run("--ctxguard", "-n1")

    assert result.exit == 1
    assert "crashed while running 'test_mini.py::test_it'" in result.text


CHECK = """
    from dataclasses import dataclass
    from typing import ClassVar
    from pytest_ctxguard import Judgement

    @dataclass(frozen=True)
    class Short:
        marker: ClassVar[str] = "ctx_short"
        tier: ClassVar[str] = "structure"
        usage: ClassVar[str] = "ctx_short"
        subject: ClassVar[str] = ""

        def judge(self, case):
            return {returned}

    def pytest_ctxguard_checks(config):
        return [Short]
    """


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        ("None", "ctx_short: its judge returned None, not a pytest_ctxguard.Judgement"),
        ('Judgement("short", "fine")', "ctx_short: its judge found nothing in no request"),
    ],
    ids=["no judgement", "no request"],
)
def test_a_check_of_the_users_own_that_judges_nothing_is_an_error(
    project: Project,  # noqa: F811
    returned: str,
    says: str,
) -> None:
    own = project.with_file("conftest.py", dedent(CHECK).format(returned=returned))
    own = own.with_file("pytest.ini", "[pytest]\nctxguard_transcripts = transcripts\n")
    test = '@mark.ctx_short\ndef test_it(ctx_replay): ctx_replay("mini", full_history)'

    result = written(own, test).run("--ctxguard")

    assert result.exit == 1
    assert says in " ".join(result.text.split())


@pytest.mark.parametrize(
    ("arguments", "exit", "says"),
    [
        (("-pno:ctxguard", "--strict-markers"), 2, "'ctx_carried' not found in `markers` config"),
        (("-pno:ctxguard",), 1, "fixture 'ctx_replay' not found"),
        (("-pno:ctxguard", "--ctxguard"), 4, "unrecognized arguments: --ctxguard"),
    ],
    ids=["strict", "fixture", "option"],
)
def test_without_the_plugin_guarded_tests_do_not_pass(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    exit: int,
    says: str,
) -> None:
    """Where it is not installed it is the same: there is nothing that pytest could load."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    test = '@mark.ctx_carried("shard")\ndef test_it(ctx_replay): ctx_replay("mini", len)'
    pytester.makepyfile(f"from pytest import mark\n{test}")

    result = pytester.runpytest_subprocess(*arguments)  # marks that are known stay known here

    assert result.ret == exit
    assert says in "\n".join([*result.outlines, *result.errlines])


# and what is checked is green


GREEN = {
    "a policy that may send everything, and acts": """
        def test_it(ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4), expect_identity=True)
        """,
    "a budget that the history exceeds": """
        def test_it(ctx_replay): ctx_replay("mini", ThreeStepFit(), budget=1000)
        """,
    "a limit that a policy without budget keeps": """
        @mark.ctx_budget(90_000)
        def test_it(ctx_replay): ctx_replay("mini", full_history)
        """,
    "a large budget, on purpose": """
        @mark.ctx_budget(90_000)
        def test_it(ctx_replay): ctx_replay("mini", ThreeStepFit(), expect_identity=True)
        """,
    "marks of several places that differ": """
        pytestmark = mark.ctx_budget(100)

        @mark.ctx_budget(200)
        class TestIt:
            @mark.ctx_budget(90_000)
            def test_it(self, ctx_replay): ctx_replay("mini", full_history)
        """,
    "one mark twice": """
        @mark.ctx_budget(90_000)
        @mark.ctx_budget(90_000)
        def test_it(ctx_replay): ctx_replay("mini", full_history)
        """,
    "another plugin's mark": """
        @mark.filterwarnings("error")
        def test_it(ctx_replay): ctx_replay("mini", full_history)
        """,
}


@pytest.mark.parametrize("test", [pytest.param(test, id=name) for name, test in GREEN.items()])
def test_what_is_checked_and_holds_is_green(project: Project, test: str) -> None:  # noqa: F811
    assert written(project, test).run("--ctxguard").exit == 0


EXPECTED = {
    "a broken promise": """
        @mark.xfail
        @mark.ctx_carried("shard")
        def test_it(ctx_replay): ctx_replay("mini", SlidingWindow(last=4))
        """,
    "what a policy raises": """
        def broken(messages): raise KeyError("role")

        @mark.xfail
        def test_it(ctx_replay): ctx_replay("mini", broken)
        """,
    "an error by its name": """
        from pytest_ctxguard.errors import UsageError

        @mark.xfail(raises=UsageError)
        @mark.ctx_carried("sherd")
        def test_it(ctx_replay): ctx_replay("mini", SlidingWindow(last=4))
        """,
}


@pytest.mark.parametrize("test", [pytest.param(test, id=name) for name, test in EXPECTED.items()])
def test_what_may_be_expected_to_fail(project: Project, test: str) -> None:  # noqa: F811
    result = written(project, test).run("--ctxguard")

    assert (result.exit, result.outcomes) == (0, {"xfailed": 1})
