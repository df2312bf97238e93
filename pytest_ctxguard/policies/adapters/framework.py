"""What every adapter needs of a framework: importing it, and saying what it cannot read."""

from __future__ import annotations

import importlib
import re
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from types import ModuleType
from typing import Any, TypeVar

from pytest_ctxguard.errors import FrameworkMissing, PolicyError

Value = TypeVar("Value")


def require(module: str, *, adapter: str, pip: str) -> ModuleType:
    """Import a module of a framework.

    Args:
        module: its full name.
        adapter: the adapter's name in ``pytest_ctxguard.adapt``.
        pip: the requirement that installs it, for example ``langchain-core>=1.8``.

    Raises:
        FrameworkMissing: it cannot be imported; the ImportError is its cause.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        distribution = re.split(r"[\s\[<>=!~;@]", pip, maxsplit=1)[0]
        why = "" if getattr(error, "name", None) == module.partition(".")[0] else f" ({error})"
        raise FrameworkMissing(
            f"adapt.{adapter} needs {distribution}{why}. Remedy: pip install '{pip}'"
        ) from error


def unknown(value: object, *, adapter: str) -> PolicyError:
    """Return the error for something among a policy's messages that an adapter cannot read."""
    kind = type(value)
    return PolicyError(
        f"adapt.{adapter} cannot read a {kind.__module__}.{kind.__qualname__} among the messages "
        f"its policy returned. Remedy: return messages of the framework that adapt.{adapter} is for"
    )


def then(value: Any, convert: Callable[[Any], Value]) -> Value | Awaitable[Value]:
    """Convert what a sync policy returned, or what an async one will return."""
    return _later(value, convert) if isawaitable(value) else convert(value)


async def _later(value: Awaitable[Any], convert: Callable[[Any], Value]) -> Value:
    return convert(await value)
