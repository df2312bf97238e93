"""The benchmarks' workload and arithmetic; nothing here is timed and no model is loaded."""

import sys

import pytest

from benchmarks import figures, workload
from benchmarks.figures import Floor, Pair, Timing
from benchmarks.processes import ENGINES, Engine, EngineAbsent, EngineDied, parse_pythons
from benchmarks.worker import Reply, Settings, time_prompt
from pytest_ctxguard.tokens.request import RequestEncoder


@pytest.fixture(scope="module")
def encoder():
    return RequestEncoder()


@pytest.fixture(scope="module")
def policy(encoder):
    return workload.policy_questions(encoder)


@pytest.fixture(scope="module")
def needle(encoder):
    return workload.needle_questions(encoder)


def test_the_probe_workload_has_72_and_72_prompts(policy, needle):
    sizes = {key: len(group) for key, group in workload.groups([*policy, *needle]).items()}
    assert [n for (kind, _), n in sizes.items() if kind == "policy"] == [12] * 6
    assert [n for (kind, _), n in sizes.items() if kind == "needle"] == [8] * 9


def test_the_session_is_of_the_promised_length(policy):
    whole = [len(q.ids) for q in policy if q.group == "full-history"]
    assert 7_000 <= min(whole) <= max(whole) <= 11_000
    assert all(len(q.ids) <= workload.BUDGET for q in policy if q.group == "three-step-fit-counted")
    assert len({q.ids for q in policy}) == 72


def test_elided_results_are_shorter_than_the_history_and_keep_the_newest_turns(policy):
    messages = workload.find(workload.TRANSCRIPT).messages
    kept = workload.elided_results(messages)
    newest = workload.turn_starts(messages)[-workload.WHOLE_TURNS]
    assert kept[newest:] == list(messages[newest:])
    changed = [new for old, new in zip(messages, kept, strict=True) if old != new]
    assert changed
    assert all("run " in message["content"] for message in changed)
    assert len(policy[36].ids) < len(policy[0].ids)


