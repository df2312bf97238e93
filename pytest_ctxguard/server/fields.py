"""Read the fields of a request body; what is wrong with one is a refusal that names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.server.refusals import Refusal

Missing = Callable[[str], Refusal]  # name -> refusal
Wrong = Callable[[str, str, Any], Refusal]  # name, what was expected, value -> refusal


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one JSON object.

    Attributes:
        body: the object.
        missing: says that a field is not there.
        wrong: says that a field is not what it should be.
        path: where the object stands in the request, with its last dot.
    """

    body: Mapping[str, Any]
    missing: Missing
    wrong: Wrong
    path: str = ""

    def text(self, name: str, *, required: bool = False) -> str | None:
        """Return a string field."""
        value = self._get(name, required=required)
        if value is not None and not isinstance(value, str):
            raise self.wrong(self.path + name, "a string", value)
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean field."""
        value = self._get(name)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(self.path + name, "a boolean", value)
        return default if value is None else value

    def integer(
        self, name: str, *, required: bool = False, minimum: int | None = None
    ) -> int | None:
        """Return an integer field."""
        value = self._get(name, required=required)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(self.path + name, "an integer", value)
        if minimum is not None and value < minimum:
            raise self.wrong(self.path + name, f"an integer >= {minimum}", value)
        return value

    def number(self, name: str, *, maximum: float, default: float) -> float:
        """Return a number field from 0 to ``maximum``."""
        value = self._get(name)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.wrong(self.path + name, "a number", value)
        if not 0 <= value <= maximum:
            raise self.wrong(self.path + name, f"a number from 0 to {maximum:g}", value)
        return float(value)

    def array(self, name: str, *, required: bool = False) -> list[Any] | None:
        """Return an array field."""
        value = self._get(name, required=required)
        if value is not None and not isinstance(value, list):
            raise self.wrong(self.path + name, "an array", value)
        return value

    def object(self, name: str, *, required: bool = False) -> dict[str, Any] | None:
        """Return an object field."""
        value = self._get(name, required=required)
        if value is not None and not isinstance(value, dict):
            raise self.wrong(self.path + name, "an object", value)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a field of strings, or of one."""
        value = self._get(name)
        if value is None:
            return ()
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(self.path + name, "a string or an array of strings", value)
        return tuple(value)

    def at(self, path: str, value: Any) -> Fields:
        """Return the fields of an object inside this one."""
        if not isinstance(value, dict):
            raise self.wrong(path, "an object", value)
        return Fields(value, self.missing, self.wrong, f"{path}.")

    def _get(self, name: str, *, required: bool = False) -> Any:
        value = self.body.get(name)
        if value is None and required:
            raise self.missing(self.path + name)
        return value
