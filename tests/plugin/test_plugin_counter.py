"""What counts in a run: ini, option, and what is said of a counter that approximates."""

from __future__ import annotations

import pytest

from tests.plugin.project import Project
from tests.tokens.tiny_vocabulary import TEMPLATE, tiny_json

TESTS = """
    @pytest.mark.ctx_budget(100_000)
    @pytest.mark.ctx_token_cost
    def test_it(ctx_replay):
        replay = ctx_replay("mini", full_history{given}, expect_identity=True)
        print("billed", replay.tokens.billed, "by", replay.counter.name)
    """
WHY = "there is no chat template beside the tokenizer"


def suite(project: Project, given: str = "") -> Project:
    (project.root / "tiny").mkdir(exist_ok=True)
    (project.root / "tiny" / "tokenizer.json").write_text(tiny_json(), encoding="utf-8")
    return project.with_test(TESTS.format(given=given))


def test_the_ini_key_names_a_file_beside_the_ini_file(project: Project) -> None:
    guarded = suite(project).with_ini(ctxguard_counter="tiny/tokenizer.json")

    result = guarded.run("--ctxguard", "-s")

    assert result.outcomes == {"passed": 1}
    assert "counter " in result.text
    assert "tiny/tokenizer.json (ini ctxguard_counter); " in result.text
    assert "by tiny (tokenizers runtime, " in result.text


def test_what_is_approximate_is_called_so_and_the_reason_said_once(project: Project) -> None:
    result = suite(project).run("--ctxguard", "-octxguard_counter=tiny")

    [budget] = [line for line in result.section.splitlines() if " budget: " in line]
    [cost] = [line for line in result.section.splitlines() if " token_cost: " in line]
    assert "; approximate, by tiny (" in budget
    assert "; approximate, by tiny (" in cost
    assert result.section.count(WHY) == 1


def test_an_exact_counter_is_not_called_approximate(project: Project) -> None:
    guarded = suite(project)
    (project.root / "tiny" / "chat_template.jinja").write_text(TEMPLATE, "utf-8")

    result = guarded.run("--ctxguard", "-octxguard_counter=tiny", "-s")

    assert result.outcomes == {"passed": 1}
    assert "approximate" not in result.section
    assert "its own chat template" in result.text


def test_an_override_on_the_command_line_comes_before_the_ini_file(project: Project) -> None:
    guarded = suite(project).with_ini(ctxguard_counter="tiny")

    result = guarded.run("--ctxguard", "-octxguard_counter=qwen2.5", "-s")

    assert "ctxguard: counter qwen2.5; " in result.text
    assert "by qwen2.5 (" in result.text


def test_a_test_may_name_another(project: Project) -> None:
    guarded = suite(project, given=", counter=lambda messages: 7 * len(messages)")

    result = guarded.run("--ctxguard", "-s")

    assert result.outcomes == {"passed": 1}
    assert "<lambda>" in result.text
    assert "is not given the tool definitions" in " ".join(result.section.split())


def test_another_counter_makes_the_baseline_incomparable(project: Project) -> None:
    guarded = suite(project)
    guarded.run("--ctxguard", "--ctxguard-update")

    result = guarded.run("--ctxguard", "-octxguard_counter=tiny")

    assert result.outcomes == {"failed": 1}
    assert "incomparable" in result.text


@pytest.mark.parametrize("name", ["claude", "tiny/none.json"])
def test_an_unknown_counter_is_a_usage_error(project: Project, name: str) -> None:
    result = suite(project).run("--ctxguard", f"-octxguard_counter={name}")

    assert result.exit == pytest.ExitCode.USAGE_ERROR
    assert f"no counter is named '{name}'; there are: qwen2.5, o200k" in result.text


def test_a_counter_that_is_none_is_the_tests_own_error(project: Project) -> None:
    result = suite(project, given=", counter=4").run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert "counter=4 is no counter" in result.text
