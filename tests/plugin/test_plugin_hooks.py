"""What a conftest adds by hooks; the snippets are those of docs/extending.md."""

from __future__ import annotations

import pytest

from tests.docs.pages import blocks
from tests.plugin.project import Project

COUNTER, BACKEND, READER, CHECK = (
    block.source for block in blocks("docs/extending.md") if block.file == "conftest.py"
)
MAX_MESSAGES = """
    @pytest.mark.ctx_max_messages({limit})
    def test_it(ctx_replay):
        ctx_replay("mini", full_history, expect_identity=True)
    """
REPLAYS = "def test_it(ctx_replay): ctx_replay('mini', full_history{}, expect_identity=True)"


def with_checks(project: Project, *, tail: str) -> Project:
    """Return the project with the page's check, changed by what follows it in the conftest."""
    return project.with_file("conftest.py", f"{CHECK}\n{tail}").with_test(REPLAYS.format(""))


def test_a_check_is_a_mark_with_five_part_findings(project: Project) -> None:
    guarded = project.with_file("conftest.py", CHECK)

    kept = guarded.with_test(MAX_MESSAGES.format(limit=100)).run("--ctxguard")
    broken = guarded.with_test(MAX_MESSAGES.format(limit=5)).run("--ctxguard")

    assert kept.outcomes == {"passed": 1}
    assert "max_messages: at most 38 of 100 messages" in kept.section
    assert broken.outcomes == {"failed": 1}
    assert "[ctx_max_messages.over] a request has too many messages" in broken.text
    assert "allowed   5 messages" in broken.text


@pytest.mark.parametrize("call", ["check", "judge"])
def test_a_check_is_a_method_of_the_replay(project: Project, call: str) -> None:
    source = f"""
        def test_it(ctx_replay):
            replay = ctx_replay("mini", full_history, expect_identity=True)
            found = replay.{call}.max_messages(limit=100)
            judgements = found if isinstance(found, tuple) else (found,)
            assert [j.verdict for j in judgements] == ["pass"]
            with pytest.raises(AttributeError, match="it has: .*lifetime, max_messages"):
                replay.{call}.max_words
        """

    result = project.with_file("conftest.py", CHECK).with_test(source).run("--ctxguard")

    assert result.outcomes == {"passed": 1}, result.text


@pytest.mark.parametrize("options", [(), ("--ctxguard",)], ids=["plain", "ctxguard"])
def test_the_marker_of_a_check_is_registered(project: Project, options: tuple[str, ...]) -> None:
    guarded = project.with_file("conftest.py", CHECK).with_test(MAX_MESSAGES.format(limit=100))

    listed = guarded.run(*options, "--markers").text
    ran = guarded.run(*options, "--strict-markers")

    assert "@pytest.mark.ctx_max_messages(40): Every request has at most this many" in listed
    assert ran.outcomes == ({"passed": 1} if options else {"deselected": 1})


def test_a_check_judges_in_xdist_workers(project: Project) -> None:
    guarded = project.with_file("conftest.py", CHECK).with_test(MAX_MESSAGES.format(limit=5))

    result = guarded.run("--ctxguard", "-n2", "--strict-markers")

    assert result.outcomes == {"failed": 1}
    assert "[ctx_max_messages.over]" in result.text


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("", "ctx_max_messages: missing 1 required positional argument: 'limit'"),
        ("limits=5", "ctx_max_messages has no argument 'limits'; it has: limit"),
    ],
)
def test_a_bad_argument_is_the_tests_own_error(project: Project, limit: str, told: str) -> None:
    guarded = project.with_file("conftest.py", CHECK).with_test(MAX_MESSAGES.format(limit=limit))

    result = guarded.run("--ctxguard")

    assert result.outcomes == {"errors": 1}
    assert told in result.text
    assert "Usage: ctx_max_messages(40)" in result.text


def test_a_check_of_the_model_tier_is_left_out_with_it(project: Project) -> None:
    tier = 'MaxMessages.tier = "model"'
    guarded = with_checks(project, tail=tier).with_test(MAX_MESSAGES.format(limit=5))

    result = guarded.run("--ctxguard", "--ctxguard-tier=structure")

    assert result.outcomes == {"skipped": 1}


def test_a_judge_that_returns_no_judgement_does_not_pass(project: Project) -> None:
    tail = "MaxMessages.judge = lambda self, case: None"
    guarded = with_checks(project, tail=tail).with_test(MAX_MESSAGES.format(limit=5))

    result = guarded.run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert "ctx_max_messages: its judge returned None, not a pytest_ctxguard.Judge" in result.text


def test_a_judge_that_raises_fails_with_its_own_traceback(project: Project) -> None:
    tail = "def judge(self, case):\n    raise KeyError('oops')\nMaxMessages.judge = judge"
    guarded = with_checks(project, tail=tail).with_test(MAX_MESSAGES.format(limit=5))

    result = guarded.run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert "raise KeyError('oops')" in result.text


