"""``ctx_recall`` and ``ctx_needle_recall``: needles asked under a policy, and judged."""

from textwrap import dedent

import pytest

from tests.plugin.project import UPDATE, Project


def needles(mark: str, call: str = "full_history, records=8, trials=16", after: str = "") -> str:
    return f"""
    {f"@pytest.mark.ctx_needle_recall({mark})" if mark else ""}
    def test_it(ctx_recall):
        recall = ctx_recall({call})
        {after}
    """


def test_a_sample_that_meets_its_claim_passes_and_is_reported(project: Project) -> None:
    call = "full_history, records=8, depths=[0, 1], trials=16"
    result = project.with_test(needles("at_least=16", call)).run("--ctxguard")

    assert result.outcomes == {"passed": 1}
    assert "register / full_history: 32 trials, seed 0" in result.section
    assert "8 records, depth 0: 16 of 16, 81% to 100%; carried in 16" in result.section
    assert "8 records, depth 1: 16 of 16, 81% to 100%; carried in 16" in result.section
    assert "pass         needle_recall: records=8:depth=0.0: 16 of 16 trials" in result.section


def test_too_few_hits_fail_and_name_trials_with_their_recipes(project: Project) -> None:
    blurred = project.with_backend("share-50").with_test(needles("at_least=16"))
    finding = blurred.run("--ctxguard").findings("test_it")["ctx_needle_recall.too-few"]

    assert "haystack register, policy full_history, cell records=8:depth=0.5" in finding["where"]
    assert "neighbour (carried): '" in finding["where"]
    assert "[register:records=8:depth=0.5:seed=0:trial=" in finding["where"]
    assert finding["allowed"] == "at least 16 of 16"


def test_a_claim_about_the_population_can_be_inconclusive(project: Project) -> None:
    middling = project.with_backend("share-60").with_test(
        needles("min_rate=0.5", "full_history, records=8, trials=32")
    )
    failed = middling.run("--ctxguard")
    warned = middling.run("--ctxguard", "--ctxguard-inconclusive=warn")

    assert "ctx_needle_recall.rate" in failed.findings("test_it")
    assert "inconclusive needle_recall" in failed.section
    assert warned.outcomes == {"passed": 1}


def test_carried_and_answered_are_told_apart(project: Project) -> None:
    window = "SlidingWindow(last=4), records=8, depths=[0, 1], trials=4, layout='turns'"
    checks = "; ".join(
        [
            "first, last = recall.cells",
            "assert (first.carried, first.hits, first.outcomes) == (0, 0, {'abstained': 4})",
            "assert (last.carried, last.hits) == (4, 4)",
        ]
    )
    result = project.with_test(needles("", window, checks)).run("--ctxguard")

    assert result.outcomes == {"passed": 1}
    assert "8 records, depth 0: 0 of 4, 0% to 49% (4 abstained); carried in 0" in result.section


def test_a_mark_may_be_about_some_cells_and_marks_stack(project: Project) -> None:
    source = """
    @pytest.mark.ctx_needle_recall(at_least=4)
    @pytest.mark.ctx_needle_recall(at_least=4, depth=1)
    def test_it(ctx_recall):
        ctx_recall(
            SlidingWindow(last=4), records=8, depths=[0, 1], trials=4, layout="turns"
        )
    """
    result = project.with_test(source).run("--ctxguard")

    assert "fail         needle_recall: records=8:depth=0.0: 0 of 4" in result.section
    assert "pass         needle_recall(depth=1): records=8:depth=1.0: 4 of 4" in result.section


