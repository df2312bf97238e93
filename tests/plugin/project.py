"""A small pytest project as a value, so that a test of the plugin reads as what it specifies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from pytest_ctxguard.transcript.jsonl import dump
from pytest_ctxguard.transcript.model import Fact, Transcript

TEMPLATE = Path(__file__).parent / "projects" / "mini"
PREAMBLE = """\
import pytest
from pytest_ctxguard import SlidingWindow, ThreeStepFit, UserMessages, full_history

"""
UPDATE = ("--ctxguard", "--ctxguard-update")
PARTS = ("where", "measured", "allowed", "why", "remedy")
SECTION = re.compile(r"^=+ ctxguard =+$\n(.*?)(?=^=+ .+ =+$)", re.MULTILINE | re.DOTALL)
FINDING = re.compile(r"^\[(?P<rule>ctx_[a-z_.-]+)\] (?P<what>.+)$")


@dataclass(frozen=True)
class Result:
    """What one pytest run came to.

    Attributes:
        root: the project's folder.
        exit: pytest's exit status.
        outcomes: outcome -> number of tests, as the last line counts them.
        text: everything printed.
        reports: the test reports as the controller saw them.
    """

    root: Path
    exit: int
    outcomes: Mapping[str, int]
    text: str
    reports: tuple[Mapping[str, Any], ...]

    @property
    def section(self) -> str:
        """The ctxguard section, or nothing."""
        found = SECTION.search(self.text)
        return found.group(1) if found else ""

    @property
    def judged(self) -> str:
        """The section without what asking took, which depends on who asked first."""
        lines = self.section.splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith("model: "))

    @property
    def baseline(self) -> Any:
        """The baseline file of the project's one module, parsed."""
        return json.loads(self.baseline_path.read_bytes())

    @property
    def baseline_path(self) -> Path:
        """Where that file stands."""
        return self.root / "test_mini.ctxguard.json"

    @property
    def payloads(self) -> Mapping[str, Any]:
        """Test -> what rode on its report."""
        return {r["test"]: json.loads(r["payload"]) for r in self.reports if r["payload"]}

    def states(self, test: str) -> dict[str, str]:
        """Return what each metric of a test is to the baseline."""
        judged = [j for row in self.payloads[test]["subjects"] for j in row["judgements"]]
        return {name: state for judgement in judged for name, state in judgement["states"].items()}

    def subjects(self, test: str, *, kind: str) -> list[Any]:
        """Return what of one kind a test judged."""
        return [row for row in self.payloads[test]["subjects"] if row["kind"] == kind]

    def failure(self, test: str) -> str:
        """Return the text of the one failing report of a test."""
        texts = [r["text"] for r in self.reports if r["test"] == test and r["outcome"] == "failed"]
        assert len(texts) == 1, f"{len(texts)} failing reports of {test}:\n{self.text}"
        return str(texts[0])

    def findings(self, test: str) -> dict[str, dict[str, str]]:
        """Return the findings a test failed with: rule -> what, and each of the five parts."""
        found: dict[str, dict[str, str]] = {}
        lines = iter(self.failure(test).splitlines())
        for line in lines:
            head = FINDING.match(line)
            if head:
                rows = [next(lines) for _ in PARTS]
                labels = tuple(row.split()[0] for row in rows)
                assert labels == PARTS, f"not the five parts, in order: {rows}"
                parts = dict(zip(PARTS, (row.split(maxsplit=1)[1] for row in rows), strict=True))
                found[head["rule"]] = {"what": head["what"], **parts}
        return found


