from __future__ import annotations

import pytest

from tests.plugin.project import Project

LINE = "ctxguard: 3 guarded tests deselected; run with --ctxguard"

GUARDED_AND_PLAIN = """
@pytest.mark.ctx_carried("shard")
def test_mark(ctx_replay):
    ctx_replay("mini", full_history)

def test_fixture(ctx_replay):
    ctx_replay("mini", full_history)

@pytest.mark.ctx_anwsered("shard")
def test_misspelt():
    raise AssertionError("never runs without --ctxguard")

def test_plain():
    pass
"""


@pytest.fixture
def mixed(project: Project) -> Project:
    return project.with_test(GUARDED_AND_PLAIN)


def test_guarded_tests_are_deselected_and_one_line_says_so(mixed: Project) -> None:
    result = mixed.run()

    assert result.outcomes == {"passed": 1, "deselected": 3}
    assert result.exit == pytest.ExitCode.OK
    assert result.text.count("ctxguard: ") == 1
    assert LINE in result.text.splitlines()
    assert not result.section


def test_the_count_is_not_doubled_by_two_workers(mixed: Project) -> None:
    result = mixed.run("-n2")

    assert result.outcomes["passed"] == 1
    assert result.exit == pytest.ExitCode.OK
    assert [line for line in result.text.splitlines() if line.startswith("ctxguard")] == [LINE]


def test_one_guarded_test_is_counted_in_the_singular(project: Project) -> None:
    result = project.with_test("def test_one(ctx_replay): pass").run()

    assert "ctxguard: 1 guarded test deselected; run with --ctxguard" in result.text


def test_without_guarded_tests_nothing_is_said(project: Project) -> None:
    result = project.with_test("def test_plain(): pass").run()

    assert result.outcomes == {"passed": 1}
    assert "ctxguard: " not in result.text


def test_nothing_else_selected_is_pytests_exit_5(project: Project) -> None:
    result = project.with_test("def test_one(ctx_replay): pass").run()

    assert result.exit == pytest.ExitCode.NO_TESTS_COLLECTED
    assert result.outcomes == {"deselected": 1}


def test_a_plain_run_does_not_clear_last_failed(project: Project) -> None:
    mixed = project.with_test(
        """
        def test_good(ctx_replay):
            ctx_replay("mini", full_history)

        @pytest.mark.ctx_carried("shard")
        def test_bad(ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4))

        def test_plain():
            pass
        """
    )
    assert mixed.run("--ctxguard").outcomes == {"failed": 1, "passed": 2}
    assert mixed.run().outcomes == {"passed": 1, "deselected": 2}
    assert mixed.run("--lf").exit == pytest.ExitCode.NO_TESTS_COLLECTED

    again = mixed.run("--ctxguard", "--lf")

    assert again.outcomes == {"failed": 1}
    assert again.findings("test_bad").keys() == {"ctx_carried.lost"}


def test_a_plain_run_opens_no_backend_and_writes_no_file(
    mixed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = mixed.root / "cache"
    cache.mkdir()
    monkeypatch.setenv("CTXGUARD_CACHE", str(cache))
    mixed.write()
    before = set(mixed.root.rglob("*"))

    result = mixed.run("-p", "no:cacheprovider")

    assert result.outcomes["passed"] == 1
    assert {path.name for path in set(mixed.root.rglob("*")) - before} == {"reports.jsonl"}


def test_the_plugin_can_be_switched_off_where_no_ctx_mark_is_used(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile("def test_plain(): pass")

    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:ctxguard -p no:asyncio")

    result = pytester.runpytest_subprocess("--strict-markers", "-Werror")
    refused = pytester.runpytest_subprocess("--ctxguard")

    result.assert_outcomes(passed=1)
    refused.stderr.fnmatch_lines("*unrecognized arguments: --ctxguard*")


def test_an_installed_plugin_is_found_by_its_entry_point(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_one(ctx_replay): pass")

    result = pytester.runpytest_subprocess("-p", "no:asyncio")

    result.stdout.fnmatch_lines("ctxguard: 1 guarded test deselected; run with --ctxguard")
