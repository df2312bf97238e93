"""The facade of the adapters: what is listed can be had, and imports no framework."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ctxguard import adapt
from pytest_ctxguard.errors import CtxguardError

FRAMEWORKS = (
    "ag2", "agent_framework", "agentfit", "autogen_core", "google.adk", "haystack", "inspect_ai",
    "langchain", "langchain_core", "langmem", "litellm", "llama_index", "agents", "pydantic_ai",
    "semantic_kernel", "strands",
)  # fmt: skip


def test_every_name_is_a_function_of_its_module():
    assert adapt.__all__ == sorted(adapt.__all__) == dir(adapt)
    for name in adapt.__all__:
        assert getattr(adapt, name).__name__ == name


def test_a_type_checker_sees_the_same_names():
    tree = ast.parse(Path(adapt.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert imported == set(adapt.__all__)


def test_no_adapter_imports_a_framework_by_itself():
    program = (
        "import sys; from pytest_ctxguard import adapt; "
        "[getattr(adapt, name) for name in adapt.__all__]; "
        f"print(sorted(set({FRAMEWORKS!r}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="has no attribute 'crewai'"):
        adapt.crewai  # noqa: B018 - the look-up is what is tested


def test_a_missing_framework_names_what_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain_core", None)
    monkeypatch.setitem(sys.modules, "langchain_core.messages", None)
    with pytest.raises(CtxguardError, match=r"pip install .*langchain"):
        adapt.langchain(lambda messages: messages)([{"role": "user", "content": "a"}])
