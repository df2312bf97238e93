"""Prefixes and what they cost, through the marks and ini keys."""

from __future__ import annotations

from tests.plugin.project import UPDATE, Project

RULES = """
dated = 2026-10-01
[mine]
source = "our proxy's manual"
seen = 2026-09-30
match = "prefix"
order = "tools, system, messages"
read = 0.5
write = 1
"""
PRICES = 'currency = "EUR"\n[mine]\ninput = 2\noutput = 8\n'


def test_a_window_breaks_the_prefix_and_a_reason_allows_it(project: Project) -> None:
    result = project.with_test(
        """
    @pytest.mark.ctx_prefix_stable(min_reuse=0.9)
    @pytest.mark.ctx_prefix_moves(reason="a window, on purpose", at_most=99)
    def test_allowed(ctx_replay):
        ctx_replay("mini", SlidingWindow(last=6))

    @pytest.mark.ctx_prefix_stable(min_reuse=0.9)
    def test_not(ctx_replay):
        ctx_replay("mini", SlidingWindow(last=6))
    """
    ).run("--ctxguard", "--ctxguard-tier=structure")

    assert result.outcomes == {"passed": 1, "failed": 1}
    assert "moves: a window, on purpose" in result.section
    assert "dropped" in result.findings("test_not")["ctx_prefix_stable.breaks"]["what"]


def test_own_rules_and_prices(project: Project) -> None:
    project = (
        project.with_file("rules.toml", RULES)
        .with_file("prices.toml", PRICES)
        .with_ini(ctxguard_cache_rules="rules.toml", ctxguard_prices="prices.toml")
        .with_test(
            """
    @pytest.mark.ctx_token_cost(provider="mine", max_increase=0.0)
    @pytest.mark.ctx_token_cost(max_total=50_000)
    def test_it(ctx_replay):
        replay = ctx_replay("mini", full_history)
        assert replay.cost("mine").read > 0
        assert replay.cuts("mine") == {}
    """
        )
    )
    project.run(*UPDATE)
    [metrics] = project.run("--ctxguard").baseline["entries"]["test_it"].values()
    result = project.run("--ctxguard")

    assert set(metrics) == {"weighted_input_tokens:mine"}
    assert result.outcomes == {"passed": 1}
    assert "mine, rules of 2026-10-01" in result.section
    assert "EUR with the answers" in result.section
    assert "[unchanged]" in result.section


def test_broken_rules_are_an_error_with_their_place(project: Project) -> None:
    result = (
        project.with_file("rules.toml", RULES + "colour = 1\n")
        .with_ini(ctxguard_cache_rules="rules.toml")
        .with_test(
            """
    @pytest.mark.ctx_token_cost(provider="mine")
    def test_it(ctx_replay):
        ctx_replay("mini", full_history)
    """
        )
        .run("--ctxguard")
    )

    assert result.outcomes == {"failed": 1}
    assert "rules.toml: [mine]: 'colour' is not used" in result.text
