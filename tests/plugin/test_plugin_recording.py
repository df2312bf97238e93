"""The baseline file: who is recorded in it, under which key, and who is not."""

from __future__ import annotations

import json

import pytest

from tests.plugin.project import UPDATE, Project

COST = """
    @pytest.mark.ctx_token_cost
    def test_it(ctx_replay):
        ctx_replay("mini", {policy})
    """


def test_update_writes_sorted_versioned_json_and_says_so(project: Project) -> None:
    test = """
        @pytest.mark.ctx_answered("shard")
        @pytest.mark.ctx_token_cost
        class TestBoth:
            @pytest.mark.parametrize("policy", [full_history, UserMessages()], ids=["full", "user"])
            def test_it(self, ctx_replay, policy):
                ctx_replay("mini", policy)
                ctx_replay("mini", policy, name="again")
        """

    result = project.with_test(test).run(*UPDATE)

    text = result.baseline_path.read_text()
    data = json.loads(text)
    assert text == json.dumps(data, indent=1, sort_keys=True) + "\n"
    assert data["version"] == 1
    assert list(data["entries"]) == ["TestBoth::test_it[full]", "TestBoth::test_it[user]"]
    entry = data["entries"]["TestBoth::test_it[full]"]
    assert list(entry) == ["", "again"]
    assert entry[""]["answered.shard"]["trials"] == dict.fromkeys(
        ["shard/1", "shard/2", "shard/3"], "hit"
    )
    assert (entry[""]["answered.shard"]["value"], entry[""]["answered.shard"]["of"]) == (3, 3)
    instruments = data["instruments"]
    assert instruments[entry[""]["answered.shard"]["instrument"]]["numerics"] == "exact"
    counted_with = instruments[entry[""]["billed_input_tokens"]["instrument"]]
    assert counted_with.keys() == {"counter", "transcript"}
    assert len(instruments) == 2  # of two tests and four replays
    assert "baseline written: test_mini.ctxguard.json" in result.section
    assert "record new values" not in result.section


def test_update_twice_gives_the_same_bytes_and_a_plain_run_none(project: Project) -> None:
    guarded = project.with_test(COST.format(policy="full_history"))
    first = guarded.run(*UPDATE).baseline_path.read_bytes()

    again = guarded.run(*UPDATE)
    later = guarded.run("--ctxguard")

    assert again.baseline_path.read_bytes() == first
    assert later.baseline_path.read_bytes() == first
    assert "baseline written" not in later.section
    assert [path.name for path in project.root.glob(".*.json.*")] == []


