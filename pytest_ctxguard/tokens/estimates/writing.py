"""Write a fitted estimator as a module of its own, which needs this package no more."""

from __future__ import annotations

import json
from importlib.resources import files

from pytest_ctxguard.tokens.estimates.fitting import Fit

HEAD = '''"""Estimate tokens: constants fitted to {against} by `pytest-ctxguard estimate fit`.

{score}
"""
'''
FUNCTION = '''

CONSTANTS: dict[str, float] = {constants}


def estimate(text: str) -> int:
    """Return the estimated tokens of a text."""
    return estimate_by(CONSTANTS, text)
'''


def module_source(fit: Fit, *, against: str) -> str:
    """Return the source of a module with a function ``estimate(text)``."""
    classes = files("pytest_ctxguard.tokens.estimates").joinpath("classes.py")
    source = classes.read_text(encoding="utf-8")
    code = source.partition('\n"""\n')[2]  # without its docstring
    found = fit.held_out[0]
    score = (
        f"Where the same fit had not seen the text, {found.low} of {found.texts} were estimated "
        f"low;\nat worst {found.under:.1%} under and {found.over:.0%} over."
    )
    lines = (f"    {json.dumps(name)}: {value}," for name, value in fit.constants.items())
    constants = "\n".join(["{", *lines, "}"])
    return HEAD.format(against=against, score=score) + code + FUNCTION.format(constants=constants)
