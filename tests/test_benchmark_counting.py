"""The counters' benchmark: what it compares counts the same; nothing here is timed."""

import builtins

from benchmarks import counting, sessions

SMALL = sessions.session("agentic", 10)


def test_a_counter_is_held_against_every_text_it_sees():
    rows = list(counting.against_bare(SMALL, repeats=1))
    assert [row["counter"] for row in rows] == ["qwen2.5", "o200k"]
    assert all("left_out" in row or row["once_of_bare"] > 0 for row in rows)
    texts = counting.all_texts(SMALL, tools=False)
    assert all(message["content"] in texts for message in SMALL.messages if message["content"])


def test_the_requests_are_those_of_every_call():
    sent = counting.requests(SMALL)
    assert len(sent) == len(SMALL.calls)
    assert [len(messages) for messages in sent] == [call.history for call in SMALL.calls]


def test_a_library_that_is_not_there_is_left_out_with_the_reason(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "litellm":
            raise ImportError("No module named 'litellm'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "not installed here" in counting.against_litellm(SMALL, repeats=1)["left_out"]


def test_works_take_turns_and_each_run_is_made_anew():
    made = []

    def maker(name):
        def make():
            made.append(name)
            return lambda: None

        return make

    best = counting.fastest({"a": maker("a"), "b": maker("b")}, repeats=2)
    assert made == ["a", "b", "a", "b"]
    assert best.keys() == {"a", "b"}
