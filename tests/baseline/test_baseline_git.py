"""The baseline of a git ref: what the commit has, and what is said when there is none."""

import os
import subprocess

import pytest

from pytest_ctxguard.baseline import Baseline, Metric, at_ref, baseline_of, resolve, write
from pytest_ctxguard.errors import BaselineError, UsageError

OLD = {("test_a", ""): {"cost": Metric(100, {"counter": "letters"})}}
NEW = {("test_a", ""): {"cost": Metric(200, {"counter": "letters"})}}
AUTHOR = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{
        f"GIT_{who}_{what}": "x@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


def git(folder, *arguments):
    done = subprocess.run(
        ["git", "-C", folder, *arguments],  # noqa: S607  # from PATH, as the package does
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **AUTHOR},
    )
    return done.stdout.strip()


@pytest.fixture
def path(tmp_path):
    """A baseline file in a repository: 100 in the branch main, 200 in the file."""
    path = tmp_path / "repo" / "tests" / "test_x.ctxguard.json"
    path.parent.mkdir(parents=True)
    git(path.parents[1], "init", "--initial-branch=main")
    write(Baseline(path, OLD))
    git(path.parents[1], "add", ".")
    git(path.parents[1], "commit", "-m", "one")
    write(Baseline(path, NEW))
    return path


@pytest.mark.parametrize("ref", ["main", "HEAD", "HEAD^0", "main~0", "@", "refs/heads/main"])
def test_a_ref_has_the_file_as_it_was_committed(path, ref):
    assert at_ref(path, ref=ref) == Baseline(path, OLD)


def test_so_has_a_tag_and_a_short_commit(path):
    git(path.parent, "tag", "-a", "v1.0", "-m", "first")
    assert at_ref(path, ref="v1.0").entries == OLD
    assert at_ref(path, ref=resolve("main", folder=path.parent)[:9]).entries == OLD


def test_without_a_ref_it_is_the_file(path):
    assert baseline_of(path, compare="").entries == NEW
    assert baseline_of(path, compare="main").entries == OLD


def test_a_file_that_the_commit_does_not_have_is_empty(path):
    absent = path.with_name("test_y.ctxguard.json")
    assert at_ref(absent, ref="main") == Baseline(absent)
    write(Baseline(absent, NEW))
    assert at_ref(absent, ref="main") == Baseline(absent)


def test_a_folder_that_the_commit_does_not_have_is_empty(path):
    absent = path.parents[1] / "more" / "deep" / "test_y.ctxguard.json"
    assert at_ref(absent, ref="main") == Baseline(absent)


@pytest.mark.parametrize(
    "name", ["test_[x].ctxguard.json", "test é*.ctxguard.json", ":(top)x.json"]
)
def test_a_name_is_a_name_and_no_pattern(path, name):
    odd = path.with_name(name)
    assert at_ref(odd, ref="main") == Baseline(odd)
    write(Baseline(odd, NEW))
    git(path.parent, "--literal-pathspecs", "add", "--", name)
    git(path.parent, "commit", "-m", "odd")
    assert at_ref(odd, ref="main") == Baseline(odd, NEW)


def test_a_link_to_the_repository(path, tmp_path):
    (tmp_path / "link").symlink_to(path.parents[1], target_is_directory=True)
    linked = tmp_path / "link" / "tests" / path.name
    assert at_ref(linked, ref="main") == Baseline(linked, OLD)


def test_a_broken_baseline_in_a_commit_is_named_with_its_ref(path):
    path.write_text("<<<<<<< HEAD\n{}\n")
    git(path.parent, "commit", "-am", "broken")
    with pytest.raises(BaselineError, match=r"^main:tests/test_x.ctxguard.json:1: a merge has"):
        at_ref(path, ref="main")


@pytest.mark.parametrize("ref", ["mian", "v9", "0badcafe", "main~7"])
def test_a_ref_that_is_none(path, ref):
    with pytest.raises(
        UsageError, match=rf"^--ctxguard-compare {ref}: git in .* says: .*shallow"
    ) as caught:
        at_ref(path, ref=ref)
    assert str(caught.value).endswith("then --ctxguard-compare=origin/BRANCH")


def test_what_the_error_says_to_do_in_a_shallow_clone_does_it(path, tmp_path):
    source = path.parent.parent
    git(source, "checkout", "-qb", "topic")
    git(source, "add", ".")
    git(source, "commit", "-qm", "topic")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=topic", source.as_uri(), str(clone))
    name = clone / path.relative_to(source)
    with pytest.raises(UsageError):
        at_ref(name, ref="main")

    git(clone, "fetch", "-q", "--depth=1", "origin", "main:refs/remotes/origin/main")

    assert at_ref(name, ref="origin/main").entries == at_ref(path, ref="main").entries


@pytest.mark.parametrize(
    "ref",
    ["--upload-pack=x", "-h", "main; rm -rf .", "$(id)", "a b", "main:tests", "a\nb", "main\n"],
)
def test_a_ref_that_is_no_name_never_reaches_git(path, ref, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: pytest.fail("git was run"))
    with pytest.raises(UsageError, match="is no name of a commit"):
        at_ref(path, ref=ref)


def test_a_tree_is_no_commit(path):
    tree = git(path.parent, "rev-parse", "HEAD^{tree}")
    with pytest.raises(UsageError, match=r"git in .* says"):
        at_ref(path, ref=tree)


def test_no_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageError, match=r"not a git repository [^.]*\.git$"):
        at_ref(tmp_path / "test_x.ctxguard.json", ref="main")


def test_no_git(path, monkeypatch):
    monkeypatch.setenv("PATH", str(path.parent))
    with pytest.raises(UsageError, match="git is not installed"):
        at_ref(path, ref="main")


def test_git_is_told_nothing_by_a_caller_that_runs_inside_a_hook(path, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    assert at_ref(path, ref="main").entries == OLD
