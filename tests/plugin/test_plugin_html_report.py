"""An HTML report of a run of the plugin."""

from __future__ import annotations

import pytest

from tests.plugin.project import Project

TEST = """
    @pytest.mark.ctx_carried("shard")
    def test_window(ctx_replay):
        ctx_replay("mini", SlidingWindow(last=2))
    """
HIDING = """
import importlib.util

find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "vl_convert" else find(name, *more)
"""
REPORT = ("--ctxguard", "--ctxguard-tier=structure", "--ctxguard-report=out/run.html")


def test_the_report_of_a_run_has_its_verdict_and_each_call(project: Project) -> None:
    pytest.importorskip("vl_convert")
    result = project.with_test(TEST).run(
        *REPORT, subprocess=True
    )  # the library loads once in a process
    assert result.exit == 1
    page = (project.root / "out" / "run.html").read_text(encoding="utf-8")
    assert "The gate is closed" in page
    assert "ctx_carried" in page
    assert "Buckets by call" in page
    assert "Prefix by call" in page


def test_without_the_library_the_run_ends_at_its_start(project: Project) -> None:
    hidden = project.with_test(TEST).with_file("hiding.py", HIDING)
    result = hidden.run("-p", "hiding", *REPORT, subprocess=True)
    assert result.exit == 4
    assert "pip install 'pytest-ctxguard[html]'" in result.text
    assert not (project.root / "out").exists()