@dataclass(frozen=True)
class Project:
    """A pytest project: the mini conftest, the mini transcript, and the files given.

    Every ``with_`` method returns another project; ``run`` writes the files and runs pytest.
    What earlier runs left in the folder, a baseline for instance, stays.
    """

    pytester: pytest.Pytester
    files: Mapping[str, str] = field(default_factory=dict)
    transcripts: tuple[Transcript, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def root(self) -> Path:
        """The project's folder."""
        return self.pytester.path

    @property
    def baseline_path(self) -> Path:
        """Where the baseline of the project's one module stands."""
        return self.root / "test_mini.ctxguard.json"

    @property
    def entries(self) -> dict[str, Any]:
        """Test -> label -> metric, as that file has them now."""
        entries: dict[str, Any] = json.loads(self.baseline_path.read_bytes())["entries"]
        return entries

    @property
    def last_run(self) -> dict[str, Any]:
        """What the last run left in pytest's cache."""
        path = self.root / ".pytest_cache" / "v" / "ctxguard" / "last-run.json"
        run: dict[str, Any] = json.loads(path.read_bytes())
        return run

    def with_file(self, name: str, text: str) -> Project:
        """Add or replace a file."""
        return replace(self, files={**self.files, name: text})

    def with_test(self, source: str, *, module: str = "test_mini") -> Project:
        """Add or replace a test module; pytest and the reference policies are imported."""
        return self.with_file(f"{module}.py", PREAMBLE + dedent(source))

    def with_transcript(self, transcript: Transcript) -> Project:
        """Add or replace a transcript."""
        others = [t for t in self.transcripts if t.name != transcript.name]
        return replace(self, transcripts=(*others, transcript))

    def with_ini(self, **values: str) -> Project:
        """Set ini keys, over those of the project's file."""
        added = tuple(f"--override-ini={key}={value}" for key, value in values.items())
        return replace(self, options=(*self.options, *added))

    def with_backend(self, variant: str, *, numerics: str = "exact") -> Project:
        """Choose how the scripted model answers, see the mini project's conftest."""
        return self.with_ini(mini_backend=variant, mini_numerics=numerics)

    def run(self, *arguments: str, subprocess: bool = False) -> Result:
        """Run pytest on the project: in this process, or in its own, as under xdist always."""
        self.write()
        parallel = any(argument.startswith("-n") for argument in arguments)
        alone = subprocess or parallel
        run = self.pytester.runpytest_subprocess if alone else self.pytester.runpytest_inprocess
        plugins = ("-pctxguard", "-pxdist") if parallel else ("-pctxguard",)
        log = self.root / "reports.jsonl"
        log.unlink(missing_ok=True)
        result = run(*plugins, "-v", *self.options, *arguments)  # the section has every judgement
        lines = log.read_text().splitlines() if log.exists() else []
        return Result(
            root=self.root,
            exit=int(result.ret),
            outcomes=_outcomes(result),
            text="\n".join([*result.outlines, *result.errlines]),
            reports=tuple(map(json.loads, lines)),
        )

    def write(self) -> None:
        """Write every file of the project."""
        template = {path.name: path.read_text() for path in _files(TEMPLATE)}
        for name, text in {**template, **self.files}.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for transcript in self.transcripts:
            dump(transcript, self.root / "transcripts" / f"{transcript.name}.jsonl")


def _files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.iterdir() if path.is_file())


def _outcomes(result: pytest.RunResult) -> Mapping[str, int]:
    try:
        return result.parseoutcomes()
    except ValueError:  # no test ran, and no last line says so
        return {}


LOG = "2026-03-0{n} 10:{line:02}:17 pay-core-03 handled 1{n}4{line:02} requests, 77777 waiting\n"
WORDINGS = 3


def mini_transcript(*, turns: int = 8, name: str = "mini") -> Transcript:
    """Return a session that plants a shard and an employee number, then fills up with logs.

    Args:
        turns: turns with a tool round of about 400 tokens each.
        name: its name.
    """
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You help a payments team. Answer in one sentence."},
        {"role": "user", "content": "The failing shard is pay-core-07. Keep it in mind."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "Standing rule: name employee 48213 in every hand-over."},
        {"role": "assistant", "content": "Understood."},
    ]
    for n in range(1, turns + 1):
        function = {"name": "read_log", "arguments": json.dumps({"day": n})}
        call = {"id": f"call_{n}", "type": "function", "function": function}
        log = "".join(LOG.format(n=n, line=line) for line in range(10))
        messages += [
            {"role": "user", "content": f"Check day {n}, please."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{n}", "content": log},
            {"role": "assistant", "content": f"Day {n} is fine."},
        ]
    messages.append({"role": "user", "content": "Write the hand-over."})
    return Transcript(
        name=name,
        messages=tuple(messages),
        tools=(_tool(),),
        facts=(
            _fact("shard", "pay-core-07", planted_at=1, asked_at=len(messages) - 1),
            _fact("employee", "48213", planted_at=3, asked_at=len(messages) - 1),
        ),
    )


def _tool() -> dict[str, Any]:
    day = {"type": "object", "properties": {"day": {"type": "integer"}}}
    function = {"name": "read_log", "description": "Read a day's log.", "parameters": day}
    return {"type": "function", "function": function}


def _fact(name: str, value: str, *, planted_at: int, asked_at: int) -> Fact:
    return Fact(
        name=name,
        value=value,
        kind="identifier" if name == "shard" else "rule",
        planted_at=planted_at,
        asked_at=asked_at,
        wordings=tuple(f"Which {name} is it? (wording {n})" for n in range(1, WORDINGS + 1)),
        shape=r"pay-core-\d+" if name == "shard" else r"\b\d{5}\b",
    )
