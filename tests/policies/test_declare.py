"""What a policy says of itself, and that it travels with the policy."""

import functools
import inspect

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.declare import Shape, mutates, persists, undeclared
from pytest_ctxguard.policies.protocol import bind, is_async, is_factory, made, policy_name


def window(messages, budget=3):
    return messages[-budget:]


async def window_async(messages):
    return messages[-1:]


def summing(messages, summarise):
    return summarise(messages)


class Window:
    def __call__(self, messages):
        return messages[-1:]


class AsyncWindow:
    async def __call__(self, messages):
        return messages[-1:]


def test_declarations_add_up():
    policy, shape = undeclared(mutates(persists(window)))
    assert policy is window
    assert shape == Shape(persists=True, mutates=True)
    assert undeclared(window) == (window, Shape())
    assert undeclared(persists(window))[1] == Shape(persists=True)
    assert undeclared(mutates(window))[1] == Shape(mutates=True)


def test_a_declared_policy_is_called_like_the_policy():
    declared = persists(window)
    assert declared([1, 2, 3, 4], budget=2) == [3, 4]
    assert inspect.signature(declared) == inspect.signature(window)
    assert policy_name(declared) == "window"
    assert policy_name(functools.partial(persists(window))) == "window"


def test_as_a_decorator():
    @mutates
    def cuts(messages):
        del messages[0]

    history = [{"role": "user"}, {"role": "assistant"}]
    assert bind(cuts, {})(history) == [{"role": "assistant"}]


def test_a_mutator_that_returns_something_returns_that():
    assert bind(mutates(window), {"budget": 1})([1, 2]) == [2]


def test_without_the_declaration_nothing_is_nothing():
    assert bind(lambda messages: None, {})([1]) is None


def test_a_factory_may_be_declared_or_make_what_is():
    assert is_factory(persists(Window))
    assert undeclared(made(persists(Window), {}))[1] == Shape(persists=True)
    assert undeclared(made(lambda: mutates(Window()), {}))[1] == Shape(mutates=True)
    assert isinstance(made(Window, {}), Window)


def test_a_factory_may_ask_for_the_summariser_and_nothing_else():
    assert is_factory(lambda summarise: Window())
    assert is_factory(lambda *, summarise: Window())
    assert not is_factory(lambda messages, summarise: messages)
    assert made(lambda summarise: lambda m: summarise, {"summarise": 7})(None) == 7
    assert not is_factory(lambda budget=9: budget)


def test_a_factory_of_a_factory():
    assert isinstance(made(lambda summarise: Window, {"summarise": 7}), Window)


def test_a_summariser_nobody_gave():
    with pytest.raises(UsageError) as caught:
        bind(summing, {})
    assert str(caught.value) == (
        "policy summing needs a summariser. Give ctx_replay(…, summariser=…), a function from "
        "messages or text to text; ScriptedSummariser() of pytest_ctxguard.testing is one that "
        "needs no model."
    )
    with pytest.raises(UsageError, match="needs a summariser"):
        made(lambda summarise: Window(), {})


@pytest.mark.parametrize(
    "policy",
    [window_async, AsyncWindow(), persists(window_async), functools.partial(window_async)],
    ids=["function", "object", "declared", "partial"],
)
def test_async_policies_are_known_before_they_are_called(policy):
    assert is_async(policy)


@pytest.mark.parametrize("policy", [window, Window(), AsyncWindow, persists(window)])
def test_what_is_not_async(policy):
    assert not is_async(policy)
