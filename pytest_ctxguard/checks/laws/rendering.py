"""A counterexample as Python source: a pytest test to paste."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pytest_ctxguard.checks.laws.law import Broken, Law
from pytest_ctxguard.checks.laws.runs import Run
from pytest_ctxguard.checks.laws.terms import Insert, Terms
from pytest_ctxguard.tokens.counters.functions import FunctionCounter
from pytest_ctxguard.tokens.request import RequestEncoder

WIDTH = 92
REPEATED = 40  # characters from which a text that repeats is written as a product


@dataclass(slots=True)
class _Source:
    """Source under construction: its imports, and what could not be written."""

    imports: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def named(self, value: Any) -> str:
        """Return the name a class or function is imported by, or nothing."""
        module, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
        if module == "builtins":
            return str(name)
        if module in ("", None, "__main__") or not name.replace(".", "").isidentifier():
            return ""
        top, _, rest = name.partition(".")
        try:
            found = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            return ""
        if found is not value:
            return ""
        self.imports.add(f"from {_public(module, top)} import {top}")
        return f"{top}.{rest}" if rest else top

    def callable(self, value: Any, what: str) -> str:
        """Return an expression that makes a policy, counter or error class."""
        if isinstance(value, partial):
            made = self.callable(value.func, what)
            values = [self.value(v, what) for v in value.args]
            values += [f"{k}={self.value(v, what)}" for k, v in value.keywords.items()]
            self.imports.add("from functools import partial")
            return f"partial({', '.join([made, *values])})"
        name = self.named(value)
        if name:
            return name
        return self.value(value, what)

    def value(self, value: Any, what: str) -> str:
        """Return an expression for any value; where there is none, a name and a note."""
        text = _quoted(value) if isinstance(value, str) else repr(value)
        if isinstance(value, str | int | float | bytes | tuple | list | dict | set | None):
            return text
        if inspect.isroutine(value) or inspect.isclass(value):
            name = self.named(value)
            if name:
                return name
        elif self.named(type(value)) and text.startswith(f"{type(value).__qualname__}("):
            try:
                twin = eval(text, {type(value).__qualname__: type(value)})  # noqa: S307
                same = twin == value or repr(twin) == text
            except Exception:  # its repr is no source
                same = False
            if same:
                return text
        shown = re.sub(r" at 0x[0-9a-f]+", "", text.partition("\n")[0])
        code = getattr(value, "__code__", None)
        where = f", defined at {code.co_filename}:{code.co_firstlineno}" if code else ""
        self.notes.append(f"{what}: put yours here ({shown}{where})")
        return what


def _public(module: str, name: str) -> str:
    """Return where users import one of this package's names from."""
    package = module.partition(".")[0]
    if package == "pytest_ctxguard":
        public = importlib.import_module(package)
        if name in public.__all__:
            return package
    return module


def as_test(law: Law, broken: Broken, run: Run) -> str:
    """Return a pytest test that fails as long as the policy breaks a law on this history."""
    source = _Source()
    source.imports.add("from pytest_ctxguard import broken_law")
    subject, terms = run.subject, run.terms
    made = source.callable(subject.policy, "policy")
    knobs = {k: source.value(v, k) for k, v in run.setting.knobs.items()}
    end = run.observed[broken.call].history
    given = [f'"{law.name}"', made, "history"]
    if knobs:
        values = ", ".join(f'"{k}": {v}' for k, v in knobs.items())
        given.append(f"knobs={{{values}}}")
    if run.setting.budget is not None and "budget" not in run.setting.knobs:
        given.append(f"budget={run.setting.budget}")
    if run.transcript.tools:
        given.append(f"tools={_literal(list(run.transcript.tools), 8)}")
    given += _terms(terms, source)
    call = f"    assert broken_law({', '.join(given)}) is None"
    if len(call) > WIDTH or "\n" in call:
        listed = "".join(f"        {each},\n" for each in given)
        call = f"    broken = broken_law(\n{listed}    )\n    assert broken is None"
    name = re.sub(r"[^a-z0-9]+", "_", f"{law.name} of {subject.name}".lower()).strip("_")
    lines = [
        *_sorted_imports(source.imports),
        "",
        "",
        f"def test_{name}():",
        *(f"    # {note}" for note in source.notes),
        f"    history = {_literal(list(end), 4)}",
        call,
    ]
    return "\n".join(lines) + "\n"


def _terms(terms: Terms, source: _Source) -> list[str]:
    given = []
    if terms.provider != "openai":
        given.append(f'provider="{terms.provider}"')
    if terms.inserts is None:
        given.append('inserts="any"')
    elif terms.inserts:
        rows = "".join(f"            {_insert(insert, source)},\n" for insert in terms.inserts)
        given.append(f"inserts=(\n{rows}        )")
    if terms.refuses:
        names = "".join(f"{source.callable(each, each.__name__)}, " for each in terms.refuses)
        given.append(f"refuses=({names})")
    if not isinstance(terms.counter, RequestEncoder):
        counter = terms.counter
        function = counter.function if isinstance(counter, FunctionCounter) else counter
        given.append(f"counter={source.callable(function, 'counter')}")
    return [each.replace(", )", ",)") for each in given]


def _insert(insert: Insert, source: _Source) -> str:
    if isinstance(insert, str):
        return _quoted(insert)
    source.imports.add("import re")
    flags = insert.flags & ~re.UNICODE
    return f"re.compile({insert.pattern!r}{f', {flags}' if flags else ''})"


def _sorted_imports(imports: set[str]) -> list[str]:
    plain = sorted(each for each in imports if each.startswith("import "))
    by_module: dict[str, set[str]] = {}
    for each in imports.difference(plain):
        module, _, name = each.removeprefix("from ").partition(" import ")
        by_module.setdefault(module, set()).add(name)
    rows = (f"from {m} import {', '.join(sorted(names))}" for m, names in sorted(by_module.items()))
    return [*plain, *rows]


def _literal(value: Any, indent: int) -> str:
    """Return a JSON value as Python source, broken into lines where it is long."""
    flat = _flat(value)
    if len(flat) + indent <= WIDTH or not isinstance(value, list | tuple | Mapping) or not value:
        return flat
    inner = " " * (indent + 4)
    if isinstance(value, Mapping):
        rows = [f"{inner}{_quoted(k)}: {_literal(v, indent + 4)},\n" for k, v in value.items()]
        return "{\n" + "".join(rows) + " " * indent + "}"
    rows = [f"{inner}{_literal(item, indent + 4)},\n" for item in value]
    return "[\n" + "".join(rows) + " " * indent + "]"


def _flat(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(k)}: {_flat(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return "[" + ", ".join(map(_flat, value)) + "]"
    return repr(value)


def _text(text: str) -> str:
    if len(text) >= REPEATED:
        size = (text + text).find(text, 1)
        if size <= len(text) // 4:
            return f"{_quoted(text[:size])} * {len(text) // size}"
    return _quoted(text)


def _quoted(text: str) -> str:
    """Return a text's literal in double quotes, where that needs no escape."""
    literal = repr(text)
    return literal if '"' in literal else f'"{literal[1:-1]}"'
