"""``pytest-ctxguard accept``: one test's new values, with the reason, and nothing else."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from pytest_ctxguard.baseline import Accepted, Baseline, read, write
from pytest_ctxguard.cli.accept import LAST_RUN
from pytest_ctxguard.cli.main import cli, main
from pytest_ctxguard.errors import BaselineError, ReportError, UsageError
from pytest_ctxguard.report.beside_baseline import changes
from pytest_ctxguard.report.json_file import dumps
from pytest_ctxguard.report.run import Instruments, Run
from tests.report.measuring import about, failed, metric, result, subject
from tests.report.runs import finding

HITS = metric(6, of=6, trials={f"shard/{n}": "hit" for n in range(1, 7)})
FEWER = metric(4, of=6, trials={f"shard/{n}": "hit" if n < 5 else "other" for n in range(1, 7)})
OLD = {
    ("test_fit", ""): {"cost": metric(100), "answered.shard": HITS},
    ("test_fit", "two"): {"cost": metric(100)},
    ("test_other", ""): {"cost": metric(7)},
}
FIT = failed(
    "test_fit",
    subject("", about(), about("ctx_answered.lost-hits"), state="regressed", cost=metric(120)),
    subject("", state="regressed", **{"answered.shard": FEWER}),
    subject("two", cost=metric(100)),
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a module test_a, its baseline, and the run of one test that regressed."""
    (tmp_path / "test_a.py").touch()
    write(Baseline(tmp_path / "test_a.ctxguard.json", OLD))
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


class Project:
    def __init__(self, root):
        self.root, self.path = root, root / "test_a.ctxguard.json"
        self.ran(FIT)

    def ran(self, *tests, **fields):
        """Leave a run of these tests, compared with the file as it is."""
        compared = changes(tests, {"test_a.ctxguard.json": self.entries})
        path = self.root / LAST_RUN
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dumps(Run(tests=tests, changes=compared, **fields)))

    @property
    def entries(self):
        return read(self.path).entries

    def accept(self, *args, nodeid="test_a.py::test_fit", reason="longer logs"):
        done = CliRunner().invoke(cli, ["accept", nodeid, "--reason", reason, *args])
        if done.exception is not None:
            raise done.exception
        return done.output


def test_what_was_measured_is_written_with_its_reason_and_printed_old_to_new(project):
    assert project.accept() == (
        "test_a.py::test_fit answered.shard: 6 of 6 -> 4 of 6\n"
        "test_a.py::test_fit cost: 100 -> 120\n"
    )
    assert project.entries == {
        **OLD,
        ("test_fit", ""): {
            "cost": replace(metric(120), accepted=Accepted("longer logs", was=100)),
            "answered.shard": replace(FEWER, accepted=Accepted("longer logs", was=6)),
        },
    }


def test_the_reason_is_kept_without_the_space_around_it_and_whatever_it_says(project):
    project.accept(reason="  größere Logs, \ud800 \u202e\n")
    said = project.entries[("test_fit", "")]["cost"].accepted
    assert said == Accepted("größere Logs, \ud800 \u202e", was=100)


def test_a_metric_alone_and_a_label_alone(project):
    output = project.accept("--metric", "cost")
    assert output == "test_a.py::test_fit cost: 100 -> 120\n"
    assert project.entries[("test_fit", "")]["answered.shard"] == HITS
    labelled = failed(
        "test_fit", *FIT.subjects[:2], subject("two", state="regressed", cost=metric(9))
    )
    project.ran(labelled)
    assert project.accept("--label", "two") == "test_a.py::test_fit [two] cost: 100 -> 9\n"


def test_what_is_new_was_nothing(project):
    project.ran(failed("test_new", subject("", about(), state="new", cost=metric(5))))
    output = project.accept(nodeid="test_a.py::test_new")
    assert output == "test_a.py::test_new cost: nothing -> 5\n"
    assert project.entries[("test_new", "")]["cost"].accepted == Accepted("longer logs")


def test_a_module_without_a_baseline_gets_one(project):
    project.path.unlink()
    project.ran(result("test_new", subject(state="new", cost=metric(5))))
    project.accept(nodeid="test_a.py::test_new")
    assert list(project.entries) == [("test_new", "")]


def test_another_instrument_is_accepted_with_its_values(project):
    other = metric(100, fingerprint={"counter": "words"})
    project.ran(failed("test_fit", subject("", about(), state="incomparable", cost=other)))
    project.accept()
    assert project.entries[("test_fit", "")]["cost"].measures_as(other)


def test_it_is_found_from_a_folder_below(project, monkeypatch):
    below = project.root / "deep" / "er"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    project.accept()
    assert project.entries[("test_fit", "")]["cost"].value == 120


def test_a_report_of_ci_does_as_well(project):
    report = project.root / "report.json"
    (project.root / LAST_RUN).rename(report)
    with pytest.raises(UsageError, match=r"there is no .*last-run.json here or above.*--from"):
        project.accept()
    project.accept("--from", str(report))
    assert project.entries[("test_fit", "")]["cost"].value == 120


def refused(project, *args, **more):
    """Return what a refusal says; it writes nothing."""
    before = project.path.read_bytes()
    with pytest.raises(UsageError) as caught:
        project.accept(*args, **more)
    assert project.path.read_bytes() == before
    return str(caught.value)


@pytest.mark.parametrize("reason", ["", "  ", "\n"])
def test_a_reason_is_needed(project, reason):
    assert refused(project, reason=reason).startswith("--reason is empty")


