"""The page's templates. All text that comes into them is made harmless in one place."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pytest_ctxguard.report.printable import printable_lines

LONGEST = 1_200  # characters of one text


class Templates:
    """The templates of this package, with text escaped as HTML.

    Control characters, half surrogate pairs and marks that turn the direction of text are spelled
    out; of a very long text, the beginning is shown.
    """

    def __init__(self) -> None:
        self._environment = Environment(
            loader=PackageLoader("pytest_ctxguard.report.html"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_shown,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def page(self, **values: Any) -> str:
        """Return the page."""
        return self._environment.get_template("page.html").render(**values)

    def part(self, name: str, **values: Any) -> Markup:
        """Return what a macro of ``parts.html`` makes."""
        macros = self._environment.get_template("parts.html").module
        return Markup(getattr(macros, name)(**values))  # noqa: S704 - of an escaping template

    def text(self, name: str) -> Markup:
        """Return a file beside the templates as it is."""
        folder = files("pytest_ctxguard.report.html") / "templates"
        return Markup((folder / name).read_text(encoding="utf-8"))  # noqa: S704 - this package's


def _shown(value: Any) -> Any:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    text = printable_lines(value[:LONGEST])
    more = len(value) - LONGEST
    return text if more <= 0 else f"{text}… ({more:,} characters more)"