@pytest.mark.parametrize(
    ("mark", "call", "problem"),
    [
        ("", "", "it claims nothing; give at_least, min_rate, max_lost or margin"),
        ("16", "", "16 has no name; its arguments do: trials, at_least, min_rate"),
        ("at_least=0", "", "at_least=0 is not a count"),
        ("at_least=9, trials=8", "", "at_least=9 is more than the 8 trials there are"),
        ("min_rate=0.8, trials=8", "", "min_rate=0.8"),
        ("at_least=1, depth=2", "", "depth=2 is not a number from 0 to 1"),
        ("at_least=1, records=0", "", "records=0 is not a number of records"),
        ("at_most=3", "", "has no argument 'at_most'"),
        ("at_least=17", "", "at_least=17 is more than the 16 trials there are"),
        ("min_rate=0.9", "full_history, trials=8", "min_rate=0.9"),
        ("at_least=1, depth=1", "", "no cell of this recall is like that"),
        ("at_least=1, trials=4", "", "trials=4, but each cell of this recall has 16"),
        ("at_least=1", "full_history, haystack='hay'", "no haystack is named 'hay'"),
        ("at_least=1", "full_history, haystack='mini'", "A transcript as haystack needs fact="),
        ("at_least=1", "full_history, haystack=3", "haystack=3: give 'register', 'pairs', a trans"),
        ("at_least=1", "full_history, lengths=5", "lengths=5: give a list"),
        ("at_least=1", "full_history, name=3", "name=3 is no text"),
        ("at_least=1", "full_history, judged='no'", "judged='no' is neither True nor False"),
        ("at_least=1", "full_history, tries=3", "ctx_recall has no argument 'tries'"),
        ("at_least=1", "full_history, records=3, lengths=[3]", "give one"),
        ("at_least=1", "full_history, records=3, depths=9", "are the same of 3 records"),
        ("at_least=1", "full_history, trials=0", "a cell has 1 or more trials"),
        ("at_least=1", "full_history, lengths=[]", "give one or more lengths"),
        ("at_least=1", "full_history, layout='rows'", "neither 'message' nor 'turns'"),
    ],
)
def test_what_cannot_be_judged_is_an_error_before_anything_is_asked(
    project: Project, mark: str, call: str, problem: str
) -> None:
    mark_line = f"@pytest.mark.ctx_needle_recall({mark})"
    call = call or "full_history, records=8, trials=16"
    source = f"""
    {mark_line}
    def test_it(ctx_recall):
        ctx_recall({call})
    """
    result = project.with_test(source).run("--ctxguard")

    assert problem in result.text
    assert not {"passed"} & result.outcomes.keys()
    assert not (result.root / "opened.txt").exists()


def test_the_mark_may_say_how_many_trials(project: Project) -> None:
    source = needles("at_least=3, trials=3", "full_history, records=8")
    assert "3 of 3" in project.with_test(source).run("--ctxguard").section


def test_nothing_to_check_without_a_recall(project: Project) -> None:
    source = """
    @pytest.mark.ctx_needle_recall(at_least=1)
    def test_never(ctx_recall):
        pass

    @pytest.mark.ctx_needle_recall(at_least=1)
    def test_not_judged(ctx_recall):
        ctx_recall(full_history, records=2, trials=2, judged=False)

    @pytest.mark.ctx_budget(4000)
    def test_a_promise_about_replays(ctx_recall):
        ctx_recall(full_history, records=2, trials=2)

    def test_no_mark_and_no_call(ctx_recall):
        pass
    """
    result = project.with_test(source).run("--ctxguard")

    assert result.outcomes == {"failed": 4}
    assert "no recall was judged. Call ctx_recall(policy) in its body." in result.failure(
        "test_never"
    )
    assert "no recall was judged" in result.failure("test_not_judged")
    assert "no replay was judged" in result.failure("test_a_promise_about_replays")
    assert "nothing to check" in result.failure("test_no_mark_and_no_call")


def test_a_policy_that_never_acts_over_its_budget_fails(project: Project) -> None:
    idle = project.with_test(needles("at_least=1", "full_history, trials=4, budget=300"))
    meant = needles("at_least=1", "full_history, trials=4, budget=300, expect_identity=True")

    finding = idle.run("--ctxguard").findings("test_it")["ctx_recall.idle"]
    assert finding["allowed"] == "300 tokens"
    assert "4 trials over the budget" in finding["where"]
    assert project.with_test(meant).run("--ctxguard").outcomes == {"passed": 1}


def test_a_policy_that_changes_its_history_fails(project: Project) -> None:
    source = """
    def careless(messages):
        messages.pop(0)
        return list(messages)

    @pytest.mark.ctx_needle_recall(at_least=1)
    def test_it(ctx_recall):
        ctx_recall(careless, records=8, trials=4)
    """
    finding = project.with_test(source).run("--ctxguard").findings("test_it")
    assert finding["ctx_recall.mutated"]["measured"] == "4 trials with a changed history"


def test_each_trial_has_a_policy_of_its_own(project: Project) -> None:
    source = """
    class Counting:
        def __init__(self):
            self.calls = 0

        def __call__(self, messages):
            self.calls += 1
            assert self.calls <= 2, "the call and the probe"
            return list(messages)

    def test_it(ctx_recall):
        ctx_recall(Counting(), records=8, trials=4)
    """
    assert project.with_test(source).run("--ctxguard").outcomes == {"passed": 1}


def test_the_structure_tier_leaves_it_out_and_opens_no_model(project: Project) -> None:
    source = """
    @pytest.mark.ctx_needle_recall(at_least=1)
    def test_marked(ctx_recall):
        ctx_recall(full_history, records=2, trials=2)

    def test_plain(ctx_recall):
        ctx_recall(full_history, records=2, trials=2)
    """
    result = project.with_test(source).run("--ctxguard", "--ctxguard-tier=structure")

    assert result.outcomes == {"skipped": 2}
    assert "not checked in this tier: needle_recall" in result.section
    assert not (result.root / "opened.txt").exists()