def test_wordings_of_one_condition_share_their_prefix(policy):
    first, last = policy[0].ids, policy[11].ids
    shared = next(i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    assert shared > 0.99 * min(len(first), len(last))


def test_the_needle_stands_at_its_depth_and_only_its_number_is_right(needle, encoder):
    def place(question):
        text = encoder.decode(question.ids)
        lines = [line for line in text.splitlines() if line.startswith("Ticket ")]
        return [i for i, line in enumerate(lines) if question.right(line.rsplit(" ", 1)[1])]

    assert [place(q) for q in needle[::8]] == [[3 * depth] for depth in range(9)]
    question = needle[0]
    numbers = [
        line.rsplit(" ", 1)[1].rstrip(".")
        for line in encoder.decode(question.ids).splitlines()
        if line.startswith("Ticket ")
    ]
    assert question.right(f"It is {numbers[0]}.")
    assert not question.right(f"It is {numbers[0]} or {numbers[1]}.")
    assert not question.right("I do not know.")


def test_speed_prompts_have_their_length_and_share_no_first_token(encoder):
    text = workload.corpus(encoder)
    prompts = [workload.speed_prompt(text, length=512, serial=n) for n in range(60)]
    assert {len(prompt) for prompt in prompts} == {512}
    assert len({prompt[0] for prompt in prompts}) == 60
    assert len(workload.speed_prompt(text, length=3 * len(text), serial=1)) == 3 * len(text)


def pair(peer, length, ours, theirs):
    return Pair(peer, length, Timing(length, ours, 32, 1.0), Timing(length, theirs, 32, 2.0))


def test_a_ratio_is_the_median_of_its_pairs():
    pairs = [
        pair("torch_bf16", 512, 1.0, 3.0),
        pair("torch_bf16", 512, 1.0, 1.0),
        pair("torch_bf16", 512, 2.0, 4.0),
        pair("llama_cpp", 512, 1.0, 5.0),
    ]
    assert figures.ratios(pairs, "prefill_rate") == {
        "torch_bf16": {"512": 2.0},
        "llama_cpp": {"512": 5.0},
    }
    assert figures.ratios(pairs, "decode_rate")["llama_cpp"] == {"512": 2.0}


def test_rates_by_length_give_median_and_best():
    timings = {"ours": [Timing(512, 1.0, 32, 1.0), Timing(512, 2.0, 32, 4.0)]}
    row = figures.by_length(timings)["512"]["ours"]
    assert row["prefill_tok_s"] == {"median": 384.0, "best": 512.0}
    assert row["decode_tok_s"] == {"median": 20.0, "best": 32.0}
    assert row["repeats"] == 2


def test_the_quicker_way_of_openvino_is_the_one_that_counts():
    seconds = {"ours": 40.0, "openvino": 100.0, "openvino_batched": 50.0, "llama_cpp": 200.0}
    assert figures.time_ratios(seconds) == {
        "openvino": 0.4,
        "openvino_batched": 0.8,
        "llama_cpp": 0.2,
        "best_openvino": 0.8,
    }
    assert figures.time_ratios({"llama_cpp": 200.0}) == {}


@pytest.mark.parametrize(
    ("at", "value", "verdict"),
    [
        ("least", 1.0, "met"),
        ("least", 0.999, "missed"),
        ("most", 1.0, "met"),
        ("most", 1.001, "missed"),
        ("least", None, "not measured"),
    ],
)
def test_a_floor_is_met_missed_or_not_measured(at, value, verdict):
    report = {"ratio": {} if value is None else {"peer": value}}
    rows = figures.judge_floors(report, [Floor("a promise", ("ratio", "peer"), 1.0, at)])
    assert [(row["measured"], row["verdict"]) for row in rows] == [(value, verdict)]
    assert verdict in figures.floor_table(rows)


def test_every_floor_points_into_a_report():
    report = {
        "prefill_ratio": {"torch_bf16": dict.fromkeys(["512", "2048", "8192"], 9.0)},
        "load_s": {"ours": 0.5},
    }
    rows = figures.judge_floors(report, figures.ENGINE_FLOORS)
    met = [row["floor"] for row in rows if row["verdict"] == "met"]
    assert met == [
        "prefill at 512 / torch_bf16",
        "prefill at 2048 / torch_bf16",
        "prefill at 8192 / torch_bf16",
        "load of a converted model, s",
    ]


class CountingPeer:
    def generate(self, prompt, *, max_tokens, stop, on_token):
        for _ in range(max_tokens):
            on_token()
        return Reply(range(max_tokens), len(prompt))


def test_the_first_token_belongs_to_the_prompt_and_the_rest_to_decoding():
    timed = time_prompt(CountingPeer(), [1, 2, 3], decoded=5)
    assert (timed["decoded"], timed["computed"]) == (5, 3)
    assert timed["prefill_s"] > 0
    assert timed["decode_s"] > 0


def test_an_engine_whose_library_is_absent_is_told_from_one_that_breaks(tmp_path, monkeypatch):
    settings = Settings("", "", str(tmp_path / "none.gguf"), str(tmp_path), threads=1, context=256)
    monkeypatch.setitem(ENGINES, "ours", ("no_such_peer", ""))
    with pytest.raises(EngineAbsent, match="no_such_peer"):
        Engine.start("ours", python=sys.executable, settings=settings)
    monkeypatch.undo()
    with pytest.raises(EngineDied, match="no such model"):
        Engine.start("ours", python=sys.executable, settings=settings)


def test_interpreters_are_given_by_engine():
    assert parse_pythons(["openvino=/x/python"]) == {"openvino": "/x/python"}
    with pytest.raises(ValueError, match="no engine is named 'vllm'"):
        parse_pythons(["vllm=/x/python"])
