"""Facts planted in a transcript: where they stand, and what stays as it was."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.facts import check_facts
from pytest_ctxguard.transcript.jsonl import dump, load
from pytest_ctxguard.transcript.messages import content_text, full_text
from pytest_ctxguard.transcript.model import Compaction, ToolProbe, Transcript
from pytest_ctxguard.transcript.placing import LEVELS, Plant, Sentence, shape_of
from pytest_ctxguard.transcript.planting import plant
from pytest_ctxguard.transcript.wellformed import PROVIDERS
from tests.factories import assistant, call, calling, result, session, system, user

TEXT = "Tickets go under badge {value}."
SAID = "Tickets go under badge B-52."


def badge(**changes):
    """A plant whose place is still to be given."""
    fields = {"name": "badge", "value": "B-52", "text": TEXT, "wordings": ("Which badge?",)}
    return Plant(**{**fields, **changes})


def planted(transcript=None, *, besides=(), count=len, **changes):
    """The small session with a badge planted, and the badge's fact."""
    changed = plant(transcript or session(), badge(**changes), look_alikes=besides, count=count)
    return changed, changed.fact("badge")


def refused(transcript=None, *plants, **changes):
    with pytest.raises(UsageError) as caught:
        plant(transcript or session(), *plants, badge(**changes))
    return str(caught.value)


def test_the_user_says_it_in_a_turn():
    changed, fact = planted(turn=2)
    assert fact.planted_at == 3
    assert changed.messages[3] == user(f"Which shard is slow?\n{SAID}")
    assert session().messages[3] == user("Which shard is slow?")
    others = [(a, b) for a, b in zip(session().messages, changed.messages, strict=True) if a != b]
    assert len(others) == 1
    assert changed.facts[:2] == session().facts
    assert changed.provenance == {"planted": ["badge"]}


def test_the_user_says_it_in_a_turn_of_its_own():
    recorded = {2: {"prompt_tokens": 31}, 6: {"prompt_tokens": 90}}
    compactions = (
        Compaction(at=4, kept_from=2, inserted=(user("…"),)),
        Compaction(at=8, kept_from=8),
    )
    before = session(recorded=recorded, compactions=compactions)
    changed, fact = planted(before, turn=2, reply="Noted: B-52.", asked_turn=3)
    assert changed.messages[:3] == before.messages[:3]
    assert changed.messages[3:5] == (user(SAID), assistant("Noted: B-52."))
    assert changed.messages[5:] == before.messages[3:]
    assert (fact.planted_at, fact.asked_at) == (3, 9)
    assert [(f.planted_at, f.asked_at) for f in changed.facts[:2]] == [(1, 9), (7, None)]
    assert changed.recorded == {2: {"prompt_tokens": 31}, 8: {"prompt_tokens": 90}}
    assert [(c.at, c.kept_from) for c in changed.compactions] == [(6, 2), (10, 10)]


def test_the_assistant_says_it_where_it_answers():
    changed, fact = planted(turn=2, level="assistant")
    assert fact.planted_at == 6
    assert changed.messages[6] == assistant(f"The slow one is pay-shard-7.\n{SAID}")


def test_an_assistant_that_only_calls_says_it_beside_the_call():
    messages = (user("Look."), calling(call()), result("ok"), user("And?"))
    changed, fact = planted(session(messages=messages, facts=()), turn=1, level="assistant")
    assert fact.planted_at == 1
    assert changed.messages[1] == calling(call(), content=SAID)


def test_an_assistant_that_said_nothing_in_a_turn_says_it_at_its_end():
    messages = (user("Look."), user("And?"), assistant("Yes."), user("So?"))
    changed, fact = planted(session(messages=messages, facts=()), turn=1, level="assistant")
    assert fact.planted_at == 1
    assert changed.messages[:3] == (user("Look."), assistant(SAID), user("And?"))


def test_a_tool_says_it_in_its_last_result():
    changed, fact = planted(turn=2, level="tool")
    assert fact.planted_at == 5
    assert changed.messages[5] == result(f"pay-shard-7 is slow; pay-shard-3 is idle\n{SAID}")


def test_the_system_message_says_it():
    changed, fact = planted(level="system")
    assert (fact.planted_at, changed.messages[0]) == (0, system(f"You run payments.\n{SAID}"))


def test_without_a_system_message_there_is_one_then():
    before = session(messages=session().messages[1:3], facts=())
    changed, fact = planted(before, level="system")
    assert changed.messages == (system(SAID), *before.messages)
    assert fact.planted_at == 0