@pytest.mark.parametrize("mark", ["", "max_lost=0"])
def test_a_recall_without_an_answer_measured_nothing(project: Project, mark: str) -> None:
    silent = """
    from pytest_ctxguard.testing import ScriptedBackend

    def pytest_ctxguard_backend():
        return ScriptedBackend([])
    """
    result = project.with_file("conftest.py", dedent(silent)).with_test(needles(mark)).run(*UPDATE)

    assert result.outcomes == {"failed": 1}
    assert "[ctx_recall.not-asked] none of the 16 trials had an answer" in result.text
    assert "inconclusive guard" in result.section
    assert not result.baseline_path.exists()


def test_the_baseline_keeps_every_trial_and_lost_hits_fail(project: Project) -> None:
    source = needles("max_lost=0")
    recorded = project.with_test(source).run(*UPDATE)
    again = project.with_test(source).run("--ctxguard")
    worse = project.with_backend("share-80").with_test(source).run("--ctxguard")

    metric = recorded.baseline["entries"]["test_it"][""]["needle_recall.records=8:depth=0.5"]
    assert (metric["value"], metric["of"], len(metric["trials"])) == (16, 16, 16)
    assert metric["trials"]["records=8:depth=0.5:trial=7"] == "hit"
    instrument = recorded.baseline["instruments"][metric["instrument"]]
    assert instrument["haystack"] == "register v1"
    assert not {"policy", "budget"} & instrument.keys()
    assert again.outcomes == {"passed": 1}
    assert "[unchanged]" in again.section
    assert worse.outcomes == {"failed": 1}
    assert "records=8:depth=0.5:trial=" in worse.failure("test_it")


def test_a_replay_and_a_recall_of_one_test_share_its_entry(project: Project) -> None:
    source = """
    @pytest.mark.ctx_token_cost
    @pytest.mark.ctx_needle_recall(max_lost=0)
    def test_it(ctx_replay, ctx_recall):
        ctx_replay("mini", full_history)
        ctx_recall(full_history, records=2, trials=4)
    """
    entry = project.with_test(source).run(*UPDATE).baseline["entries"]["test_it"][""]
    assert entry.keys() == {"billed_input_tokens", "needle_recall.records=2:depth=0.5"}


def test_two_judged_recalls_need_two_names(project: Project) -> None:
    source = """
    def test_same(ctx_recall):
        ctx_recall(full_history, records=2, trials=2)
        ctx_recall(full_history, records=3, trials=2)

    @pytest.mark.ctx_needle_recall(at_least=2)
    def test_named(ctx_recall):
        ctx_recall(full_history, records=2, trials=2, name="two")
        ctx_recall(full_history, records=3, trials=2, name="three")
    """
    result = project.with_test(source).run("--ctxguard")

    assert "two judged recalls are named ''" in result.failure("test_same")
    assert "register / full_history [three]: 2 trials" in result.section


def test_the_seed_of_the_run_redraws_the_sample(project: Project) -> None:
    tested = project.with_test(needles("", after="print(recall.trials[0].recipe)"))
    assert (
        "records=8:depth=0.5:seed=3:trial=0"
        in tested.run("--ctxguard", "--ctxguard-seed=3", "-s").text
    )


def test_a_call_draws_a_sample_of_its_own_unless_the_command_line_draws(project: Project) -> None:
    call = "full_history, trials=1, seed=5"
    own = project.with_test(needles("", call, "print(recall.trials[0].recipe)"))

    assert ":seed=5:" in own.run("--ctxguard", "-s").text
    assert ":seed=3:" in own.run("--ctxguard", "--ctxguard-seed=3", "-s").text
    assert ":seed=0:" in own.run("--ctxguard", "--ctxguard-seed=0", "-s").text


def test_curtailed_trials_are_those_that_the_verdict_needs(project: Project) -> None:
    call = "full_history, records=8, trials=16, curtail=True"
    done = project.with_test(needles("at_least=3", call, "assert recall.cells[0].of == 3"))
    open_ = project.with_test(needles("max_lost=0", call, "assert recall.cells[0].of == 16"))

    result = done.run("--ctxguard")
    assert result.outcomes == {"passed": 1}
    assert "3 of 3 (16 planned)" in result.section
    assert open_.run("--ctxguard").outcomes == {"passed": 1}


def test_lengths_share_their_middle_record_and_have_an_effective_length(project: Project) -> None:
    source = """
    def test_it(ctx_recall):
        recall = ctx_recall(full_history, lengths=[1, 4, 9], trials=6)
        answers = {
            tuple(trial.text for trial in recall.cell(records=n).trials) for n in (1, 4, 9)
        }
        assert len(answers) == 1
        assert recall.effective_length().length == 9
    """
    assert project.with_test(source).run("--ctxguard").outcomes == {"passed": 1}


