"""The marker ``ctx_estimator`` and the fixture ``ctx_estimate``."""

from __future__ import annotations

import pytest

from tests.plugin.project import Project

GOOD = """
    def exact(text):
        from pytest_ctxguard.tokens.request import RequestEncoder
        global ENCODER
        ENCODER = globals().get("ENCODER") or RequestEncoder()
        return len(ENCODER.encode_text(text))

    def quarter(text):
        return -(-len(text) // 4)
    """


@pytest.fixture
def estimating(project: Project) -> Project:
    from textwrap import dedent

    return project.with_file("estimators.py", dedent(GOOD))


def test_an_estimator_within_its_bounds_passes(estimating: Project) -> None:
    test = """
        from estimators import exact

        @pytest.mark.ctx_estimator(against="qwen2.5", max_under=0.0, max_over=0.0)
        def test_ours(ctx_estimate):
            audit = ctx_estimate(exact)
            assert audit.against("qwen2.5").worst("under").under == 0
        """
    result = estimating.with_test(test).run("--ctxguard", "--ctxguard-tier=structure")
    assert result.outcomes == {"passed": 1}
    assert "exact, estimator(qwen2.5): of 121 texts 0 low, 0 high" in result.section
    assert "promises: 2 pass" in result.section


def test_an_estimator_beyond_them_fails_with_a_short_example(estimating: Project) -> None:
    test = """
        from estimators import quarter

        @pytest.mark.ctx_estimator(against="qwen2.5", max_under=0.5, max_over=0.2)
        def test_ours(ctx_estimate):
            ctx_estimate(quarter)
        """
    result = estimating.with_test(test).run("--ctxguard")
    assert result.outcomes == {"failed": 1}
    findings = result.findings("test_ours")
    assert set(findings) == {"ctx_estimator.under", "ctx_estimator.over"}
    low = findings["ctx_estimator.under"]
    assert low["what"].startswith("quarter underestimates ")
    assert low["where"].startswith("against qwen2.5: nfc-growing, rare-han, private-use, ")
    assert "; in short, " in low["measured"]
    assert low["allowed"] == "50% under, on every text"
    assert "max_under=0.9" in low["remedy"]
    assert "long-line" in findings["ctx_estimator.over"]["where"]


def test_scripts_and_kinds_say_what_is_judged(estimating: Project) -> None:
    test = """
        from estimators import quarter

        @pytest.mark.ctx_estimator(
            against="qwen2.5", max_under=0.4, max_over=1.0, scripts=["Latin"], kinds=["long-line"]
        )
        def test_latin(ctx_estimate):
            ctx_estimate(quarter)
        """
    result = estimating.with_test(test).run("--ctxguard")
    assert result.outcomes == {"failed": 1}
    found = result.findings("test_latin")["ctx_estimator.under"]
    assert found["what"].startswith("quarter underestimates ")
    assert "Latin (Yoruba)" in found["where"]
    assert "of 21 texts" in found["what"]


def test_the_closest_mark_wins_for_each_counter(estimating: Project) -> None:
    test = """
        from estimators import exact, quarter

        pytestmark = pytest.mark.ctx_estimator(against="qwen2.5", max_under=0.0, max_over=0.0)

        @pytest.mark.ctx_estimator(against="qwen2.5", max_under=0.99, max_over=1.0)
        def test_both_bounds(ctx_estimate):
            ctx_estimate(quarter)

        @pytest.mark.ctx_estimator(against=quarter, max_under=0.1, max_over=0.1)
        def test_two_estimators_disagree(ctx_estimate):
            ctx_estimate(exact)
        """
    result = estimating.with_test(test).run("--ctxguard")
    assert result.outcomes == {"passed": 1, "failed": 1}
    low = result.findings("test_two_estimators_disagree")
    over = low["ctx_estimator.over"]
    assert over["where"].startswith("against quarter: ")
    assert over["remedy"].startswith("accept it: max_over=")  # no counter to fit to


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ('against="qwen2.5", max_under=0.0', "needs max_over: a bound on one side alone rewards"),
        ("max_under=0.0, max_over=1.0", "needs against"),
        ('"qwen2.5", max_under=0.0, max_over=1.0', "takes its arguments by name, not 'qwen2.5'"),
        ('against="qwen", max_under=0, max_over=1', "no counter is named 'qwen'; there are: qwen2"),
        ("against=(), max_under=0, max_over=1", "against= names nothing"),
        ('against="qwen2.5", max_under=1.0, max_over=1', "max_under=1.0 allows an estimate of 0"),
        ('against="qwen2.5", max_under=0, max_over=-1', "max_over=-1 is no share"),
        ('against="qwen2.5", max_under=0, max_over=True', "max_over=True is no share"),
        ('against="qwen2.5", max_under=0, max_over=float("inf")', "max_over=inf is no share"),
        ('against="qwen2.5", max_under=0, max_over=1, max=1', "has no argument 'max'"),
        (
            'against="qwen2.5", max_under=0, max_over=1, scripts=["Klingon"]',
            "scripts: no 'Klingon'; there are: Arabic, ",
        ),
        ('against="qwen2.5", max_under=0, max_over=1, kinds="hex"', "give a sequence"),
        (
            'against="qwen2.5", max_under=0, max_over=1, scripts=(), kinds=()',
            "leave nothing to judge",
        ),
    ],
)
def test_a_bad_mark_is_its_tests_setup_error(
    project: Project, arguments: str, message: str
) -> None:
    test = f"""
        @pytest.mark.ctx_estimator({arguments})
        def test_ours(ctx_estimate):
            raise AssertionError("must not run")
        """
    result = project.with_test(test).run("--ctxguard")
    assert result.outcomes == {"errors": 1}
    assert message in result.failure("test_ours").replace("\n", " ")


def test_what_judges_nothing_fails(estimating: Project) -> None:
    test = """
        from estimators import exact

        @pytest.mark.ctx_estimator(against="qwen2.5", max_under=0, max_over=0)
        def test_nothing_called():
            pass

        def test_no_mark(ctx_estimate):
            ctx_estimate(exact)

        @pytest.mark.ctx_estimator(against="qwen2.5", max_under=0, max_over=0,
                                   scripts=(), kinds=["tool-call"])
        def test_shapes_of_a_text(ctx_estimate):
            ctx_estimate(exact)

        @pytest.mark.ctx_estimator(against="qwen2.5", max_under=0, max_over=0)
        def test_body_fails(ctx_estimate):
            ctx_estimate(exact)
            assert False
        """
    result = estimating.with_test(test).run("--ctxguard")
    assert result.outcomes == {"failed": 4}
    assert "Call ctx_estimate(estimator)" in result.failure("test_nothing_called")
    assert "by the test's mark, and it has none" in result.failure("test_no_mark")
    assert "has no text of scripts=()" in result.failure("test_shapes_of_a_text")
    assert result.subjects("test_body_fails", kind="estimate") == []


def test_a_mark_is_judged_in_the_structure_tier_beside_one_of_the_model(
    estimating: Project,
) -> None:
    test = """
        from estimators import quarter

        @pytest.mark.ctx_needle_recall(at_least=1, trials=1)
        @pytest.mark.ctx_estimator(against="qwen2.5", max_under=0, max_over=0)
        def test_ours(ctx_estimate):
            ctx_estimate(quarter)
        """
    result = estimating.with_test(test).run("--ctxguard", "--ctxguard-tier=structure")
    assert result.outcomes == {"failed": 1}
    assert "not checked in this tier: needle_recall" in result.section
