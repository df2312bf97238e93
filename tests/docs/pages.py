"""The blocks of a page, and what is done with each: read from the page, run in a folder."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import yaml
from sybil import Document, Region
from sybil.parsers.markdown.lexers import DirectiveInHTMLCommentLexer, RawFencedCodeBlockLexer

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
)
LANGUAGES = ("python", "sh", "console", "text", "toml", "ini", "yaml", "json")
KEYS = ("given", "file", "run", "instead", "exit", "model", "not run")
REASONS = (
    "drawing",  # neither code nor output
    "figures",  # of one run on one machine; `benchmarks/` prints them
    "framework",  # of others, in an environment of its own: `nox -s adapters` runs it
    "minutes",  # of the model; `benchmarks/` runs it
    "network",
    "process",  # that runs until it is stopped
)


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: its page, relative to the root.
        line: of its fence, from 1.
        language: as the fence says; ``text``, or none, is what is printed: by its own ``run``,
            or by the block before it.
        source: its text.
        directive: of the comment ``<!-- block: … -->`` right before it, a YAML mapping.
    """

    page: str
    line: int
    language: str
    source: str
    directive: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """Page and line."""
        return f"{self.page}:{self.line}"

    @property
    def reason(self) -> str:
        """Why it is not run; nothing where it is."""
        return str(self.directive.get("not run", ""))

    @property
    def is_test(self) -> bool:
        """Whether pytest runs it."""
        return self.language == "python" and "def test_" in self.source

    @property
    def is_told(self) -> bool:
        """Whether it is what the block before it prints."""
        return self.language == "text" and "run" not in self.directive and not self.reason

    @property
    def file(self) -> str:
        """The name under which it is written; nothing: it is not."""
        default = ""
        if self.language == "python":
            default = "test_page.py" if self.is_test else "page.py"
        return str(self.directive.get("file", default))

    @property
    def kept(self) -> bool:
        """Whether the blocks after it have its file, too."""
        return "file" in self.directive

    @property
    def replaced(self) -> str:
        """What is run in its place; nothing: itself."""
        return str(self.directive.get("instead", self.directive.get("run", "")))

    @cached_property
    def commands(self) -> str:
        """What a shell is given."""
        if self.replaced or self.kept or self.reason:
            return self.replaced
        if self.language == "python":
            guarded = " --ctxguard" if "ctx_" in self.source else ""
            return f"pytest{guarded} {self.file}" if self.is_test else f"python {self.file}"
        given = str(self.directive.get("given", ""))
        if self.language == "sh":
            return given + self.source
        if self.language == "console":
            return given + "\n".join(line.removeprefix("$ ") for line in self._typed)
        return ""

    @property
    def output(self) -> str:
        """What it says that it prints: a ``text`` block, or the answers of a ``console`` one."""
        if self.language == "text":
            return self.source
        if self.language == "console":
            typed = set(self._typed)
            return "\n".join(line for line in self.source.splitlines() if line not in typed)
        return ""

    @property
    def _typed(self) -> Sequence[str]:
        lines: list[str] = []
        for line in self.source.splitlines():
            if line.startswith("$ ") or (lines and lines[-1].endswith("\\")):
                lines.append(line)
        return lines


@dataclass(frozen=True)
class Case:
    """A block that is run, and its surroundings.

    Attributes:
        block: it.
        prints: the blocks after it that say what it prints.
        files: those before it that were written.
        above: imports and definitions of the Python blocks before it, which a reader has seen.
    """

    block: Block
    prints: tuple[Block, ...] = ()
    files: tuple[Block, ...] = ()
    above: str = ""

    def written(self, block: Block) -> str:
        """Return a file's text: a Python block after what stands above it and what it is given."""
        if block.language != "python" or block.kept:
            return block.source
        return "\n".join([self.above, str(block.directive.get("given", "")), block.source])


def blocks(page: str) -> tuple[Block, ...]:
    """Return the blocks of a page, in order.

    Raises:
        ValueError: a language, a key or a reason is none of those known, or a directive stands
            before no block.
    """
    fences = RawFencedCodeBlockLexer(re.compile(r"(?P<language>\S*)[^\n]*$\n", re.MULTILINE))
    directives = DirectiveInHTMLCommentLexer("block")
    text = (ROOT / page).read_text(encoding="utf-8")
    document = Document(text, str(ROOT / page))
    spans = sorted([*fences(document), *directives(document)], key=lambda region: region.start)
    found: list[Block] = []
    pending: Region | None = None
    for region in spans:
        line = text.count("\n", 0, region.start) + 1
        if "directive" in region.lexemes:
            pending = region
            continue
        directive = _directive(pending, before=region, document=document)
        block = Block(
            page=page,
            line=line,
            language=str(region.lexemes["language"]) or "text",
            source=str(region.lexemes["source"]),
            directive=directive,
        )
        _check(block)
        found.append(block)
        pending = None
    if pending is not None:
        raise ValueError(f"{page}: the last directive stands before no block")
    return tuple(found)


def cases(page: str) -> Iterator[Case]:
    """Yield what is to be run of a page.

    Raises:
        ValueError: a block says what is printed, and the one before it prints nothing.
    """
    every = blocks(page)
    for before, told in pairwise((None, *every)):
        if told.is_told and not (before and (before.is_told or before.commands)):
            raise ValueError(f"{told.place}: no block before it prints this; give it `run:`")
    files: list[Block] = []
    above: list[str] = []
    for place, block in enumerate(every):
        if block.reason or block.is_told:
            continue
        yield Case(
            block=block,
            prints=tuple(takewhile(lambda after: after.is_told, every[place + 1 :])),
            files=tuple(files),
            above="\n".join(above),
        )
        if block.kept:
            files.append(block)
        elif block.language == "python":
            above += _definitions(block)


def _directive(region: Region | None, *, before: Region, document: Document) -> Mapping[str, Any]:
    if region is None:
        return {}
    place = document.line_column(region.start)
    if document.text[region.end : before.start].strip("->\n "):
        raise ValueError(f"{document.path}, {place}: the directive stands before no block")
    text = f"{region.lexemes['arguments']}\n{region.lexemes['source']}"
    value = yaml.safe_load(text)
    if not isinstance(value, dict):
        raise ValueError(f"{document.path}, {place}: the directive is no mapping: {text!r}")
    return value


def _check(block: Block) -> None:
    if block.language not in LANGUAGES:
        raise ValueError(f"{block.place}: {block.language!r} is none of {', '.join(LANGUAGES)}")
    unknown = set(block.directive) - set(KEYS)
    if unknown:
        raise ValueError(f"{block.place}: {unknown} are none of {', '.join(KEYS)}")
    shell = block.language in ("sh", "console")
    if "given" in block.directive and (block.kept or (shell and block.replaced)):
        raise ValueError(f"{block.place}: what is given goes before nothing here")
    if block.reason and block.reason not in REASONS:
        raise ValueError(f"{block.place}: {block.reason!r} is none of {', '.join(REASONS)}")


def _definitions(block: Block) -> list[str]:
    """Return what later blocks of the page may use: imports; of a test module, all but tests."""
    try:
        nodes = ast.parse(block.source).body
    except SyntaxError:
        return []  # the block's own test says where
    if block.is_test:
        kept = [node for node in nodes if not getattr(node, "name", "").startswith("test_")]
    else:
        kept = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    return [ast.unparse(node) for node in kept]
