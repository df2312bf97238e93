"""Every block of every page does what the page says; what is not run is listed here."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.pages import PAGES, ROOT, Case, blocks, cases

BASH = shutil.which("bash") or "bash"
PROJECT = Path(__file__).parent / "project"
CASSETTES = ROOT / "fixtures" / "cassettes"
PARSERS: Mapping[str, Callable[[str], Any]] = {
    "toml": tomllib.loads,
    "ini": lambda text: configparser.ConfigParser().read_string(text),
    "yaml": yaml.safe_load,
    "json": lambda text: [json.loads(line) for line in _values(text)],
    "python": lambda text: compile(text, "page", "exec"),
}
# Blocks that are not run, by reason. More of them is a decision: change the number with the page.
NOT_RUN = {
    "drawing": 0,
    "figures": 0,
    "framework": 0,
    "key": 0,
    "minutes": 0,
    "network": 0,
    "process": 0,
}


def _every_case() -> list[Any]:
    found = [case for page in PAGES for case in cases(page)]
    return [
        pytest.param(
            case,
            id=case.block.place,
            marks=[pytest.mark.model] if case.block.directive.get("model") else [],
        )
        for case in found
    ]


@pytest.mark.parametrize("case", _every_case())
def test_block(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = case.block
    source = case.written(block)
    if block.language in PARSERS:
        PARSERS[block.language](source)
    prepare(tmp_path, case)
    if block.file:
        write(tmp_path / block.file, source)
    if not block.commands:
        return
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    result = subprocess.run(
        [BASH, "-euo", "pipefail", "-c", block.commands],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # half of what a small run costs
            "PYTEST_ADDOPTS": "-p ctxguard -p xdist -p pytest-split",
            "COLUMNS": "100",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    broken = set(re.findall(r"^def (test_broken\w*)", block.source, re.MULTILINE))
    status, expected = result.returncode, block.directive.get("exit", 1 if broken else 0)
    assert status == expected, result.stdout
    if block.is_test and "exit" not in block.directive:
        assert set(re.findall(r"^FAILED \S+::(\w+)", result.stdout, re.MULTILINE)) == broken
    for told in (block, *case.prints):
        if not prints(told.output, result.stdout):
            pytest.fail(f"{told.place} is not what is printed:\n{result.stdout}", pytrace=False)


def prepare(folder: Path, case: Case) -> None:
    """Fill a folder with the project of a reader, and with the files of the page so far."""
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True)
    for name, source in {
        "cassettes/agent.yaml": CASSETTES / "anthropic.yaml",
        "sessions/agent.yaml": CASSETTES / "openai-chat.yaml",
        "sessions/agent.jsonl": ROOT / "fixtures" / "transcripts" / "incident-40.jsonl",
        "session.jsonl": ROOT / "fixtures" / "transcripts" / "incident-40.jsonl",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(source, folder / name)
    if case.block.directive.get("model"):
        (folder / "conftest.py").unlink()
    for block in case.files:
        write(folder / block.file, case.written(block))


def write(path: Path, text: str) -> None:
    """Write a file and the folders it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def prints(told: str, printed: str) -> bool:
    """Tell whether a block's lines were printed, one after the other; … stands for any text."""
    lines = [line.rstrip() for line in told.strip("\n").splitlines()]
    pattern = r"\n".join(re.escape(line).replace("…", ".*") for line in lines)
    text = "\n".join(line.rstrip() for line in printed.splitlines())
    return re.search(pattern, text) is not None


def test_what_is_not_run_is_counted() -> None:
    reasons = [b.reason for page in PAGES for b in blocks(page) if b.reason]
    assert dict.fromkeys(NOT_RUN, 0) | Counter(reasons) == NOT_RUN


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", text)
    for path, anchor in links:
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), f"{page}: {path}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, headings), f"{page}: {path}#{anchor}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")]
    links = re.findall(r"\]\(([^)#]+\.md)\)", index)
    assert sorted({"README.md", *links} & set(pages)) == pages


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")


def _values(text: str) -> list[str]:
    """Split JSON Lines; a text that is one value is one."""
    lines = text.strip().splitlines()
    return lines if all(line.startswith("{") and line.endswith("}") for line in lines) else [text]
