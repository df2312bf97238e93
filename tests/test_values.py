"""Values are frozen and slotted: nothing can be changed, or added, behind a reader's back."""

import dataclasses
import importlib
import inspect
import pkgutil

import pytest

from pytest_ctxguard.testing import ScriptedBackend

ROOMS = ("transcript", "tokens", "replay", "recall", "checks", "report", "baseline", "backend")


def dataclasses_of(room):
    module = importlib.import_module(f"pytest_ctxguard.{room}")
    inner = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}.")
    for name in [module.__name__, *(found.name for found in inner)]:
        for _, kind in inspect.getmembers(importlib.import_module(name), inspect.isclass):
            private = kind.__name__.startswith("_")  # what is still being put together
            if dataclasses.is_dataclass(kind) and kind.__module__ == name and not private:
                yield kind


VALUES = [kind for room in ROOMS for kind in dataclasses_of(room)]


def test_they_are_found():
    assert len(VALUES) > 20


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__qualname__)
def test_frozen_and_slotted(kind):
    assert kind.__dataclass_params__.frozen
    assert "__slots__" in vars(kind)


def test_the_test_double_keeps_what_it_was_asked_and_nothing_else():
    backend = ScriptedBackend([])
    with pytest.raises(AttributeError):
        backend.answer = "a typing error is no silent attribute"
