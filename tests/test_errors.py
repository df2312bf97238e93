"""The error tree."""

import inspect

import pytest

from pytest_ctxguard import errors
from pytest_ctxguard.errors import BaselineError, CtxguardError, InputError, PromptTooLong


def tree():
    """Error name -> names of its bases in this package, from the docstring's drawing."""
    stack, found = [], {}
    for line in (errors.__doc__ or "").splitlines():
        name = line.lstrip(" │├└─").split(" ")[0]
        if not name.endswith(
            ("Error", "Missing", "Corrupt", "TooLong", "Failure", "Found", "Lost", "Checked")
        ):
            continue
        depth = (len(line) - len(line.lstrip(" │├└─")) - 4) // 4
        stack[depth:] = [name]
        found[name] = tuple(stack[:-1])
    return found


def test_the_drawing_in_the_docstring_is_the_tree():
    classes = {
        name: tuple(
            base.__name__ for base in reversed(kind.__mro__[1:]) if issubclass(base, CtxguardError)
        )
        for name, kind in inspect.getmembers(errors, inspect.isclass)
    }
    assert tree() == classes


PLACES = [
    ({"path": "a.jsonl", "line": 3}, "a.jsonl:3: broken"),
    ({"path": "a.jsonl"}, "a.jsonl: broken"),
    ({}, "broken"),
]


@pytest.mark.parametrize(("place", "text"), PLACES)
def test_an_input_error_begins_with_its_place(place, text):
    error = BaselineError("broken", **place)
    assert isinstance(error, InputError)
    assert str(error) == text
    assert error.what == "broken"
    assert (error.path, error.line) == (place.get("path"), place.get("line"))


def test_a_prompt_too_long_says_both_lengths():
    error = PromptTooLong(40_000, 32_768)
    assert str(error) == "the prompt has 40000 tokens; the context window holds 32768"
    assert (error.tokens, error.limit) == (40_000, 32_768)
