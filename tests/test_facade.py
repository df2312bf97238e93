"""The public names: what is listed is what can be imported."""

import importlib
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_ctxguard
from pytest_ctxguard.errors import ContextGateFailure

PUBLIC = [
    "AgentRun",
    "Backend",
    "Case",
    "ClearToolUses",
    "Completion",
    "ContextGateFailure",
    "CountedThreeStepFit",
    "CtxguardError",
    "Document",
    "Drive",
    "ElideToolResults",
    "Fact",
    "FactsOnly",
    "Finding",
    "Job",
    "Judgement",
    "LimitedBackend",
    "NotedCompaction",
    "PinnedAtEnd",
    "PinnedInSystem",
    "Pipeline",
    "Plant",
    "Reader",
    "Reading",
    "Replay",
    "ScriptedSummariser",
    "Sentence",
    "SlidingWindow",
    "SubAgentReport",
    "SubAgentScope",
    "SummaryCompaction",
    "ThreeStepFit",
    "ToolCall",
    "ToolProbe",
    "Transcript",
    "UserMessages",
    "UserTurnTrimmer",
    "broken_law",
    "command_policy",
    "counter",
    "drive",
    "full_history",
    "mutates",
    "persists",
    "plant",
    "plant_many",
    "prefix_hunt",
    "read_transcript",
    "summariser_faults",
]


def test_the_list_is_sorted_and_complete():
    assert pytest_ctxguard.__all__ == PUBLIC == sorted(PUBLIC)
    assert dir(pytest_ctxguard) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_can_be_imported_and_is_what_its_module_says(name):
    module, _, attribute = pytest_ctxguard._PUBLIC[name].partition(":")
    found = getattr(pytest_ctxguard, name)
    assert found is getattr(importlib.import_module(f"pytest_ctxguard.{module}"), attribute)
    assert callable(found)


def test_a_star_import_brings_the_list():
    names = {}
    exec("from pytest_ctxguard import *", names)  # noqa: S102 - the statement itself is tested
    assert set(names) - {"__builtins__"} == set(PUBLIC)


def test_an_unknown_name():
    with pytest.raises(AttributeError) as caught:
        pytest_ctxguard.Policy  # noqa: B018 - the look-up is what is tested
    assert str(caught.value) == "module 'pytest_ctxguard' has no attribute 'Policy'"
    with pytest.raises(ImportError, match="cannot import name 'Policy'"):
        exec("from pytest_ctxguard import Policy")  # noqa: S102


def test_a_type_checker_sees_the_same_names():
    source = Path(pytest_ctxguard.__file__).read_text(encoding="utf-8")
    block = source.partition("if TYPE_CHECKING:\n")[2].partition("\n\n")[0]
    shown = re.findall(r"^    from \S+ import \w+ as (\w+)", block, re.MULTILINE)
    assert len(shown) == len(block.splitlines())
    assert sorted(shown) == PUBLIC


def test_the_failure_keeps_its_public_name_through_pickle():
    failure = pickle.loads(pickle.dumps(ContextGateFailure("x")))  # noqa: S301 - made just now
    assert type(failure) is pytest_ctxguard.ContextGateFailure


LIGHT = """
import sys
import pytest_ctxguard
heavy = {"numpy", "onnxruntime", "tokenizers", "yaml", "hypothesis", "jinja2", "rich", "click"}
loaded = heavy & {name.partition(".")[0] for name in sys.modules}
loaded |= {name for name in sys.modules if name.startswith("pytest_ctxguard.")}
print(sorted(loaded))
"""


def test_importing_the_package_loads_nothing_else():
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"