@pytest.mark.parametrize(
    ("tail", "told"),
    [
        ('MaxMessages.marker = "max_messages"', "its marker is 'max_messages'; it begins with"),
        ('MaxMessages.marker = "ctx_a b"', "its marker is 'ctx_a b'; it begins with ctx_, and is"),
        ('MaxMessages.marker = "ctx_budget"', "the marker ctx_budget is taken"),
        (
            'MaxMessages.usage = "max(1)"',
            "its usage is 'max(1)'; it is text like ctx_max_messages(",
        ),
        ('MaxMessages.tier = "fast"', "its tier is 'fast'; it may be structure or model"),
        ("del MaxMessages.judge", "has no 'judge'; a check has: marker, tier, usage, subject"),
        ("MaxMessages = dataclass(type('Max', (), {}))", "'Max' is not frozen"),
        ("MaxMessages = 5", "5 is no dataclass"),
        ("MaxMessages = dict", "'dict' is no dataclass"),
        ("def pytest_ctxguard_checks(config): return MaxMessages", "not a list"),
        (
            "@dataclass(frozen=True)\nclass Other(MaxMessages):\n    pass\n"
            "def pytest_ctxguard_checks(config): return [MaxMessages, Other]",
            "two checks have the marker ctx_max_messages: MaxMessages and Other",
        ),
    ],
)
@pytest.mark.parametrize("options", [(), ("--ctxguard",)], ids=["plain", "ctxguard"])
def test_what_is_no_check_is_a_usage_error(
    project: Project, options: tuple[str, ...], tail: str, told: str
) -> None:
    result = with_checks(project, tail=tail).run(*options)

    assert result.exit == pytest.ExitCode.USAGE_ERROR
    assert "pytest_ctxguard_checks" in result.text
    assert told in result.text


@pytest.mark.parametrize("where", ["ini", "fixture"])
def test_a_counter_is_found_by_its_name(project: Project, where: str) -> None:
    given = ", counter='characters'" if where == "fixture" else ""
    ini = {"ctxguard_counter": "characters"} if where == "ini" else {}
    source = f"""
        def test_it(ctx_replay):
            replay = ctx_replay("mini", full_history{given}, expect_identity=True)
            print("counted", replay.steps[0].request.tokens, "by", replay.counter.name)
        """
    guarded = project.with_file("conftest.py", COUNTER).with_test(source).with_ini(**ini)

    result = guarded.run("--ctxguard", "-s")

    assert result.outcomes == {"passed": 1}
    assert "by characters" in result.text
    assert "approximate" in result.section


def test_an_unknown_counter_is_refused_with_the_names_of_ours_and_theirs(project: Project) -> None:
    guarded = project.with_file("conftest.py", COUNTER)

    ini = guarded.with_test(REPLAYS.format("")).with_ini(ctxguard_counter="chars")
    call = guarded.with_test(REPLAYS.format(", counter='chars'"))

    told = "no counter is named 'chars'; there are: qwen2.5, o200k, cl100k, mistral, deepseek, char"
    asked = ini.run("--ctxguard")
    assert asked.exit == pytest.ExitCode.USAGE_ERROR
    assert told in asked.text
    assert told in call.run("--ctxguard").text


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ("[characters]", "not a mapping from names to counters"),
        ("{'qwen2.5': characters}", "a counter cannot be named 'qwen2.5'"),
        ("{'': characters}", "a counter cannot be named ''"),
        ("{5: characters}", "a counter cannot be named 5"),
        ("{'mine': 5}", "'mine' is 5, neither a counter nor a function"),
        ("{'mine': dict}", "'mine' is <class 'dict'>, neither a counter nor a function"),
    ],
)
def test_what_is_no_counter_is_a_usage_error(project: Project, returned: str, told: str) -> None:
    conftest = f"{COUNTER}\ndef pytest_ctxguard_counters(config): return {returned}\n"
    guarded = project.with_file("conftest.py", conftest).with_test(REPLAYS.format(""))

    result = guarded.run("--ctxguard")

    assert result.exit == pytest.ExitCode.USAGE_ERROR
    assert "pytest_ctxguard_counters" in result.text
    assert told in result.text


def test_without_the_guard_no_counter_is_asked_for(project: Project) -> None:
    conftest = "def pytest_ctxguard_counters(config): raise AssertionError('asked')\n"

    result = project.with_file("conftest.py", conftest).with_test("def test_it(): pass").run()

    assert result.outcomes == {"passed": 1}


def test_a_reader_is_asked_first(project: Project) -> None:
    log = "# chat log\nsystem: You help.\nuser: Where is it?\nassistant: Here.\nuser: Thanks."
    source = f"""
        def test_it(ctx_replay, tmp_path):
            path = tmp_path / "monday.txt"
            path.write_text({log!r})
            replay = ctx_replay(path, full_history, expect_identity=True)
            assert replay.transcript.name == "monday"
        """

    result = project.with_file("conftest.py", READER).with_test(source).run("--ctxguard")

    assert result.outcomes == {"passed": 1}, result.text


def test_a_reader_that_is_none_is_said(project: Project) -> None:
    conftest = f"{READER}\ndef pytest_ctxguard_readers(config): return read\n"
    guarded = project.with_file("conftest.py", conftest).with_test(REPLAYS.format(""))

    result = guarded.run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert "pytest_ctxguard_readers returned" in result.text


def test_a_backend_answers(project: Project) -> None:
    source = """
        @pytest.mark.ctx_answered("shard", at_least=1)
        def test_it(ctx_replay): ctx_replay("mini", full_history, expect_identity=True)
        """
    conftest = BACKEND.replace("pay-shard-7", "pay-core-07")

    result = project.with_file("conftest.py", conftest).with_test(source).run("--ctxguard")

    assert result.outcomes == {"passed": 1}, result.text


@pytest.mark.parametrize("conftest", [COUNTER, BACKEND, READER, CHECK])
def test_the_snippets_load_without_the_plugin(pytester: pytest.Pytester, conftest: str) -> None:
    pytester.makeconftest(conftest)
    pytester.makepyfile("def test_it(): pass")

    result = pytester.runpytest_subprocess("-pno:ctxguard")

    result.assert_outcomes(passed=1)
