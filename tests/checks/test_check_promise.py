"""From a marker's arguments to promises; errors say the usage."""

import pytest

from pytest_ctxguard.checks.answered import Answered
from pytest_ctxguard.checks.budget import Budget
from pytest_ctxguard.checks.carried import AbsentFact, CarriedFact
from pytest_ctxguard.checks.catalogue import CHECKS
from pytest_ctxguard.checks.honest import Honest
from pytest_ctxguard.checks.lifetime import Lifetime
from pytest_ctxguard.checks.promise import is_count, make_promises
from pytest_ctxguard.checks.repeats import NoRepeats
from pytest_ctxguard.checks.summariser_faults import SummariserFaults
from pytest_ctxguard.checks.summary import Summarising
from pytest_ctxguard.checks.token_cost import TokenCost
from pytest_ctxguard.checks.wellformed import Wellformed
from pytest_ctxguard.errors import UsageError
from tests.factories import case_of, replay_of

MADE = [
    (Budget, (4000,), {}, [Budget(4000)]),
    (Budget, (), {"limit": 4000}, [Budget(4000)]),
    (Wellformed, (), {}, [Wellformed("openai")]),
    (TokenCost, (), {"max_increase": 0.02}, [TokenCost(0.02)]),
    (TokenCost, (), {}, [TokenCost(None)]),
    (CarriedFact, ("a",), {}, [CarriedFact("a")]),
    (CarriedFact, ("a", "b"), {"at": "every"}, [CarriedFact(f, "every") for f in ("a", "b")]),
    (AbsentFact, (), {"fact": "a"}, [AbsentFact("a")]),
    (Answered, ("a", "b"), {"at_least": 5}, [Answered("a", 5), Answered("b", 5)]),
    (Answered, ("a",), {"max_lost": 1}, [Answered("a", 1, 1)]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "args", "kwargs", "promises"), MADE)
def test_arguments_become_promises(kind, args, kwargs, promises):
    assert make_promises(kind, args, kwargs) == tuple(promises)


CARRIED = 'Usage: ctx_carried("fact", "another fact", at="probe", budgets=range(…))'
ABSENT = 'Usage: ctx_absent("fact", "another fact", at="probe")'
ANSWERED = 'Usage: ctx_answered("fact", at_least=5, max_lost=0)'
BUDGET = "Usage: ctx_budget(4000)"
COST = 'Usage: ctx_token_cost(max_increase=0.02, provider="anthropic")'
WELLFORMED = 'Usage: ctx_wellformed(provider="openai")'

REFUSED = [
    (CarriedFact, (), {}, f"ctx_carried names no fact. {CARRIED}"),
    (CarriedFact, (3,), {}, f"ctx_carried: 3 is not the name of a fact. {CARRIED}"),
    (
        CarriedFact,
        ("a",),
        {"where": "probe"},
        f"ctx_carried has no argument 'where'; it has: fact, at, budgets. {CARRIED}",
    ),
    (
        CarriedFact,
        ("a",),
        {"at": "end"},
        f"ctx_carried: at='end' is neither 'probe' nor 'every'. {CARRIED}",
    ),
    (AbsentFact, (), {"at": "every"}, f"ctx_absent names no fact. {ABSENT}"),
    (AbsentFact, (None,), {}, f"ctx_absent: None is not the name of a fact. {ABSENT}"),
    (Answered, (), {}, f"ctx_answered names no fact. {ANSWERED}"),
    (Answered, (3,), {}, f"ctx_answered: 3 is not the name of a fact. {ANSWERED}"),
    (
        Answered,
        ("a",),
        {"at_least": 0},
        f"ctx_answered: at_least=0 is not a count of wordings, 1 or more. {ANSWERED}",
    ),
    (
        Answered,
        ("a",),
        {"at_least": True},
        f"ctx_answered: at_least=True is not a count of wordings, 1 or more. {ANSWERED}",
    ),
    (
        Answered,
        ("a",),
        {"max_lost": -1},
        f"ctx_answered: max_lost=-1 is not a count. {ANSWERED}",
    ),
    (
        Budget,
        (),
        {},
        f"ctx_budget: missing 1 required positional argument: 'limit'. {BUDGET}",
    ),
    (
        Budget,
        (1, 2),
        {},
        f"ctx_budget: takes 2 positional arguments but 3 were given. {BUDGET}",
    ),
    (Budget, (0,), {}, f"ctx_budget: 0 is not a number of tokens. {BUDGET}"),
    (Budget, (4000.0,), {}, f"ctx_budget: 4000.0 is not a number of tokens. {BUDGET}"),
    (Budget, ("4000",), {}, f"ctx_budget: '4000' is not a number of tokens. {BUDGET}"),
    (
        TokenCost,
        (-0.1,),
        {},
        f"ctx_token_cost: max_increase=-0.1 is not a ratio of 0 or more. {COST}",
    ),
    (
        TokenCost,
        (float("nan"),),
        {},
        f"ctx_token_cost: max_increase=nan is not a ratio of 0 or more. {COST}",
    ),
    (
        TokenCost,
        (float("inf"),),
        {},
        f"ctx_token_cost: max_increase=inf is not a ratio of 0 or more. {COST}",
    ),
    (
        TokenCost,
        ("2%",),
        {},
        f"ctx_token_cost: max_increase='2%' is not a ratio of 0 or more. {COST}",
    ),
    (
        TokenCost,
        (True,),
        {},
        f"ctx_token_cost: max_increase=True is not a ratio of 0 or more. {COST}",
    ),
    (
        Wellformed,
        ("acme",),
        {},
        "ctx_wellformed: no rules for 'acme', but for openai, openai-responses, anthropic, gemini, "
        f"bedrock. {WELLFORMED}",
    ),
]


