"""Render a request as the model reads it, with Jinja2 set up as model servers set it up."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Callable
from typing import Any, NoReturn

from pytest_ctxguard.errors import UsageError


def qwen_template() -> str:
    """Return the source of Qwen2.5's chat template."""
    return (importlib.resources.files(__package__) / "data" / "qwen2.5.jinja").read_text("utf-8")


def compile_template(source: str) -> Callable[..., str]:
    """Compile a chat template; the result takes ``messages``, ``tools``, ``add_generation_prompt``.

    Templates run in Jinja2's immutable sandbox, since they come with model files. ``tojson``
    is plain JSON: Jinja2's own escapes ``<``, ``>``, ``&`` and ``'`` for HTML, which would
    change the tokens.
    """
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _refuse
    return environment.from_string(source).render


def _tojson(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> NoReturn:
    raise UsageError(f"the chat template refuses this request: {message}")
