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
    "drawing": 1,
    "figures": 3,
    "framework": 4,
    "minutes": 2,
    "network": 10,
    "process": 5,
}


def _every_case() -> list[Any]:
    found: list[Any] = []
    for page in PAGES:
        try:
            here = list(cases(page))
        except ValueError as error:  # of this page, which fails, and not of collection
            found.append(pytest.param(error, id=page))
            continue
        for case in here:
            marks = [pytest.mark.model] if case.block.directive.get("model") else []
            found.append(pytest.param(case, id=case.block.place, marks=marks))
    return found


@pytest.mark.parametrize("case", _every_case())
def test_block(case: Case | ValueError, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if isinstance(case, ValueError):
        raise case
    block = case.block
    source = case.written(block)
    if block.language in PARSERS:
        PARSERS[block.language](source)
    prepare(tmp_path, case)
    if block.file:
        write(tmp_path / block.file, source)
    if not block.commands:
        return
    if block.directive.get("model"):
        request.getfixturevalue("default_model")
    result = subprocess.run(
        [BASH, "-euo", "pipefail", "-c", block.commands],
        cwd=tmp_path,
        env={**environment(), "PYTHONPATH": str(tmp_path)},
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


def environment() -> dict[str, str]:
    """Return what a command finds: this environment's programs, and no CI around it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GITHUB_") and name not in ("NO_COLOR", "FORCE_COLOR")
    }
    return {
        **kept,
        "COLUMNS": "100",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}",
        "PYTEST_ADDOPTS": "-p ctxguard -p xdist -p pytest-split",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # half of what a small run costs
        "PYTHONDONTWRITEBYTECODE": "1",
    }


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
    return not lines or re.search(rf"^{pattern}$", text, re.MULTILINE) is not None


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


@pytest.mark.parametrize("folder", ["docs", "docs/decisions"])
def test_every_page_is_in_the_index(folder: str) -> None:
    index = ROOT / folder / "README.md"
    links = set(re.findall(r"\]\(([^)#]+\.md)\)", index.read_text(encoding="utf-8")))
    pages = {page.name for page in index.parent.glob("*.md")} - {index.name}
    assert pages - links == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```ruby\n```\n", "'ruby' is none of"),
        ("<!-- block: {runs: ls} -->\n\n```sh\nls\n```\n", "{'runs'} are none of"),
        ("<!-- block: {not run: lazy} -->\n\n```sh\nls\n```\n", "'lazy' is none of"),
        ("<!-- block: later -->\n\n```sh\nls\n```\n", "is no mapping"),
        ("<!-- block: {exit: 1} -->\n\nText.\n\n```sh\nls\n```\n", "stands before no block"),
        ("<!-- block: {exit: 1} -->\n", "stands before no block"),
        ("<!-- block: {given: ls, run: ls} -->\n\n```sh\nls\n```\n", "goes before nothing"),
        ("```\nprinted\n```\n", "no block before it prints this"),
        (
            "<!-- block: {file: a} -->\n\n```sh\nls\n```\n\n```\na\n```\n",
            "no block before it prints",
        ),
    ],
)
def test_what_a_page_cannot_mean_is_refused(tmp_path: Path, text: str, said: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(ValueError, match=re.escape(said)):
        list(cases(str(page)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```sh\necho one\n```\n\n```\ntwo\n```\n", "is not what is printed"),
        ("```sh\necho 11 failed\n```\n\n```\n1 failed\n```\n", "is not what is printed"),
        ("```console\n$ echo one\ntwo\n```\n", "is not what is printed"),
        ("```sh\nfalse\n```\n", "assert 1 == 0"),
        ("```json\n{\n```\n", "Expecting property name"),
        ("```python\ndef test_a(ctx_replay):\n    assert False\n```\n", "assert 1 == 0"),
    ],
)
def test_a_wrong_block_fails(
    tmp_path: Path, request: pytest.FixtureRequest, text: str, said: str
) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    [case] = cases(str(page))
    with pytest.raises((AssertionError, ValueError, pytest.fail.Exception), match=said):
        test_block(case, tmp_path / "folder", request)


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")


def _values(text: str) -> list[str]:
    """Split JSON Lines; a text that is one value is one."""
    lines = text.strip().splitlines()
    return lines if all(line.startswith("{") and line.endswith("}") for line in lines) else [text]
