"""Questions are asked once, in good company, and what they took is told."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.backend import Completion
from pytest_ctxguard.errors import BackendError, ModelLost
from pytest_ctxguard.recall.asking import GROUP, ROUNDS, Asker, Question, Spent, grouped
from pytest_ctxguard.recall.store import Store
from pytest_ctxguard.testing import ScriptedBackend

TOOL = {"type": "function", "function": {"name": "open_ticket", "parameters": {}}}
OTHER = {"type": "function", "function": {"name": "close_ticket", "parameters": {}}}


class Batching:
    """Answers from the last message, keeps every batch, and takes ten seconds for each."""

    identity = {"model": "batching", "numerics": "exact"}  # noqa: RUF012 - never changed

    def __init__(self, *, fingerprint=None, lost_after=None):
        self.batches, self.now, self.lost_after = [], 0.0, lost_after
        if fingerprint is not None:
            self.fingerprint = fingerprint

    def clock(self):
        return self.now

    def complete(self, messages, **options):
        [answer] = self.complete_many([messages], **options)
        if isinstance(answer, BackendError):
            raise answer
        return answer

    def complete_many(self, requests, *, tools=(), tool_choice="auto", max_tokens=48):
        if len(self.batches) == self.lost_after:
            raise ModelLost("process 7 is gone")
        self.batches.append(
            [
                (messages[-1]["content"], len(tools), tool_choice, max_tokens)
                for messages in requests
            ]
        )
        self.now += 10
        return tuple(map(self.answer, requests))

    def answer(self, messages):
        text = messages[-1]["content"]
        if text == "bad":
            return BackendError("out of memory")
        return Completion(text.upper(), prompt_tokens=100, cached_tokens=70, completion_tokens=2)


@pytest.fixture
def stores(tmp_path):
    """Open stores on one folder, each as another run, and close them after the test."""
    made = []

    def make(**options):
        options = {"run": f"run {len(made)}", "warn": pytest.fail, **options}
        made.append(Store(tmp_path / "answers", **options))
        return made[-1]

    yield make
    for store in made:
        store.close()


def question(text, *, before="", **options):
    system = [{"role": "system", "content": before}] if before else []
    return Question([*system, {"role": "user", "content": text}], **options)


def texts(answers):
    return [a.text if isinstance(a, Completion) else str(a) for a in answers]


LONG = ["one long history " * 50, "another long history " * 50, "a third " * 90]
MIXED = [
    question(f"wording {n}", before=before, tools=tools)
    for n in range(3)
    for before in LONG
    for tools in ((), (TOOL,))
]


def test_answers_come_in_the_order_asked_whatever_the_order_of_asking():
    shuffled = MIXED.copy()
    random.Random("1").shuffle(shuffled)
    backend = Batching()
    answers = Asker(backend).ask(shuffled)
    assert texts(answers) == [q.messages[-1]["content"].upper() for q in shuffled]
    asked = [row for batch in backend.batches for row in batch]
    assert sorted(asked) == sorted(
        (q.messages[-1]["content"], len(q.tools), "auto", 48) for q in MIXED
    )


def test_questions_over_one_prefix_are_asked_together():
    backend = Batching()
    Asker(backend).ask(MIXED)
    wordings = [f"wording {n}" for n in range(3)]
    assert [[row[0] for row in batch] for batch in backend.batches] == [wordings] * 6


def test_short_questions_that_share_little_go_alone():
    backend = Batching()
    Asker(backend).ask([question("x" * 200), question("y" * 200)])
    assert [len(batch) for batch in backend.batches] == [1, 1]


def test_how_to_ask_reaches_the_backend():
    backend = Batching()
    Asker(backend).ask(
        [
            question("a", tools=[TOOL], tool_choice="required"),
            question("a", tools=[TOOL], tool_choice="none"),
            question("a", tools=[OTHER], max_tokens=9),
        ]
    )
    assert sorted(row for batch in backend.batches for row in batch) == [
        ("a", 1, "auto", 9),
        ("a", 1, "none", 48),
        ("a", 1, "required", 48),
    ]


def test_a_backend_without_batches_is_asked_one_by_one():
    backend = ScriptedBackend(lambda messages: messages[-1]["content"])
    answers = Asker(backend).ask([question("a", tools=[TOOL], tool_choice="required")])
    assert texts(answers) == ["a"]
    assert backend.requests[0]["tool_choice"] == "required"


def test_asked_again_the_backend_is_whatever_is_known_and_nothing_is_kept_of_it(stores):
    class Fickle(Batching):
        def answer(self, messages):
            return Completion(f"answer {len(self.batches)}")

    asker = Asker(Fickle(fingerprint="f"), store=stores())
    asked = [question("a"), question("a")]
    rounds = [asker.ask(asked, again=again) for again in (False, True, False, True)]
    later = Asker(Fickle(fingerprint="f"), store=stores())
    rounds += [later.ask(asked), later.ask(asked, again=True)]
    assert [[text[-1] for text in texts(each)] for each in rounds] == [
        ["1"] * 2,
        ["2"] * 2,
        ["1"] * 2,
        ["3"] * 2,
        ["1"] * 2,
        ["1"] * 2,
    ]
    assert (later.spent.kept, later.spent.asked) == (1, 1)


@given(
    st.lists(
        st.tuples(
            st.text("ab", max_size=6),
            st.sampled_from(["", "x" * 40, "x" * 20 + "y" * 20]),
            st.sampled_from([(), (TOOL,), (OTHER,)]),
            st.sampled_from(["auto", "none", "required"]),
            st.sampled_from([8, 48]),
        ),
        max_size=40,
    ),
    st.sampled_from([0, 1, 3]),
)
def test_groups_hold_each_question_once_and_only_what_can_be_asked_together(rows, at_once):
    questions = {
        (q := question(text, before=before, tools=tools, tool_choice=choice, max_tokens=n)).text: q
        for text, before, tools, choice, n in rows
    }
    groups = list(grouped(questions, at_once=at_once))
    assert sorted(text for group in groups for text in group) == sorted(questions)
    for group in groups:
        first = next(iter(group.values()))
        assert 1 <= len(group) <= (ROUNDS * at_once or GROUP)
        assert all(each.asked_like(first) for each in group.values())
        half = (max(map(len, group)) + 1) // 2
        assert at_once or len({text[:half] for text in group}) == 1


def test_a_server_is_asked_unlike_questions_together():
    backend = Batching()
    backend.at_once = 2
    Asker(backend).ask([question(letter * 9) for letter in "abcdefghij"])
    assert [len(batch) for batch in backend.batches] == [8, 2]


def test_each_question_is_asked_once():
    backend = Batching()
    asker = Asker(backend)
    first = asker.ask([question("a"), question("b"), question("a")])
    again = asker.ask([question("b")])
    assert texts(first) == ["A", "B", "A"]
    assert texts(again) == ["B"]
    assert sum(map(len, backend.batches)) == 2
    assert (asker.spent.asked, asker.spent.remembered) == (2, 2)


def test_an_error_takes_its_answers_place_and_is_not_asked_again():
    backend = Batching()
    asker = Asker(backend)
    first, second = asker.ask([question("bad"), question("good")])
    assert isinstance(first, BackendError)
    assert second.text == "GOOD"
    asker.ask([question("bad")])
    assert sum(map(len, backend.batches)) == 2


def test_what_it_took_is_counted():
    backend = Batching()
    asker = Asker(backend, clock=backend.clock)
    asker.ask([question("a"), question("bad"), question("x" * 99)])
    assert asker.spent == Spent(
        asked=2,
        prompt_tokens=200,
        computed_tokens=60,
        completion_tokens=4,
        seconds=10.0 * len(backend.batches),
    )
    twice = asker.spent + asker.spent
    assert (twice.asked, twice.seconds) == (4, 2 * asker.spent.seconds)


def test_progress_begins_at_what_is_known_and_ends_at_all():
    told = []
    asker = Asker(Batching(), progress=lambda *step: told.append(step))
    asker.ask([question("w" * 200), question("v" * 200)], label="first")
    asker.ask([question("w" * 200), question("u" * 200)], label="second")
    asker.ask([question("u" * 200)], label="third")
    assert told == [
        ("first", 0, 2),
        ("first", 1, 2),
        ("first", 2, 2),
        ("second", 0, 1),
        ("second", 1, 1),
    ]


def test_a_later_run_asks_only_what_is_missing(stores):
    first, second = Batching(fingerprint="f"), Batching(fingerprint="f")
    Asker(first, store=stores()).ask([question("a"), question("bad")])
    asker = Asker(second, store=stores())
    answers = asker.ask([question("a"), question("b"), question("bad")])
    assert texts(answers) == ["A", "B", "out of memory"]
    assert sorted(row[0] for batch in second.batches for row in batch) == ["b", "bad"]
    assert (asker.spent.asked, asker.spent.kept) == (1, 1)
    assert (asker.spent.prompt_tokens, asker.spent.computed_tokens) == (200, 30)


def test_what_another_worker_of_this_run_asked_is_no_earlier_runs(stores):
    Asker(Batching(fingerprint="f"), store=stores(run="same")).ask([question("a")])
    asker = Asker(Batching(fingerprint="f"), store=stores(run="same"))
    asker.ask([question("a")])
    assert asker.spent == Spent(remembered=1)


def test_a_fresh_run_asks_everything_anew_once(stores):
    Asker(Batching(fingerprint="f"), store=stores()).ask([question("a")])
    backend = Batching(fingerprint="f")
    store = stores(fresh=True)
    asker = Asker(backend, store=store)
    asker.ask([question("a")])
    assert asker.spent.kept == 0
    assert len(backend.batches) == 1
    last = Asker(Batching(fingerprint="f"), store=stores())
    last.ask([question("a")])
    assert last.spent.kept == 1


@pytest.mark.parametrize("other", ["g", None], ids=["another", "none"])
def test_answers_of_another_backend_are_never_used(stores, other):
    Asker(Batching(fingerprint="f"), store=stores()).ask([question("a")])
    backend = Batching(fingerprint=other)
    Asker(backend, store=stores()).ask([question("a")])
    assert len(backend.batches) == 1


def test_a_backend_that_promises_nothing_has_nothing_kept(stores, tmp_path):
    Asker(Batching(), store=stores()).ask([question("a")])
    assert not (tmp_path / "answers").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"tools": [TOOL]},
        {"tool_choice": "none"},
        {"max_tokens": 47},
        {"before": "x"},
    ],
)
def test_another_question_has_another_answer(stores, change):
    Asker(Batching(fingerprint="f"), store=stores()).ask([question("a")])
    backend = Batching(fingerprint="f")
    Asker(backend, store=stores()).ask([question("a", **change)])
    assert len(backend.batches) == 1


def test_a_model_that_is_lost_loses_no_answer_it_gave(stores):
    asked = [question(text * 99) for text in "abcd"]
    backend = Batching(fingerprint="f", lost_after=2)
    with pytest.raises(ModelLost, match="process 7"):
        Asker(backend, store=stores()).ask(asked)
    later = Batching(fingerprint="f")
    Asker(later, store=stores()).ask(asked)
    assert [len(batch) for batch in (*backend.batches, *later.batches)] == [1] * 4


def test_neither_prompt_nor_question_is_in_the_file(stores, tmp_path):
    asker = Asker(Batching(fingerprint="f"), store=stores())
    asker.ask([question("my secret question", before="my secret prompt")])
    asker._store.close()
    data = b"".join(p.read_bytes() for p in (tmp_path / "answers").iterdir())
    assert b"MY SECRET QUESTION" in data  # the answer
    assert b"my secret" not in data


def test_a_question_is_told_by_all_that_is_in_it():
    variants = [
        question("a"),
        question("b"),
        question("a", tools=[TOOL]),
        question("a", tools=[OTHER]),
        question("a", tool_choice="none"),
        question("a", max_tokens=1),
    ]
    assert len({q.text for q in variants}) == len(variants)
    assert json.loads(variants[0].text)[-1] == [{"role": "user", "content": "a"}]