@pytest.mark.parametrize("options", [("--ctxguard",), UPDATE], ids=["compare", "update"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", ":1: not JSON ("),
        (
            '{"version": 99, "entries": {}}',
            ":1: version 99 is not supported; this release reads 1.",
        ),
        ("[]", ": version None is not supported"),
        (
            '{"version": 1, "instruments": {},\n "entries":\n {"test_it": {"": {"tokens": 5}}}}',
            ":3: 'tokens' is no object",
        ),
    ],
    ids=["broken", "foreign", "list", "entries"],
)
def test_a_baseline_that_cannot_be_read_is_an_error_with_its_path(
    project: Project, options: tuple[str, ...], text: str, said: str
) -> None:
    test = """
        @pytest.mark.ctx_carried("shard")
        @pytest.mark.ctx_token_cost
        def test_it(ctx_replay):
            ctx_replay("mini", full_history)

        @pytest.mark.ctx_carried("shard")
        def test_structure(ctx_replay):
            ctx_replay("mini", full_history)
        """
    broken = project.with_file("test_mini.ctxguard.json", text).with_test(test)

    result = broken.run(*options)

    assert result.outcomes == {"failed": 1, "passed": 1}
    assert f"{result.baseline_path}{said}" in result.failure("test_it")
    assert "Traceback" not in result.text
    [judged] = result.subjects("test_it", kind="replay")
    assert "carried(shard)" in [judgement["promise"] for judgement in judged["judgements"]]
    assert result.baseline_path.read_text() == text


MANY = """
    @pytest.mark.ctx_token_cost
    class TestMany:
        def test_good(self, ctx_replay):
            ctx_replay("mini", full_history)

        @pytest.mark.ctx_budget(100)
        def test_bad(self, ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4))

        @pytest.mark.ctx_budget(100)
        @pytest.mark.xfail(strict=True, raises=AssertionError, reason="known")
        def test_xfail(self, ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4))

        @pytest.mark.xfail(reason="known")
        def test_xpass(self, ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4))

        @pytest.mark.xfail(strict=True, reason="known")
        def test_strict(self, ctx_replay):
            ctx_replay("mini", SlidingWindow(last=4))

        def test_last(self, ctx_replay):
            ctx_replay("mini", full_history)
    """


def test_only_passing_tests_are_recorded_and_xfail_works_as_ever(project: Project) -> None:
    result = project.with_test(MANY).run(*UPDATE)

    assert result.outcomes == {"failed": 2, "passed": 2, "xfailed": 1, "xpassed": 1}
    assert "XPASS(strict)" in result.failure("TestMany::test_strict")
    assert list(result.baseline["entries"]) == ["TestMany::test_good", "TestMany::test_last"]
    assert result.payloads["TestMany::test_xfail"]["outcome"] == "xfailed"


def test_exitfirst_stops_and_the_section_covers_what_ran(project: Project) -> None:
    result = project.with_test(MANY).run(*UPDATE, "-x")

    assert result.outcomes == {"failed": 1, "passed": 1}
    assert list(result.payloads) == ["TestMany::test_good", "TestMany::test_bad"]
    assert list(result.baseline["entries"]) == ["TestMany::test_good"]


def test_last_failed_selects_the_broken_promises(project: Project) -> None:
    many = project.with_test(MANY)
    many.run("--ctxguard")

    result = many.run("--ctxguard", "--lf")

    assert list(result.payloads) == ["TestMany::test_bad", "TestMany::test_strict"]


def test_a_selection_leaves_the_other_entries_alone(project: Project) -> None:
    many = project.with_test(MANY)
    before = many.run(*UPDATE).baseline["entries"]
    cheaper = project.with_test(MANY.replace("full_history", "SlidingWindow(last=4)"))

    result = cheaper.run(*UPDATE, "-k", "test_last")

    after = result.baseline["entries"]
    assert list(result.payloads) == ["TestMany::test_last"]
    assert after["TestMany::test_good"] == before["TestMany::test_good"]
    assert after["TestMany::test_last"] != before["TestMany::test_last"]


def test_two_modules_have_two_baselines(project: Project) -> None:
    two = project.with_test(COST.format(policy="full_history")).with_test(
        COST.format(policy="UserMessages()"), module="test_b"
    )

    result = two.run(*UPDATE)

    assert "baseline written: test_b.ctxguard.json" in result.section
    other = json.loads((project.root / "test_b.ctxguard.json").read_bytes())
    assert other["entries"].keys() == result.baseline["entries"].keys() == {"test_it"}
    assert other["entries"] != result.baseline["entries"]


POSITIONAL = """
    POLICIES = [UserMessages(), SlidingWindow(last=4)]

    @pytest.mark.parametrize("policy", POLICIES)
    @pytest.mark.ctx_token_cost
    class TestPositional:
        def test_nameless(self, ctx_replay, policy):
            ctx_replay("mini", policy)

        def test_labelled(self, ctx_replay, policy):
            ctx_replay("mini", policy, name=type(policy).__name__)

    @pytest.mark.parametrize("policy", [lambda m: m[:1] + m[-4:], lambda m: m[:1] + m[-6:]])
    @pytest.mark.ctx_token_cost
    def test_lambdas(ctx_replay, policy):
        ctx_replay("mini", policy)

    @pytest.mark.parametrize("policy", POLICIES, ids=["user", "window"])
    @pytest.mark.ctx_token_cost
    def test_ids(ctx_replay, policy):
        ctx_replay("mini", policy)

    @pytest.mark.parametrize("policy", POLICIES)
    @pytest.mark.ctx_budget(9000)
    def test_no_baseline(ctx_replay, policy):
        ctx_replay("mini", policy)

    @pytest.mark.parametrize("turns", [1, 2])
    @pytest.mark.ctx_token_cost
    def test_plain_values(ctx_replay, turns):
        ctx_replay("mini", UserMessages(last_turns=turns))
    """


@pytest.mark.parametrize("options", [("--ctxguard",), UPDATE], ids=["compare", "update"])
def test_an_id_that_counts_positions_is_refused_once_a_baseline_is_used(
    project: Project, options: tuple[str, ...]
) -> None:
    result = project.with_test(POSITIONAL).run(*options)

    failed = {r["test"] for r in result.reports if r["outcome"] == "failed"}
    assert failed == {
        "TestPositional::test_nameless[policy0]",
        "TestPositional::test_nameless[policy1]",
        "test_lambdas[<lambda>0]",
        "test_lambdas[<lambda>1]",
    }
    assert result.outcomes == {"failed": 4, "passed": 8}
    text = result.failure("TestPositional::test_nameless[policy0]")
    assert "'policy0' in 'test_nameless[policy0]' only counts positions" in text
    assert "Give the parameters ids=…, or ctx_replay(…, name=…)" in text


def test_a_parametrised_test_has_an_entry_per_id_and_label(project: Project) -> None:
    entries = project.with_test(POSITIONAL).run(*UPDATE).baseline["entries"]

    assert {test: list(labels) for test, labels in entries.items()} == {
        "TestPositional::test_labelled[policy0]": ["UserMessages"],
        "TestPositional::test_labelled[policy1]": ["SlidingWindow"],
        "test_ids[user]": [""],
        "test_ids[window]": [""],
        "test_plain_values[1]": [""],
        "test_plain_values[2]": [""],
    }
