"""What a request must have kept of its history: the current task and the newest tool round."""

import pytest

from pytest_ctxguard.transcript.wellformed import PROVIDERS, openai_rules
from tests.factories import assistant, call, calling, result, system, user

TASK = user("Compare the two contracts clause by clause and list every penalty.")
WHOLE = TASK["content"]
LINES = "\n".join(f"clause {n}: {n} days" for n in range(40))
ROUND = [calling(call("c1"), call("c2")), result(LINES, "c1"), result("none", "c2")]
HISTORY = [system(), user("hello"), assistant("hi"), TASK, *ROUND]


def lacking(request, history=HISTORY):
    return [(problem.rule, problem.index) for problem in openai_rules(request, history=history)]


@pytest.mark.parametrize(
    "request_",
    [
        HISTORY,
        HISTORY[3:],
        [user(f"[Earlier messages were left out.]\n{WHOLE}"), *ROUND],
        [system(f"The task: {WHOLE}"), user("go on"), *ROUND],
        [user(f"{WHOLE[:30]}…"), *ROUND],
        [user(f"[shortened] …{WHOLE[-30:]}"), *ROUND],
        [TASK, ROUND[0], result(f"{LINES[:40]} [truncated]", "c1"), ROUND[2]],
        [TASK, ROUND[0], result("[This tool result was cleared.]", "c1"), ROUND[2]],
        [TASK, ROUND[0], result("none", "c2"), result(LINES, "c1")],
    ],
    ids=["whole", "cut before it", "with a note", "pinned", "beginning kept", "end kept",
         "result cut", "result cleared", "other order"],
)  # fmt: skip
def test_what_counts_as_kept(request_):
    assert lacking(request_) == []


@pytest.mark.parametrize(
    ("request_", "problems"),
    [
        ([user("hello"), *ROUND], [("current-task", None)]),
        ([user(WHOLE[:30]), *ROUND], [("current-task", None)]),
        ([user("[Summary: two contracts are compared.]"), *ROUND], [("current-task", None)]),
        ([TASK], [("current-round", None)]),
        ([TASK, assistant("c1 says so")], [("current-round", None)]),
        ([TASK, ROUND[0], result(LINES[:40], "c1"), ROUND[2]], [("current-round", 2)]),
        ([user("hello")], [("current-round", None), ("current-task", None)]),
    ],
    ids=["dropped", "cut without a mark", "summed up", "no round", "only retold", "result cut",
         "both"],
)  # fmt: skip
def test_what_counts_as_lost(request_, problems):
    assert sorted(lacking(request_)) == problems


def test_a_mark_that_the_text_had_before_is_no_mark():
    history = [user("Explain [docs] and the rest of it, please, in full.")]
    assert lacking([user("Explain [docs] and")], history) == [("current-task", None)]
    assert lacking([user("Explain [docs] and […]")], history) == []


def test_a_task_without_text_is_compared_whole():
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    history = [{"role": "user", "content": [picture]}]
    assert lacking(history, history) == []
    assert lacking([user("hello")], history) == [("current-task", None)]


def test_only_what_is_accepted_is_asked_for_what_it_lacks():
    assert lacking([ROUND[2]]) == [("orphan-result", 0)]


def test_without_a_history_nothing_is_looked_for():
    assert openai_rules([user("hello")]) == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_says_so_in_our_words(provider):
    [problem] = PROVIDERS[provider]([user("hello")], history=[TASK])
    assert problem.rule == "current-task"
    assert problem.refusal == ""
    assert problem.stricter == "the API takes it, but the model no longer sees what it is asked"
