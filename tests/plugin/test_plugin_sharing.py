"""Workers share one model: one process, the same answers, and nothing left of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from filelock import FileLock

from pytest_ctxguard.plugin.xdist import sharing
from tests.plugin.engines import PROC, engines, spent, until
from tests.plugin.project import UPDATE, Project, Result, mini_transcript

pytestmark = pytest.mark.skipif(not PROC.exists(), reason="looks for processes in /proc")

ASKING = """
    import json, os
    from pathlib import Path

    @pytest.mark.ctx_token_cost
    @pytest.mark.parametrize("turns", [1, 2])
    def test_it(ctx_replay, turns):
        replay = ctx_replay("mini", UserMessages(last_turns=turns), name="user")
        told = [[trial.outcome, trial.text] for trial in replay.answers("shard").trials]
        Path(f"told-{turns}.json").write_text(json.dumps(told))
    """


def told(result: Result) -> list[object]:
    paths = sorted(result.root.glob("told-*.json"))
    return [json.loads(path.read_text()) for path in paths]


def test_two_workers_have_the_answers_and_the_baseline_of_one_process(shared: Project) -> None:
    suite = shared.with_test(ASKING)
    alone = suite.run(*UPDATE, "--ctxguard-fresh", subprocess=True)
    answers, written = told(alone), alone.baseline_path.read_bytes()
    alone.baseline_path.unlink()

    together = suite.run(*UPDATE, "-n2", "--ctxguard-fresh")

    assert alone.outcomes == together.outcomes == {"passed": 2}
    assert len(answers) == 2
    assert told(together) == answers
    assert together.baseline_path.read_bytes() == written
    assert together.payloads == alone.payloads
    assert ", one engine for 2 workers; updating\n" in together.text
    assert "one engine" not in alone.text
    assert "kept" not in spent(alone) + spent(together)


def test_a_later_run_of_any_number_of_workers_asks_nothing_again(shared: Project) -> None:
    suite = shared.with_test(ASKING)
    first = suite.run("--ctxguard", "-n2")
    answers = told(first)

    for workers in ((), ("-n2",)):
        later = suite.run("--ctxguard", *workers, subprocess=True)
        assert told(later) == answers
        assert ", 0 computed, 0 s" in spent(later)
        count = spent(later).split()[1]
        assert f"model: {count} answers ({count} kept from an earlier run), " in spent(later)


ONE_ENGINE = """
    import json, time
    from pathlib import Path

    @pytest.mark.parametrize("number", [1, 2])
    def test_it(ctx_replay, request, number):
        folder = Path(request.config.workerinput["ctxguard_folder"])
        ctx_replay("mini", UserMessages(last_turns=number)).answers("shard")
        Path(f"asked-{number}").write_text((folder / "place.json").read_text())
        while len(list(Path().glob("asked-*"))) < 2:  # both workers are connected
            time.sleep(0.05)
        assert len(list(folder.glob("*.socket"))) == 1
    """


def test_the_workers_ask_one_and_the_same_process(shared: Project) -> None:
    result = shared.with_test(ONE_ENGINE).run("--ctxguard", "-n2")

    assert result.outcomes == {"passed": 2}
    first, second = (json.loads((result.root / f"asked-{n}").read_text()) for n in (1, 2))
    assert first == second


KILLING = """
    import json, os, signal, time
    from pathlib import Path

    def ask(ctx_replay, turns):
        ctx_replay("mini", UserMessages(last_turns=turns)).answers("shard")

    def test_first(ctx_replay, request):
        ask(ctx_replay, 1)
        folder = Path(request.config.workerinput["ctxguard_folder"])
        process = json.loads((folder / "place.json").read_text())["process"]
        Path("killed.txt").write_text(str(process))
        os.kill(process, signal.SIGKILL)
        while Path(f"/proc/{process}").exists():  # it is waited for, so not even a zombie stays
            time.sleep(0.02)

    def test_second(ctx_replay):
        ask(ctx_replay, 2)

    def test_third(ctx_replay):
        ask(ctx_replay, 3)
    """


def test_a_process_that_dies_fails_who_asked_it_and_the_next_starts_another(
    shared: Project,
) -> None:
    result = shared.with_test(KILLING).run("--ctxguard", "-n1")

    process = (result.root / "killed.txt").read_text()
    assert result.outcomes == {"failed": 1, "passed": 2}
    assert f"process {process}, which runs the model for all workers, is gone" in result.failure(
        "test_second"
    )


DYING_WORKER = """
    import os
    from pathlib import Path

    @pytest.mark.parametrize("number", [1, 2])
    def test_it(ctx_replay, request, number):
        ctx_replay("mini", UserMessages(last_turns=number)).answers("shard")
        place = Path(request.config.workerinput["ctxguard_folder"], "place.json")
        Path(f"place-{number}").write_text(place.read_text())
        if number == 1:
            os._exit(3)
    """


def test_the_process_outlives_the_worker_that_started_it(shared: Project) -> None:
    result = shared.with_test(DYING_WORKER).run("--ctxguard", "-n1")

    assert result.outcomes == {"failed": 1, "passed": 1}
    first, second = ((result.root / f"place-{n}").read_text() for n in (1, 2))
    assert first == second


def test_a_process_that_still_loads_when_the_run_ends_tidies_up_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sharing, "LAST_SECONDS", 0.1)
    ended = sharing.Sharing()
    with FileLock(ended.folder / sharing.ALIVE):
        ended.close()
        with FileLock(ended.folder / sharing.CONTROLLER, timeout=0):  # what it waits for
            assert not (ended.folder / sharing.ENDED).exists()


def test_a_process_that_does_not_come_up_is_said_with_its_last_words(
    shared: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = shared.root / "sitecustomize.py"
    broken.write_text(
        "import sys\n"
        "if 'pytest_ctxguard.cli.share' in sys.orig_argv:\n"
        "    raise SystemExit('no room for a model')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(shared.root))

    result = shared.with_test(ASKING).run("--ctxguard", "-n2")

    assert result.outcomes == {"failed": 2}
    for turns in (1, 2):
        text = result.failure(f"test_it[{turns}]")
        assert "the process that runs the model for all workers did not come up" in text
        assert "no room for a model" in text


WAITING = """
    import time
    from pathlib import Path

    @pytest.mark.parametrize("number", [1, 2])
    def test_it(ctx_replay, number):
        ctx_replay("mini", UserMessages(last_turns=number)).answers("shard")
        Path(f"asked-{number}").touch()
        time.sleep(600)
    """


def test_a_controller_that_is_killed_leaves_no_process(shared: Project, tiny_model: Path) -> None:
    waiting = shared.with_test(WAITING)
    waiting.write()
    run = [sys.executable, "-m", "pytest", "-pctxguard", "-pxdist", "--ctxguard", "-n2"]
    controller = subprocess.Popen(
        [*run, *waiting.options], cwd=waiting.root, stdout=subprocess.DEVNULL
    )
    with controller:
        until(lambda: len(list(waiting.root.glob("asked-*"))) == 2)
        assert len(engines(tiny_model)) == 1
        controller.send_signal(signal.SIGKILL)

    until(lambda: not engines(tiny_model))


def test_a_run_in_which_nobody_asks_starts_no_process(shared: Project) -> None:
    test = """
        from pathlib import Path

        def test_it(ctx_replay, request):
            ctx_replay("mini", full_history)
            folder = Path(request.config.workerinput["ctxguard_folder"])
            found = sorted(path.name for path in folder.iterdir())
            assert found == ["controller.lock", "tests-gw0.json"]
        """

    result = shared.with_test(test).run("--ctxguard", "-n1")

    assert result.outcomes == {"passed": 1}
    assert "model: " not in result.section


@pytest.mark.model
def test_the_real_model_has_one_baseline_with_and_without_workers(project: Project) -> None:
    test = """
        @pytest.mark.ctx_answered("shard")
        @pytest.mark.parametrize("turns", [1, 2])
        def test_it(ctx_replay, turns):
            ctx_replay("mini", full_history, name="full")
        """
    short = project.with_backend("none").with_transcript(mini_transcript(turns=1)).with_test(test)
    alone = short.run(*UPDATE, "--ctxguard-fresh", subprocess=True)
    written = alone.baseline_path.read_bytes()
    alone.baseline_path.unlink()

    together = short.run(*UPDATE, "--ctxguard-fresh", "-n2")

    assert alone.outcomes == together.outcomes == {"passed": 2}
    assert together.baseline_path.read_bytes() == written
    assert together.payloads == alone.payloads