@pytest.mark.parametrize(("kind", "args", "kwargs", "message"), REFUSED)
def test_impossible_arguments_say_the_usage(kind, args, kwargs, message):
    with pytest.raises(UsageError) as caught:
        make_promises(kind, args, kwargs)
    assert str(caught.value) == message


def test_the_catalogue_has_every_marker_under_its_name():
    assert {marker: (kind.marker, kind.tier) for marker, kind in CHECKS.items()} == {
        "ctx_absent": ("ctx_absent", "structure"),
        "ctx_answered": ("ctx_answered", "model"),
        "ctx_budget": ("ctx_budget", "structure"),
        "ctx_carried": ("ctx_carried", "structure"),
        "ctx_catalogue": ("ctx_catalogue", "structure"),
        "ctx_honest": ("ctx_honest", "structure"),
        "ctx_lifetime": ("ctx_lifetime", "structure"),
        "ctx_no_repeats": ("ctx_no_repeats", "structure"),
        "ctx_prefix_moves": ("ctx_prefix_moves", "structure"),
        "ctx_prefix_stable": ("ctx_prefix_stable", "structure"),
        "ctx_summariser_faults": ("ctx_summariser_faults", "structure"),
        "ctx_summary": ("ctx_summary", "structure"),
        "ctx_token_cost": ("ctx_token_cost", "structure"),
        "ctx_unanswered": ("ctx_unanswered", "model"),
        "ctx_wellformed": ("ctx_wellformed", "structure"),
    }


SUBJECTS = [
    (Budget(1), ""),
    (TokenCost(), ""),
    (Wellformed(), "openai"),
    (CarriedFact("a"), "a"),
    (AbsentFact("a", "every"), "a"),
    (Answered("a"), "a"),
    (Honest(), ""),
    (Lifetime(), ""),
    (Lifetime("a"), "a"),
    (NoRepeats(), ""),
    (SummariserFaults(), ""),
    (Summarising(), ""),
]


@pytest.mark.parametrize(("promise", "subject"), SUBJECTS)
def test_what_a_promise_is_about(promise, subject):
    assert promise.subject == subject


@pytest.mark.parametrize("marker", CHECKS)
def test_the_usage_shows_the_marker(marker):
    assert CHECKS[marker].usage.startswith(f"{marker}(")


def test_counts():
    assert is_count(0)
    assert is_count(3, least=3)
    assert not any(is_count(value, least=1) for value in (0, True, 1.0, "1", None))


def test_a_place_names_transcript_policy_label_and_more():
    assert case_of(replay_of(1)).place() == "transcript small, policy cut"
    assert case_of(replay_of(1, label="b")).place("call 3", "message 2") == (
        "transcript small, policy cut 'b', call 3, message 2"
    )
