"""Which settings are run: all of them on small histories, the changes on long ones."""

import pytest

from pytest_ctxguard.checks.laws.runs import as_transcript
from pytest_ctxguard.checks.laws.subject import Setting, make_subject
from pytest_ctxguard.checks.laws.sweep import GRID, SMALL, sweep
from pytest_ctxguard.checks.laws.terms import make_terms
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from tests.checks.laws.faulty import characters, fitted

TERMS = make_terms(characters)


def user(text):
    return {"role": "user", "content": text}


def settings(policy, history, *, calls=1_000, turn=0, budgets=(), **options):
    subject = make_subject(policy, **options)
    runs = sweep(
        subject, as_transcript(history), terms=TERMS, calls=calls, turn=turn, budgets=budgets
    )
    return [run.setting for run in runs]


def budgets(policy, history, **options):
    return sorted(setting.budget for setting in settings(policy, history, **options))


def test_every_budget_of_a_small_history():
    history = [user("a" * (SMALL - 11))]
    assert characters(history) == SMALL - 1
    assert budgets(fitted, history, calls=3) == list(range(1, SMALL + 1))


def test_of_a_long_one_a_grid_and_each_change_with_the_budget_before_it():
    old, new = user("o" * 100), user("n" * 200)
    history = [old, {"role": "assistant", "content": "y" * 50}, new]
    changes = {210 + 60, 210 + 60 + 110}  # the answer fits beside the newest, then all does
    run = budgets(fitted, history, calls=200)
    assert {*changes, *(change - 1 for change in changes)} <= {*run}
    assert len(run) <= 100


def test_no_more_calls_than_wanted_and_the_budget_at_which_all_fits_first():
    history = [user("a" * 100), {"role": "assistant", "content": "y" * 50}, user("b" * 100)]
    run = settings(fitted, history, calls=8)  # two calls each
    top = characters(history) + 1
    assert [setting.budget for setting in run] == [top, top // 2, top // 4, top // 8]
    assert GRID == 8


def test_halves_of_halves_end_at_one_token():
    history = [user("a" * SMALL)]
    assert budgets(fitted, history, calls=GRID)[0] == 1


@pytest.mark.parametrize("calls", [50, 200])
def test_what_is_counted_grows_with_the_calls_and_no_faster(calls):
    counted = []

    def counter(messages):
        counted.append(len(messages))
        return characters(messages)

    def newest(messages, budget):
        return messages[-max(1, budget // 200) :]

    said = {"role": "assistant", "content": "Yes."}
    history = as_transcript([m for n in range(calls) for m in (user(f"{n}" * 50), said)][:-1])
    subject, terms = make_subject(newest), make_terms(counter)
    runs = list(sweep(subject, history, terms=terms, calls=4 * calls))
    assert len(runs) == 4
    assert len(counted) < 20 * calls


def test_a_policy_that_never_changes_is_run_on_the_grid_alone():
    def constant(messages, budget):
        return [messages[-1]]

    assert len(budgets(constant, [user("a" * 900)], calls=500)) == GRID + 1


def test_given_budgets_and_no_others():
    assert budgets(fitted, [user("a")], budgets=(5, 50)) == [5, 50]


def test_a_policy_without_a_budget_is_run_once():
    assert settings(full_history, [user("a")]) == [Setting()]


def test_every_value_of_a_knob():
    run = settings(SlidingWindow, [user("a")], sweep={"last": range(1, 30)})
    assert [setting.knobs for setting in run] == [{"last": n} for n in range(1, 30)]
    assert str(run[2]) == "last=3"


def test_values_left_out_at_one_turn_are_run_at_another():
    history, sweep_ = [user("a")], {"last": range(1, 30)}
    seen = set()
    for turn in range(3):
        run = settings(SlidingWindow, history, sweep=sweep_, calls=10, turn=turn)
        assert len(run) <= 10
        seen |= {setting.knobs["last"] for setting in run}
    assert seen == {*range(1, 30)}


def test_a_knob_named_budget_is_the_budget():
    def limited(budget):
        return lambda messages: [m for m in messages if len(m["content"]) < budget]

    run = settings(limited, [user("a")], sweep={"budget": (3, 4)})
    assert [setting.budget for setting in run] == [3, 4]
    assert make_subject(limited, {"budget": (3, 4)}).budgeted
    assert [str(setting) for setting in run] == ["budget=3", "budget=4"]


def test_a_function_takes_its_knob_beside_the_messages():
    def newest(messages, last):
        return messages[-last:]

    subject = make_subject(newest, {"last": (1, 2)})
    assert not subject.budgeted
    assert subject.fresh(Setting({"last": 1}))([1, 2, 3]) == [3]


@pytest.mark.parametrize(
    ("policy", "knobs", "said"),
    [
        (SlidingWindow, {"size": [1]}, "sweep names 'size', which SlidingWindow does not take"),
        (SlidingWindow, {"last": []}, "sweep gives no value for 'last'"),
        (fitted, {"budget": [0]}, "a budget is a positive number"),
        (SlidingWindow, {"last": range(1, 1_002)}, "has 1001 combinations"),
        ("window", None, "'window' is not a policy"),
    ],
)
def test_an_impossible_sweep_is_refused(policy, knobs, said):
    with pytest.raises(UsageError, match=said):
        make_subject(policy, knobs)


def test_each_run_gets_a_fresh_policy():
    class Counting:
        def __init__(self):
            self.calls = 0

        def __call__(self, messages):
            self.calls += 1
            return [{"role": "user", "content": str(self.calls)}]

    subject = make_subject(Counting())
    transcript = as_transcript([user("a"), {"role": "assistant", "content": "b"}, user("c")])
    for _ in range(2):
        [run] = sweep(subject, transcript, terms=TERMS, calls=10)
        assert [request.messages[0]["content"] for _, request in run.requests] == ["1", "2"]


def test_a_policy_that_cannot_be_copied_is_asked_for_as_a_factory():
    class Stubborn:
        def __deepcopy__(self, memo):
            raise TypeError("no")

        def __call__(self, messages):
            return messages

    with pytest.raises(UsageError, match="Give a factory"):
        make_subject(Stubborn())
    assert make_subject(lambda: Stubborn()).name
