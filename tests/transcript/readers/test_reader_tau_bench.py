"""tau-bench's results: each a run; those that failed before their first message are told."""

import pytest
from export_files import document, read, refused, survives

from pytest_ctxguard.transcript.readers.tau_bench import READER

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id":1}'}}
TRAJ = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Find order 1."},
    {"content": None, "role": "assistant", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "{}"},
    {"content": "Found.", "role": "assistant"},
    {"role": "user", "content": "###STOP###"},
]


def result(**changes):
    info = {"task": {"user_id": "u"}, "source": "user", "user_cost": 0.5, "reward_info": {}}
    return {"task_id": 4, "reward": 1.0, "info": info, "traj": TRAJ, "trial": 2, **changes}


def test_each_result_is_a_run_with_its_messages_untouched():
    reading = read(READER, [result(), result(task_id=5, traj=TRAJ[:2])], "runs.json")
    assert [run.messages for run in reading.runs] == [tuple(TRAJ), tuple(TRAJ[:2])]
    assert [run.name for run in reading.runs] == ["runs-0", "runs-1"]
    assert reading.runs[0].provenance == {
        **{"result": 0, "task_id": 4, "trial": 2, "reward": 1.0},
        **{"source": "user", "user_cost": 0.5},
    }
    assert reading.passed_over == {"info.task": 2, "info.reward_info": 2}
    assert len(reading.runs[0].tool_rounds) == 1


def test_a_result_without_messages_is_told_and_the_others_keep_their_numbers():
    failed = result(traj=[], info={"error": "timeout", "traceback": "…"})
    reading = read(READER, [failed, result()], "runs.json")
    (run,) = reading.runs
    assert (run.name, run.provenance["result"]) == ("runs-1", 1)
    assert reading.passed_over["result without messages"] == 1
    (note,) = reading.notes
    assert note.what == (
        "result 0 (task 4, trial 2) has no messages: timeout; it is not among the runs"
    )


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([result(), 3], "`results[1]` must be an object"),
        ([result(), result(traj=None)], "`results[1].traj` must be a list"),
        ([result(traj=[*TRAJ, "x"])], "`results[0].traj[6]` must be an object"),
        ([result(traj=[{"role": "x"}])], "`results[0].traj[0]`: `message` needs a `role`"),
        ([result(traj=[{"role": "tool", "tool_call_id": 3}])], "`tool_call_id` must be text"),
        ([result(traj=[])], "no result has messages"),
    ],
)
def test_broken_ones_say_where(value, says):
    assert says in refused(READER, value)


@pytest.mark.parametrize("value", [[], [TRAJ], {"task_id": 1, "traj": []}, [{"task_id": 1}], b"{"])
def test_others_are_not_recognised(value):
    assert not READER.recognises(document(value))


def test_only_typed_errors_leave_it():
    assert survives(READER, [result(), result(traj=TRAJ[:3])]) > 100
