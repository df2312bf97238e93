"""What a failing test is told beside its findings: its recipe, the command, the prompts."""

from __future__ import annotations

import re
import shlex

import pytest

LOST = """
@pytest.mark.ctx_answered("shard", at_least=3)
def test_it(ctx_replay):
    ctx_replay("mini", SlidingWindow(last=6), budget=900, name="narrow")
"""
NEEDLES = """
@pytest.mark.ctx_needle_recall(at_least=30)
def test_needles(ctx_recall):
    ctx_recall(full_history, records=8, trials=32, seed=5)
"""
KEY = "9fQ2-xk7Lm-PLANTED-04"
TOLD = re.compile(r"^-+ ctxguard: to see it again -+$\n(.*?)^=", re.M | re.S)


def told(result):
    """Return the rows of the first recipe that was printed."""
    found = TOLD.search(result.text)
    assert found, result.text
    return [line.split(maxsplit=1) for line in found[1].splitlines()]


def test_a_missed_wording_is_named_with_its_question(project):
    rows = told(project.with_test(LOST).run("--ctxguard"))
    kind, of = rows[0]
    assert kind == "replay"
    assert of.startswith("transcript mini, policy SlidingWindow [narrow], budget 900, tokens by ")
    assert rows[1] == ["probe", "shard/1 abstained: 'Which shard is it? (wording 1)'"]
    assert [row[0] for row in rows] == ["replay", "probe", "probe", "probe", "again"]


def test_a_missed_needle_is_named_with_what_rebuilds_it(project):
    rows = told(project.with_test(NEEDLES).with_backend("share-50").run("--ctxguard"))
    kind, of = rows[0]
    assert kind == "recall"
    assert of.startswith("haystack register, seed 5, policy full_history, tokens by ")
    assert rows[1][0] == "trial"
    assert rows[2][0] == "rebuild"
    command = shlex.split(rows[2][1])
    assert command[:3] == ["pytest-ctxguard", "recall", "rebuild"]
    assert re.fullmatch(r"register:records=8:depth=0\.5:seed=5:trial=\d+:v1", command[3])
    assert re.fullmatch(r"\d+ more trials were missed", " ".join(rows[-2]))


@pytest.mark.parametrize("source", ["assert 1 == 2", "raise ValueError('x')"])
def test_a_body_that_does_not_pass_has_the_command(project, source):
    test = f"def test_it(ctx_replay):\n    {source}\n"
    rows = told(project.with_test(test).run("--ctxguard"))
    assert rows == [["again", "pytest --ctxguard test_mini.py::test_it"]]


def test_a_test_that_passes_has_none(project):
    source = LOST.replace("SlidingWindow(last=6)", "full_history").replace("900", "90_000")
    result = project.with_test(source).run("--ctxguard")
    assert result.outcomes == {"passed": 1}
    assert not TOLD.search(result.text)


def test_the_command_repeats_what_the_result_depends_on(project):
    result = (
        project.with_test(LOST)
        .with_ini(ctxguard_special_tokens="data")
        .run(
            "--ctxguard",
            "--ctxguard-tier=model",
            "--ctxguard-seed=4",
            "--ctxguard-inconclusive=warn",
            "--ctxguard-report=x.json",
            "-k",
            "test_it",
        )
    )
    (told_,) = result.payloads.values()
    assert shlex.split(told_["rerun"]) == [
        "pytest",
        "--ctxguard",
        "--ctxguard-tier=model",
        "--ctxguard-inconclusive=warn",
        "--ctxguard-seed=4",
        "--override-ini=ctxguard_special_tokens=data",
        "test_mini.py::test_it",
    ]


def test_the_command_fails_in_the_same_way(project):
    source = NEEDLES + "\n\n" + LOST.replace("test_it", "test_other")
    tested = project.with_test(source).with_backend("share-50")
    first = tested.run("--ctxguard", "--ctxguard-seed=3")
    command = shlex.split(first.payloads["test_needles"]["rerun"])[1:]
    alone = project.with_test(source).run(*command)
    assert alone.outcomes == {"failed": 1}
    assert alone.failure("test_needles") == first.failure("test_needles")


def test_the_command_is_for_the_folder_that_pytest_was_called_in(project, monkeypatch):
    project.with_file("deep/test_deep.py", "def test_it(ctx_replay):\n    assert 0\n").write()
    monkeypatch.chdir(project.root / "deep")
    result = project.run("--ctxguard", subprocess=False)
    assert told(result)[-1] == ["again", "pytest --ctxguard test_deep.py::test_it"]


def test_without_the_folder_no_prompt_is_written(project):
    result = project.with_test(LOST).run("--ctxguard")
    assert not any(row[0] == "prompts" for row in told(result))


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_the_prompts_of_failed_trials_are_written(project, workers):
    tested = (
        project.with_test(LOST + NEEDLES)
        .with_backend("share-50")
        .with_ini(ctxguard_prompts="prompts")
    )
    result = tested.run("--ctxguard", *workers)
    files = sorted((project.root / "prompts").iterdir())
    assert re.search(rf"prompts +3 in {project.root}/prompts$", result.text, re.M)
    panel = [path for path in files if path.name.startswith("test_it-narrow-shard-")]
    assert len(panel) == 3
    text = panel[0].read_text()
    assert "wanted    pay-core-07\n" in text
    assert "answer    I do not know.\n" in text
    assert "Which shard is it? (wording 1)" in text
    needles = [path for path in files if path.name.startswith("test_needles-")]
    missed = len(files) - 3
    assert len(needles) == missed > 5
    assert "recipe    register:records=8:" in needles[0].read_text()


def test_prompts_are_bounded_and_hold_no_secret(project, monkeypatch):
    monkeypatch.setenv("ODD_NAME", KEY)
    source = f"""
    from pytest_ctxguard import persists


    def policy(messages):
        return [{{"role": "system", "content": "the key is {KEY}"}}, *messages]


    @pytest.mark.ctx_needle_recall(at_least=32)
    def test_needles(ctx_recall):
        ctx_recall(policy, records=8, trials=32)
    """
    result = (
        project.with_test(source.replace("    from pytest_ctxguard import persists\n", ""))
        .with_backend("share-0")
        .with_ini(ctxguard_prompts="prompts", ctxguard_secrets="ODD_NAME")
        .run("--ctxguard")
    )
    files = list((project.root / "prompts").iterdir())
    assert len(files) == 20
    assert re.search(r"prompts +20 in \S+, 12 left out$", result.text, re.M)
    assert not any(KEY in path.read_text() for path in files)
    assert all("the key is SCRUBBED" in path.read_text() for path in files)


def test_a_folder_that_cannot_be_made_is_said(project):
    project.with_file("prompts", "a file").write()
    result = project.with_test(LOST).with_ini(ctxguard_prompts="prompts").run("--ctxguard")
    assert result.outcomes == {"failed": 1}
    assert re.search(r"prompts +not written: ", result.text)


def test_broken_laws_have_their_pasteable_test_in_the_details(project):
    source = """
    def drops_all(messages):
        return messages[:1]


    @pytest.mark.ctx_policy_laws(policy=drops_all)
    def test_laws():
        pass
    """
    result = project.with_test(source).run("--ctxguard")
    (told_,) = result.payloads.values()
    assert "To see it again, and to keep it mended, paste:" in told_["details"]
    assert "def test_" in told_["details"]
