"""What leaves a run: report files, the step's summary, annotations, JUnit XML."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from textwrap import dedent

import pytest
from jsonschema import Draft202012Validator

from docs.reports import SCHEMA
from pytest_ctxguard.report.markdown import SUMMARY_LIMIT

BROKEN = """
@pytest.mark.ctx_carried("shard")
def test_lost(ctx_replay):
    ctx_replay("mini", SlidingWindow(last=6))


@pytest.mark.ctx_token_cost
def test_cost(ctx_replay):
    ctx_replay("mini", full_history, budget=4000, name="all of it")
"""
KEY = "9fQ2-xk7Lm-PLANTED-04"


@pytest.fixture(autouse=True)
def off_github(monkeypatch):
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI"):
        monkeypatch.delenv(name, raising=False)


def properties(path: Path) -> dict[str, dict[str, str]]:
    found = {}
    for case in ET.parse(path).getroot().iter("testcase"):  # noqa: S314 - pytest's own file
        rows = case.iterfind("properties/property")
        found[case.attrib["name"]] = {row.attrib["name"]: row.attrib["value"] for row in rows}
    return found


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_junit_xml_has_a_few_properties_of_each_test(project, workers):
    result = project.with_test(BROKEN).run("--ctxguard", "--junitxml=junit.xml", *workers)
    (lost,) = result.subjects("test_lost", kind="replay")
    assert properties(project.root / "junit.xml") == {
        "test_lost": {
            "ctxguard.verdict": "fail",
            "ctxguard.transcript": "mini",
            "ctxguard.policy": "SlidingWindow",
            "ctxguard.billed_input_tokens": str(lost["replay"]["billed"]),
        },
        "test_cost": {
            "ctxguard.verdict": "pass",
            "ctxguard.transcript[all of it]": "mini",
            "ctxguard.policy[all of it]": "full_history",
            "ctxguard.budget[all of it]": "4000",
            "ctxguard.billed_input_tokens[all of it]": "37651",
        },
    }


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_junit_xml_stays_xml_whatever_the_names(project, workers):
    source = r"""
    @pytest.mark.ctx_budget(5000)
    def test_it(ctx_replay):
        ctx_replay("mini", full_history, name="\x1b[31m\x00\ud800 & <b>")
    """
    project.with_test(source).run("--ctxguard", "--junitxml=junit.xml", *workers)
    (found,) = properties(project.root / "junit.xml").values()
    assert "ctxguard.policy[\\x1b[31m\\x00\\ud800 & <b>]" in found


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_reports_are_written_in_every_format_by_the_controller_alone(project, workers):
    result = project.with_test(BROKEN).run(
        "--ctxguard", "--ctxguard-report=out/r.json", "--ctxguard-report=out/r.md", *workers
    )
    assert result.exit == 1
    told = json.loads((project.root / "out/r.json").read_text())
    assert told["verdict"] == "fail"
    assert [test["verdict"] for test in told["tests"]] == ["pass", "fail"]
    assert (project.root / "out/r.md").read_text().startswith("### 🟥 ctxguard")


def test_a_report_that_cannot_be_written_fails_the_run(project):
    project.with_file("out", "a file, no folder").write()
    source = BROKEN.partition("@pytest.mark.ctx_token_cost")
    result = project.with_test(source[1] + source[2]).run(
        "--ctxguard", "--ctxguard-report=out/r.json"
    )
    assert result.exit == 1
    assert result.outcomes == {"passed": 1}
    assert "was not written" in result.text.splitlines()[-1]


def test_the_summary_of_a_step_is_appended_to(project, monkeypatch, tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("# built before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    project.with_test(BROKEN).run("--ctxguard")
    text = summary.read_text()
    assert text.startswith("# built before\n\n### 🟥 ctxguard")
    assert text.count("ctxguard\n\nFAIL") == 1


def test_a_full_summary_is_left_alone(project, monkeypatch, tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("x" * SUMMARY_LIMIT)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    project.with_test(BROKEN).run("--ctxguard")
    assert summary.stat().st_size <= SUMMARY_LIMIT + 1


def test_nothing_judged_is_said_there_too(project, monkeypatch, tmp_path):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    result = project.with_test("def test_other():\n    pass\n").run("--ctxguard")
    assert result.exit == 1
    assert "[run.nothing-judged]" in summary.read_text()


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_annotations_begin_their_lines(project, monkeypatch, workers):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.root.parent))
    result = project.with_test(BROKEN).run("--ctxguard", *workers)
    lines = [line for line in result.text.splitlines() if line.startswith("::")]
    folder = project.root.name
    assert len(lines) == 2
    assert lines[0].startswith(f"::error file={folder}/test_mini.py,line=5,title=ctxguard fail%3A ")
    assert lines[1].startswith(f"::notice file={folder}/test_mini.py,line=10,title=ctxguard%3A new")


def test_there_are_none_elsewhere(project):
    text = project.with_test(BROKEN).run("--ctxguard").text
    assert not any(line.startswith("::") for line in text.splitlines())


def test_no_text_of_a_test_becomes_a_command_of_the_runner(project, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("COLUMNS", "60")
    source = """
    @pytest.mark.ctx_budget(10)
    def test_it(ctx_replay):
        ctx_replay("mini", full_history, name="a long label of this replay ::stop-commands::x")
    """
    section = project.with_test(source).run("--ctxguard").section
    assert re.search(r"^\\::stop-commands::x", section, re.M)  # a line of a folded name
    assert not re.search(r"^\s*::stop", section, re.M)


def test_a_planted_key_reaches_no_report(project, monkeypatch, tmp_path):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("ODD_NAME", KEY)
    source = f"""
    @pytest.mark.ctx_budget(10)
    def test_it(ctx_replay):
        ctx_replay("mini", full_history, name="{KEY}")
    """
    result = (
        project.with_test(source)
        .with_ini(ctxguard_secrets="ODD_NAME")
        .run("--ctxguard", "--ctxguard-report=r.json", "--ctxguard-report=r.md")
    )
    assert result.outcomes == {"failed": 1}
    for path in (summary, project.root / "r.json", project.root / "r.md"):
        assert KEY not in path.read_text()
        assert "SCRUBBED" in path.read_text()


def test_what_fails_the_run_as_a_whole_is_printed_after_everything(project):
    tested = project.with_test(BROKEN)
    tested.run("--ctxguard", "--ctxguard-update")
    after = BROKEN.replace("@pytest.mark.ctx_token_cost\n", "").replace(
        "SlidingWindow(last=6)", "full_history"
    )
    result = project.with_test(after + "    assert ctx_replay\n").run("--ctxguard")
    assert result.exit == 1
    lines = result.text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("[baseline.stale]"))
    assert all(line.startswith(("[baseline", " ")) for line in lines[start:] if line)
    assert "remedy" in lines[-1] or "remedy" in lines[-2]


def test_a_real_report_is_what_its_schema_says(project):
    source = """
    @pytest.mark.ctx_needle_recall(at_least=4)
    def test_needles(ctx_recall):
        ctx_recall(full_history, records=8, trials=4)
    """
    project.with_test(BROKEN + "\n\n" + dedent(source)).run(
        "--ctxguard", "--ctxguard-report=r.json"
    )
    told = json.loads((project.root / "r.json").read_text())
    assert [subject["kind"] for test in told["tests"] for subject in test["subjects"]] == [
        "replay",
        "replay",
        "recall",
    ]
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(told)


def test_without_a_terminal_the_reports_are_written_all_the_same(project):
    project.with_test(BROKEN).write()
    result = project.pytester.runpytest_subprocess(
        "-pctxguard", "--ctxguard", "--ctxguard-report=r.json", "-pno:terminal"
    )
    assert result.ret == 1
    assert not result.errlines
    assert json.loads((project.root / "r.json").read_text())["verdict"] == "fail"


def test_collecting_alone_writes_no_report(project):
    project.with_test(BROKEN).run("--ctxguard", "--ctxguard-report=r.json", "--co")
    assert not (project.root / "r.json").exists()