def test_no_reason_at_all():
    done = CliRunner().invoke(cli, ["accept", "test_a.py::test_fit"])
    assert (done.exit_code, "Missing option '--reason'" in done.output) == (2, True)


def test_a_node_id_that_is_none_names_those_near_it(project):
    said = refused(project, nodeid="test_a.py::test_fti")
    assert "no guarded test 'test_a.py::test_fti'; near it: test_a.py::test_fit. " in said
    assert said.endswith("or give the report of a run that has it, with --from")
    project.ran()
    assert "no guarded test ran at all" in refused(project)


def test_nothing_to_accept(project):
    project.ran(result("test_fit", subject(cost=metric(100))))
    assert refused(project) == (
        "nothing to accept: what test_a.py::test_fit measured is as in its baseline"
    )
    project.ran(result("test_fit"))
    assert refused(project) == "test_a.py::test_fit measures nothing that a baseline keeps"


def test_a_label_or_a_metric_that_it_does_not_have(project):
    assert refused(project, "--label", "three").endswith("no label 'three'; it has: '', 'two'")
    said = refused(project, "--metric", "answered.shrd")
    assert said.endswith("no metric 'answered.shrd'; it has: 'answered.shard', 'cost'")
    assert refused(project, "--label", "two").startswith("nothing to accept")


@pytest.mark.parametrize("narrow", [(), ("--metric", "cost")])
def test_a_failure_that_is_not_one_of_the_baseline(project, narrow):
    short = finding("ctx_answered.too-few", what="'shard' is answered 4 of 6 times")
    project.ran(failed("test_fit", *FIT.subjects, subject("three", short)))
    said = refused(project, *narrow)
    assert "breaks more than its baseline: [ctx_answered.too-few] 'shard' is answered 4" in said
    assert said.endswith("change the policy, or the mark")


def test_what_the_data_cannot_decide_is_one_of_them_unless_it_was_tolerated(project):
    unsure = finding("ctx_needle_recall.rate", inconclusive=True)
    subjects = (subject("", unsure, state="regressed", cost=metric(120)),)
    project.ran(failed("test_fit", *subjects, verdict="inconclusive"))
    assert "[ctx_needle_recall.rate]" in refused(project)
    project.ran(result("test_fit", *subjects, verdict="inconclusive"), tolerated=True)
    assert project.accept() == "test_a.py::test_fit cost: 100 -> 120\n"


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (failed("test_fit", message="assert 3 == 4"), "judgement: assert 3 == 4. Mend that first"),
        (replace(FIT, verdict="error"), "did not come to its judgement. Mend that first"),
        (replace(FIT, outcome="xfailed"), "was xfailed, so there is nothing"),
        (replace(FIT, outcome="skipped", verdict="skipped"), "was skipped, so there is nothing"),
        (replace(FIT, outcome="lost", verdict="error"), "was lost, so there is nothing"),
    ],
    ids=["body failed", "not judged", "xfailed", "skipped", "worker lost"],
)
def test_a_test_that_did_not_come_to_its_judgement(project, test, said):
    project.ran(test)
    assert said in refused(project)


def test_a_run_that_compared_with_a_git_ref(project):
    project.ran(FIT, instruments=Instruments(compare="main"))
    assert "the run compared with main, not with the baseline file" in refused(project)


@pytest.mark.parametrize("now", [{}, {("test_fit", ""): {"cost": metric(90)}}])
def test_a_run_that_was_compared_with_another_value(project, now):
    write(Baseline(project.path, now))
    said = refused(project, "--metric", "cost")
    held = "90" if now else "nothing"
    assert (
        f"test_fit cost: the run was compared with 100, and the baseline now holds {held}" in said
    )


def test_a_value_that_came_in_meanwhile(project):
    project.ran(failed("test_new", subject("", about(), state="new", cost=metric(5))))
    write(Baseline(project.path, {("test_new", ""): {"cost": metric(9)}}))
    said = refused(project, nodeid="test_a.py::test_new")
    assert "the run was compared with nothing, and the baseline now holds 9" in said


def test_one_that_cannot_be_accepted_keeps_out_the_others(project):
    hits_changed = {**OLD, ("test_fit", ""): {"cost": metric(100), "answered.shard": FEWER}}
    write(Baseline(project.path, hits_changed))
    assert "the baseline holds what" in refused(project)


def test_twice(project):
    project.accept()
    assert refused(project).startswith("nothing to accept: the baseline holds what")


def test_a_module_that_is_not_here(project):
    (project.root / "test_a.py").unlink()
    assert "there is no test_a.py here or above" in refused(project)


def test_a_report_cannot_name_another_file(project):
    project.ran(replace(FIT, baseline="../elsewhere.json", file="../elsewhere.py"))
    (project.root.parent / "elsewhere.py").touch()
    assert refused(project).startswith("test_a.py::test_fit")
    assert not (project.root.parent / "elsewhere.json").exists()


def test_broken_files_are_named(project, capsys, monkeypatch):
    project.path.write_text("<<<<<<< HEAD\n")
    with pytest.raises(BaselineError, match="a merge has left its marks"):
        project.accept()
    (project.root / LAST_RUN).write_text("{}")
    with pytest.raises(ReportError, match=r"last-run\.json"):
        project.accept()
    monkeypatch.setattr("sys.argv", ["pytest-ctxguard", "accept", "x", "--reason", "y"])
    with pytest.raises(SystemExit, match="1"):
        main()
    assert capsys.readouterr().err.startswith("error: ")