def test_content_of_parts_gets_a_part_more():
    parts = [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": "x"}}]
    before = session(messages=({"role": "user", "content": parts},), facts=())
    changed, _ = planted(before, turn=1)
    assert changed.messages[0]["content"] == [*parts, {"type": "text", "text": SAID}]
    assert len(parts) == 2


DEPTHS = [(0, 1), (0.3, 1), (0.4, 3), (0.5, 3), (0.9, 7), (1, 7)]


@pytest.mark.parametrize(("depth", "at"), DEPTHS)
def test_a_depth_is_a_share_of_the_messages(depth, at):
    assert planted(depth=depth)[1].planted_at == at


def test_a_depth_is_a_share_of_the_tokens_where_they_are_counted():
    def letters(messages):
        return sum(len(full_text(message)) for message in messages)

    assert planted(depth=0.5)[1].planted_at == 3
    assert planted(depth=0.2, count=letters)[1].planted_at == 1
    assert planted(depth=0.6, count=letters)[1].planted_at == 3


def test_a_depth_is_a_share_of_what_comes_before_the_probe():
    fact = planted(depth=1.0, asked_turn=3)[1]
    assert (fact.planted_at, fact.asked_at) == (3, 7)
    own = planted(depth=1.0, asked_turn=3, reply="Noted.")[1]
    assert (own.planted_at, own.asked_at) == (3, 9)


def test_several_facts_at_once_are_placed_by_the_turns_of_the_recording():
    owner = badge(
        name="owner",
        value="Ines",
        text="The badge of {value} is the one for tickets.",
        wordings=("Who?",),
        turn=2,
        kind="multi-hop",
        links=("badge",),
    )
    besides = Sentence(text="B-17 is Otto's.", turn=1)
    changed = plant(session(), badge(turn=1, reply="Noted."), owner, look_alikes=(besides,))
    assert [fact.planted_at for fact in changed.facts] == [3, 7, 1, 5]
    assert content_text(changed.messages[3]).endswith("B-17 is Otto's.")
    assert changed.provenance["planted"] == ["badge", "owner"]
    again = plant(changed, badge(name="more", value="B-99", turn=1))
    assert again.provenance["planted"] == ["badge", "owner", "more"]


def test_every_field_of_the_fact_is_declared():
    given = {
        "kind": "update",
        "shape": r"[\w-]+",
        "accepts": ("{value}", "badge {value}"),
        "look_alikes": ("B-53",),
        "lifetime": "durable",
        "match": "text",
        "supersedes": ("4417",),
        "tool": ToolProbe(name="read_log", argument="service"),
    }
    fact = planted(turn=2, **given)[1]
    wanted = {**given, "accepts": ("B-52", "badge B-52")}
    assert {name: getattr(fact, name) for name in given} == wanted


SHAPES = [
    ("4417", r"\d{4}"),
    ("pay-shard-7", r"[A-Za-z]+\-[A-Za-z]+\-\d+"),
    ("Ines", "Ines"),
    ("a.c", r"a\.c"),
    ("№ 7", r"№\ \d+"),
]


@pytest.mark.parametrize(("value", "shape"), SHAPES)
def test_a_shape_is_that_of_the_value(value, shape):
    assert shape_of(value) == shape


REFUSED = [
    ({"turn": 2, "value": ""}, "plant 'badge': it has no value"),
    ({"turn": 2, "text": "Use it."}, "plant 'badge': its text 'Use it.' has no {value}, where the "
     "value goes"),
    ({"turn": 2, "text": "{value} {name}"}, "plant 'badge': its text has {name}; only {value} is "
     "filled in"),
    ({"turn": 2, "value": "pay-shard-3"}, "plant 'badge': its value 'pay-shard-3' stands in "
     "message 5 (tool) already, so it could not be told from what is planted. Choose another "
     "value."),
    ({}, "plant 'badge': say where: either a turn (from 1) or a depth (from 0 to 1)"),
    ({"turn": 1, "depth": 0}, "plant 'badge': say where: either a turn (from 1) or a depth (from "
     "0 to 1)"),
    ({"turn": 0}, "plant 'badge': turn 0: transcript 'small' has turns 1 to 3"),
    ({"turn": True}, "plant 'badge': turn True: transcript 'small' has turns 1 to 3"),
    ({"turn": 1, "asked_turn": 4}, "plant 'badge': turn 4: transcript 'small' has turns 1 to 3"),
    ({"depth": 1.5}, "plant 'badge': depth 1.5 is not between 0 (the start) and 1 (the end)"),
    ({"depth": "1"}, "plant 'badge': depth '1' is not between 0 (the start) and 1 (the end)"),
    ({"turn": 1, "level": "developer"}, "plant 'badge': level 'developer' is not one of user, "
     "assistant, tool, system"),
    ({"turn": 1, "level": "system"}, "plant 'badge': the system message has no turn; leave it out"),
    ({"turn": 1, "level": "tool"}, "plant 'badge': turn 1 has no tool result; turns that have one: "
     "2"),
    ({"turn": 3, "level": "assistant"}, "plant 'badge': turn 3 is the last and still unanswered: "
     "the assistant says nothing in it. Choose another turn."),
    ({"turn": 1, "level": "tool", "reply": "ok"}, "plant 'badge': a reply is the text that answers "
     "a sentence of the user's"),
    ({"turn": 1, "reply": ""}, "plant 'badge': a reply is the text that answers a sentence of the "
     "user's"),
    ({"depth": 0, "asked_turn": 1, "level": "tool"}, "plant 'badge': there is no tool message to "
     "say it before message 1"),
    ({"turn": 3, "asked_turn": 3}, "fact 'badge': asked_at 7 is not a user message after the one "
     "that plants it"),
    ({"turn": 2, "wordings": "Which?"}, "plant 'badge': its wordings are one text; give a "
     "sequence of texts"),
    ({"turn": 2, "accepts": "{value}"}, "plant 'badge': its accepts are one text; give a sequence "
     "of texts"),
    ({"turn": 2, "match": "fuzzy"}, "fact 'badge': match 'fuzzy' is not one of word, exact, text, "
     "number, regex"),
    ({"turn": 2, "wordings": ()}, "fact 'badge': has no wordings, so nothing could be asked"),
    ({"turn": 2, "text": "badge{value}"}, "fact 'badge': its value 'B-52' is not in message 3, "
     "where it is planted"),
    ({"turn": 2, "name": "shard"}, "two facts are named 'shard'; rename one"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "what"), REFUSED)
def test_what_is_refused(changes, what):
    assert refused(**changes) == what


def test_nothing_to_plant():
    with pytest.raises(UsageError, match="no fact to plant"):
        plant(session())


def test_no_tool_said_anything():
    before = session(messages=session().messages[:4], facts=())
    assert refused(before, turn=1, level="tool").endswith("no turn has one")


def test_an_older_value_may_come_back():
    back = {"value": "4417", "kind": "update", "supersedes": ("pay-shard-7",), "look_alikes": ()}
    fact = planted(turn=3, text="Badge {value} again.", **back)[1]
    assert fact.planted_at == 7


def test_what_was_planted_is_written_and_read_back(tmp_path):
    changed, _ = planted(turn=1, level="assistant", match="exact", asked_turn=3)
    dump(changed, tmp_path / "t.jsonl")
    assert load(tmp_path / "t.jsonl") == changed


PLACES = st.one_of(
    st.integers(1, 4).map(lambda turn: {"turn": turn}), st.floats(0, 1).map(lambda d: {"depth": d})
)


@settings(deadline=None, max_examples=200)
@given(history=ctx.policy_histories(), data=st.data())
def test_a_history_with_a_plant_is_as_wellformed_as_before(history, data):
    before = Transcript(name="t", messages=tuple(history))
    kept = json.dumps(history)
    where = data.draw(PLACES)
    if where.get("turn", 1) > len(before.turns):
        where = {"turn": len(before.turns)}
    level = data.draw(st.sampled_from(LEVELS))
    reply = data.draw(st.none() | st.just("Noted.")) if level == "user" else None
    place = {} if level == "system" else where
    try:
        changed, fact = planted(before, level=level, reply=reply, **place)
    except UsageError:
        assert level in ("tool", "assistant")
        return
    assert json.dumps(history) == kept
    assert fact.mentions(full_text(changed.messages[fact.planted_at]))
    assert sum(SAID in full_text(message) for message in changed.messages) == 1
    for provider in ("openai", "anthropic"):
        was = {problem.rule for problem in PROVIDERS[provider](before.messages)}
        assert {problem.rule for problem in PROVIDERS[provider](changed.messages)} <= was
    untouched = [
        m for m in changed.messages if SAID not in full_text(m) and m != assistant("Noted.")
    ]
    added = len(changed.messages) > len(before.messages)
    assert len(untouched) >= len(before.messages) - (0 if added else 1)
    in_order = iter(before.messages)
    assert all(any(m == other for other in in_order) for m in untouched)
    check_facts(changed)


@settings(deadline=None, max_examples=100)
@given(turn=st.integers(1, 3), level=st.sampled_from(LEVELS), reply=st.booleans())
def test_what_was_there_moves_along(turn, level, reply):
    before = session(recorded={2: {"n": 2}, 4: {"n": 4}, 6: {"n": 6}})
    said = {"reply": "Noted."} if reply and level == "user" else {}
    try:
        changed, _ = planted(
            before, level=level, **said, **({} if level == "system" else {"turn": turn})
        )
    except UsageError:
        assert level in ("tool", "assistant")
        return
    for name in ("employee", "shard"):
        fact = changed.fact(name)
        assert fact.mentions(full_text(changed.messages[fact.planted_at]))
    asked = changed.messages[changed.fact("employee").asked_at]
    assert content_text(asked).startswith("Open a ticket.")
    for index, known in changed.recorded.items():
        was = before.messages[known["n"]]
        now = changed.messages[index]
        assert content_text(now).startswith(content_text(was))
        assert now.get("tool_calls") == was.get("tool_calls")
