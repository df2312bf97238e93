"""A process of a run that dies: what is lost with it, and that nothing else is."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.engines import PROC, engines, processes, reported, spent, until
from tests.plugin.project import UPDATE, Project

pytestmark = pytest.mark.skipif(not PROC.exists(), reason="looks for processes in /proc")

DYING = """
    import os

    @pytest.mark.ctx_token_cost
    class TestAll:
        @pytest.mark.parametrize("turns", [1, 2, 3])
        def test_user(self, ctx_replay, turns):
            replay = ctx_replay("mini", UserMessages(last_turns=turns), name="user")
            assert len(replay.answers("shard").trials) == 3

        def test_dies(self, ctx_replay):
            replay = ctx_replay("mini", UserMessages(last_turns=4), name="[a@b]")
            assert len(replay.answers("employee").trials) == 3
            if os.environ.get("DIE"):
                os._exit(3)
    """
LOST = "test_mini.py::TestAll::test_dies"


def parted(report):
    """Return the lost test of a report, and all the others."""
    others = {test["nodeid"]: test for test in report["tests"]}
    return others.pop(LOST), others


@pytest.mark.parametrize(
    "mode", ["--dist=load -octxguard_engine=shared", "--dist=worksteal -octxguard_engine=each"]
)
def test_a_worker_that_dies_in_mid_test_loses_that_test_alone(
    shared: Project, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    suite, report = shared.with_test(DYING), "--ctxguard-report=report.json"
    sound = suite.run(*UPDATE, report, subprocess=True)
    _, expected = parted(reported(sound))
    recorded = sound.baseline["entries"]
    assert sound.outcomes == {"passed": 4}
    monkeypatch.setenv("DIE", "1")

    result = suite.run("--ctxguard", "--ctxguard-fresh", report, "-n2", *mode.split())

    lost, others = parted(reported(result))
    unchanged = json.loads(json.dumps(expected).replace('"new"', '"unchanged"'))
    assert others.keys() == unchanged.keys()
    for nodeid, test in others.items():
        assert test["verdict"] == unchanged[nodeid]["verdict"] == "pass"
        assert test["subjects"][0]["replay"] == unchanged[nodeid]["subjects"][0]["replay"]
    assert (lost["outcome"], lost["verdict"]) == ("lost", "error")
    assert lost["message"].startswith("lost: the worker that ran it ended in the middle of it")
    assert lost["rerun"].endswith(f" {LOST}")
    assert reported(result)["verdict"] == "error"
    assert result.exit == pytest.ExitCode.TESTS_FAILED
    assert result.baseline["entries"] == recorded
    assert LOST in result.section


def test_the_baseline_of_the_others_is_updated_and_that_of_the_lost_test_kept(
    shared: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "\n".join(line for line in DYING.splitlines() if "answers" not in line)
    before = shared.with_test(source).run(*UPDATE, "-n2").baseline["entries"]
    dearer = shared.with_test(source.replace("last_turns=", "last_turns=1+"))
    monkeypatch.setenv("DIE", "1")

    result = dearer.run(*UPDATE, "-n2")

    after = result.baseline["entries"]
    key = "TestAll::test_dies"
    assert after.pop(key) == before.pop(key)
    assert after.keys() == before.keys()
    assert all(after[test] != before[test] for test in before)
    assert result.exit == pytest.ExitCode.TESTS_FAILED


WAITING = """
    import os, time
    from pathlib import Path

    @pytest.mark.ctx_token_cost
    @pytest.mark.parametrize("turns", [1, 2])
    def test_it(ctx_replay, turns):
        ctx_replay("mini", UserMessages(last_turns=turns), name="user").answers("shard")
        Path(f"asked-{turns}").touch()
        while os.environ.get("WAIT"):
            time.sleep(0.1)
    """


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=lambda each: each.name)
@pytest.mark.parametrize("engine", ["shared", "each"])
def test_a_controller_that_is_ended_leaves_the_baseline_no_process_and_what_was_answered(
    shared: Project,
    tiny_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: signal.Signals,
    engine: str,
) -> None:
    suite = shared.with_test(WAITING)
    before = suite.with_test(WAITING.replace("last_turns=", "last_turns=1+")).run(
        *UPDATE, subprocess=True
    )
    recorded = before.baseline_path.read_bytes()
    suite.write()
    for path in suite.root.glob("asked-*"):
        path.unlink()
    monkeypatch.setenv("WAIT", "1")
    options = [*UPDATE, *suite.options, f"-octxguard_engine={engine}", "-n2"]
    plugins = ["-pctxguard", "-pxdist", f"--rootdir={suite.root}"]
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *plugins, *options],
        cwd=suite.root,
        stdout=subprocess.DEVNULL,
        # a shell's background job ignores Ctrl-C, and what it starts inherits that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as controller:
        try:
            until(lambda: len(list(suite.root.glob("asked-*"))) == 2)
            assert len(engines(tiny_model)) == (engine == "shared")
        except BaseException:
            controller.kill()  # else it would be waited for
            raise
        controller.send_signal(how)

    until(lambda: not engines(tiny_model) and not processes(str(suite.root)))
    assert before.baseline_path.read_bytes() == recorded
    if (engine, how) == ("each", signal.SIGKILL):  # nobody is left to remove it
        for folder in tmp_path.glob("ctxguard-*"):
            shutil.rmtree(folder)
    monkeypatch.delenv("WAIT")
    resumed = suite.run(*UPDATE, subprocess=True)
    assert resumed.outcomes == {"passed": 2}
    assert ", 0 computed, 0 s" in spent(resumed)
    assert resumed.baseline_path.read_bytes() != recorded