def test_workers_and_one_process_report_the_same(project: Project) -> None:
    source = """
    @pytest.mark.ctx_needle_recall(at_least=1)
    @pytest.mark.parametrize("records", [2, 5, 8])
    def test_it(ctx_recall, records):
        ctx_recall(full_history, records=records, trials=4, curtail=True)
    """
    tested = project.with_backend("share-50").with_test(source)
    alone, spread = tested.run("--ctxguard"), tested.run("--ctxguard", "-n", "2")

    assert alone.outcomes == spread.outcomes
    assert alone.judged.strip() == spread.judged.strip()
    assert alone.payloads == spread.payloads


async_source = """
    import asyncio

    async def lazy(messages):
        await asyncio.sleep(0)
        return list(messages)

    @pytest.mark.ctx_needle_recall(at_least=4)
    def test_inside_a_loop(ctx_recall):
        async def body():
            with pytest.raises(Exception, match=r"await ctx_recall\\.aio"):
                ctx_recall(lazy, records=2, trials=4)
            return await ctx_recall.aio(lazy, records=2, trials=4)

        assert asyncio.run(body()).cells[0].hits == 4
    """


def test_async_policies_are_awaited(project: Project) -> None:
    assert project.with_test(async_source).run("--ctxguard").outcomes == {"passed": 1}


def test_the_payload_is_what_a_program_reads(project: Project) -> None:
    result = project.with_test(needles("at_least=1")).run("--ctxguard")
    [subject] = result.subjects("test_it", kind="recall")
    recall = subject["recall"]
    [cell] = recall["cells"]
    assert (cell["hits"], cell["of"], cell["planned"], cell["carried"]) == (16, 16, 16, 16)
    assert cell["outcomes"] == {"hit": 16}
    assert (recall["haystack"], recall["seed"], recall["budget"]) == ("register", 0, None)


PIN = """
    from pytest_ctxguard.transcript.placing import Plant
    from pytest_ctxguard.transcript.replicating import plant_many

    PIN = Plant(
        name="shard pin", text="The shard pin is {value}.", wordings=("What is the shard pin?",)
    )

    def draw(rng):
        return f"{int(rng.random() * 9000) + 1000}"
    """
PLANTED = """
    @pytest.mark.ctx_needle_recall(at_least=1, trials=3)
    def test_at_depths(ctx_recall):
        recall = ctx_recall(
            SlidingWindow(last=8), haystack="mini", fact=PIN, values=draw, depths=[0, 1]
        )
        assert [cell.carried for cell in recall.cells] == [0, 3]
        assert recall.trials[0].recipe.startswith('planted:v1:{"transcript": "mini"')

    def test_replicated(ctx_recall, ctx_replay):
        transcript = ctx_replay("mini", SlidingWindow(last=8)).transcript
        planted = plant_many(transcript, PIN, values=draw, turns=[1, 10], trials=4)
        recall = ctx_recall(SlidingWindow(last=8), haystack=planted)
        [cell] = recall.cells
        assert (cell.of, cell.carried) == (4, 2)
        assert cell.trials[0].id == "shard pin#00"
    """


def test_needles_in_a_transcript_are_cut_with_it(project: Project) -> None:
    result = project.with_test(PIN + PLANTED).run("--ctxguard")

    assert result.outcomes == {"failed": 1, "passed": 1}
    assert "depth=0.0, abstained (not carried): 'I do not" in result.failure("test_at_depths")
    assert "depth=1.0, abstained (carried): 'I do not" in result.failure("test_at_depths")


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("haystack='mini', fact=PIN", "needs fact=Plant(…), without value and place, and values="),
        ("haystack='mini', fact=PIN, values=draw, records=3", "records= says nothing with a tran"),
        ("fact=PIN, values=draw", "fact= says nothing with haystack='register'"),
        ("haystack='absent', fact=PIN, values=draw", "absent"),
        (
            "haystack=plant_many(MINI, PIN, values=draw, trials=2, turns=[1]), trials=3",
            "trials= says nothing with a Planted, which has its trials",
        ),
    ],
)
def test_options_that_do_not_go_together(project: Project, call: str, problem: str) -> None:
    source = f"""
    from tests.plugin.project import mini_transcript
    MINI = mini_transcript()

    def test_it(ctx_recall):
        ctx_recall(full_history, {call})
    """
    result = project.with_test(PIN + source).run("--ctxguard")
    assert result.outcomes == {"failed": 1}
    assert problem in result.text
