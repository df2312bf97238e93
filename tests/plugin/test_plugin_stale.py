"""What in a baseline nothing measures any more, and when that can be said."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plugin.project import UPDATE, Project

COST = """
    @pytest.mark.ctx_token_cost
    def test_NAME(ctx_replay):
        ctx_replay("mini", full_history)
    """


def costs(*names: str) -> str:
    return "".join(map(cost, names))


def cost(name: str) -> str:
    return COST.replace("NAME", name)


@pytest.fixture
def recorded(project: Project) -> Project:
    """A baseline of the tests a, b and c."""
    assert project.with_test(costs("a", "b", "c")).run(*UPDATE).exit == 0
    return project


def stale(project: Project) -> list[tuple[str, str, str]]:
    """Return node id, label and metric of what the last run found stale."""
    rows = project.last_run["changes"]
    return [(r["nodeid"], r["label"], r["metric"]) for r in rows if r["state"] == "stale"]


def findings(project: Project) -> list[dict[str, Any]]:
    return [row for row in project.last_run["findings"] if row["rule"].startswith("baseline.")]


def test_a_test_that_is_gone_is_a_stale_entry_which_fails_the_run(recorded: Project) -> None:
    result = recorded.with_test(costs("a", "c")).run("--ctxguard")

    assert result.outcomes == {"passed": 2}
    assert result.exit == 1
    assert stale(recorded) == [("test_mini.py::test_b", "", "")]
    [finding] = findings(recorded)
    assert finding["rule"] == "baseline.stale"
    assert finding["what"] == "1 entry in the baseline of test_mini.py is measured by no test"
    assert finding["where"] == "test_mini.py::test_b"
    assert finding["remedy"].endswith("pytest --ctxguard --ctxguard-update test_mini.py")
    assert "measured by no test" in result.text


def test_the_remedy_removes_it_and_nothing_else(recorded: Project) -> None:
    before = recorded.entries
    fewer = recorded.with_test(costs("a", "c"))

    removed = fewer.run(*UPDATE, "test_mini.py")
    after = fewer.run("--ctxguard")

    assert (removed.exit, after.exit) == (0, 0)
    assert recorded.entries == {k: v for k, v in before.items() if k != "test_b"}


def test_a_label_and_a_metric_that_are_no_longer_measured(recorded: Project) -> None:
    both = """
        @pytest.mark.ctx_answered("shard")
        @pytest.mark.ctx_token_cost
        def test_a(ctx_replay):
            ctx_replay("mini", full_history)
            ctx_replay("mini", full_history, name="second")
        """
    recorded.with_test(both).run(*UPDATE)
    now = recorded.with_test(costs("a"))

    result = now.run("--ctxguard")

    assert result.exit == 1
    assert stale(recorded) == [
        ("test_mini.py::test_a", "", "answered.shard"),
        ("test_mini.py::test_a", "second", ""),
    ]
    [finding] = findings(recorded)
    assert finding["what"].startswith("2 entries in the baseline of test_mini.py are ")
    assert finding["where"] == "test_mini.py::test_a answered.shard; test_mini.py::test_a [second]"
    assert now.run(*UPDATE).exit == 0
    assert [list(entry) for entry in recorded.entries["test_a"].values()] == [
        ["billed_input_tokens"]
    ]


SKIPPED = '\n    @pytest.mark.skip(reason="later")' + cost("c")
RAISES = "    raise OSError"
ASSERTS = "    assert False"


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (costs("a", "c"), ["-k", "test_a"]),
        (costs("a", "c"), ["-k", "not test_nothing", "--deselect", "test_mini.py::test_c"]),
        (costs("a", "c"), ["test_mini.py::test_a", "test_mini.py::test_c"]),
        (costs("a", "c"), ["-m", "ctx_token_cost and not slow", "-k", "test_c"]),
        (costs("a") + SKIPPED, []),
        (costs("c", "a") + RAISES, []),
        (costs("c", "a") + ASSERTS, []),
        (costs("c") + cost("a").replace("full_history)", "full_history).check.budget(1)"), []),
        (costs("a").replace("full_history)", "full_history).check.budget(1)"), ["-x"]),
        (costs("a", "c").replace("full_history", "0/0", 1), ["-x"]),
        (costs("a", "c").replace("full_history", "0/0", 1), ["--maxfail=1"]),
        (costs("a", "c") + '@pytest.mark.ctx_answered("shard")' + costs("d"), ["STRUCTURE"]),
        ("1/0", []),
        ("pytest.skip('not here', allow_module_level=True)", []),
    ],
    ids=[
        "-k",
        "--deselect",
        "node ids",
        "-m",
        "skipped",
        "body raised",
        "body asserted",
        "checked in the body",
        "only test failed",
        "-x",
        "--maxfail",
        "tier",
        "not importable",
        "skipped module",
    ],
)
def test_nothing_is_said_to_be_stale_unless_the_module_ran_whole(
    recorded: Project, source: str, options: list[str]
) -> None:
    before = recorded.baseline_path.read_bytes()
    options = [
        "--ctxguard-tier=structure" if option == "STRUCTURE" else option for option in options
    ]
    changed = recorded.with_test(source)

    changed.run("--ctxguard", *options)
    assert stale(recorded) == findings(recorded) == []
    assert recorded.baseline_path.read_bytes() == before

    changed.run(*UPDATE, *options)
    assert {*recorded.entries} >= {"test_a", "test_b", "test_c"}


def test_last_failed_leaves_out_whole_modules_without_a_word(recorded: Project) -> None:
    two = recorded.with_test(costs("other"), module="test_other")
    two.run(*UPDATE)
    failing = two.with_test(costs("other").replace("full_history", "0/0"), module="test_other")
    failing.run("--ctxguard")

    failing.with_test(costs("a", "c")).run("--ctxguard", "--lf")

    assert stale(recorded) == findings(recorded) == []


def test_a_test_that_fails_its_gate_has_run_and_keeps_its_entry(recorded: Project) -> None:
    before = recorded.entries
    dearer = costs("a", "c").replace("full_history", "lambda messages: messages + messages[-1:]", 1)
    changed = recorded.with_test("\n    @pytest.mark.ctx_budget(9)" + dearer)

    result = changed.run("--ctxguard")
    updated = changed.run(*UPDATE)

    assert result.outcomes == updated.outcomes == {"failed": 1, "passed": 1}
    assert stale(recorded) == [("test_mini.py::test_b", "", "")]
    assert recorded.entries == {k: v for k, v in before.items() if k != "test_b"}


def test_the_module_is_gone(recorded: Project) -> None:
    (recorded.root / "test_mini.py").unlink()
    moved = recorded.with_test(costs("a", "b"), module="test_moved")

    assert moved.run("--ctxguard", "-k", "test_a").exit == 0
    assert moved.run("--ctxguard", "test_moved.py").exit == 0
    assert moved.run("--ctxguard").exit == 1
    assert stale(recorded) == [("test_mini.ctxguard.json", "", "")]
    [finding] = findings(recorded)
    assert (
        finding["what"] == "the baseline test_mini.ctxguard.json belongs to nothing that is tested"
    )
    assert finding["measured"] == "its module is gone"
    assert finding["remedy"].endswith("git rm test_mini.ctxguard.json")

    assert moved.run(*UPDATE).exit == 0
    assert not (recorded.root / "test_mini.ctxguard.json").exists()
    assert (recorded.root / "test_moved.ctxguard.json").exists()


def test_the_module_has_no_guarded_test_any_more(recorded: Project) -> None:
    plain = recorded.with_test("def test_a():\n    pass\n").with_test(costs("z"), module="test_z")
    plain.run(*UPDATE, "test_z.py")

    assert plain.run("--ctxguard").exit == 1
    assert stale(recorded) == [("test_mini.ctxguard.json", "", "")]
    assert findings(recorded)[0]["measured"] == "its module has no guarded test"


def test_a_folder_that_is_not_collected_is_not_looked_at(recorded: Project) -> None:
    (recorded.root / "test_mini.py").unlink()
    elsewhere = recorded.with_file(
        "inner/test_inner.py",
        "import pytest\nfrom pytest_ctxguard import full_history\n"
        + costs("a").replace("\n    ", "\n"),
    )

    result = elsewhere.run("--ctxguard", "inner")

    assert (result.exit, result.outcomes) == (0, {"passed": 1})
    assert stale(recorded) == []


@pytest.mark.parametrize("workers", ["-n1", "-n2"])
def test_under_xdist_the_controller_says_the_same(recorded: Project, workers: str) -> None:
    fewer = recorded.with_test(costs("a", "c"))
    alone = fewer.run("--ctxguard")
    said = (stale(recorded), findings(recorded), recorded.last_run["collection"])

    together = fewer.run("--ctxguard", workers)

    assert alone.exit == together.exit == 1
    assert (stale(recorded), findings(recorded), recorded.last_run["collection"]) == said
    assert fewer.run("--ctxguard", workers, "-k", "test_a").exit == 0
    assert fewer.run("--ctxguard", workers, "test_mini.py::test_a").exit == 0
    assert stale(recorded) == []


def test_collecting_alone_removes_nothing(recorded: Project) -> None:
    (recorded.root / "test_mini.py").unlink()

    result = recorded.with_test(costs("a"), module="test_moved").run(*UPDATE, "--collect-only")

    assert result.exit == 0
    assert recorded.baseline_path.exists()
