"""Objects that keep what they are told: fed in order, once, and apart from their copies."""

import asyncio
import copy
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.adapters.kept import Kept, Store, keeping
from pytest_ctxguard.policies.protocol import is_factory, policy_name
from pytest_ctxguard.replay.run import Plan, run
from tests.factories import session as transcript
from tests.policies.adapters.histories import agentic, calls, chat


@dataclass
class Memory:
    """Keeps texts, and gives the newest ``size``."""

    size: int = 100
    texts: list[SimpleNamespace] = field(default_factory=list)
    fails: bool = False


async def tell(memory, message):
    if memory.fails:
        raise RuntimeError("full")
    memory.texts.append(message)


async def ask(memory, room):
    return memory.texts[-memory.size :]


def read(messages, start):
    for place in range(start, len(messages)):
        message = messages[place]
        yield SimpleNamespace(role=message["role"], text=message.get("content")), (place,)


def back(made):
    return [{"role": made.role, "content": made.text}]


def store(make=Memory, *, apart=True, ask=ask):
    return Store(
        adapter="memory",
        needs=lambda: None,
        make=make,
        read=read,
        back=back,
        tell=tell,
        ask=ask,
        apart=apart,
    )


def asked(policy, history, **extras):
    return asyncio.run(policy(history, **extras))


def test_each_message_is_told_once_and_untouched_ones_come_back():
    memory = Memory()
    policy = Kept(store(lambda: memory))
    for history in calls(chat(turns=3)):
        assert asked(policy, history) == history
    assert [made.text for made in memory.texts] == [
        message["content"] for message in calls(chat(turns=3))[-1][1:]
    ]


def test_the_system_message_is_apart_or_inside():
    history = agentic(rounds=6)
    for apart, first in ((True, "system"), (False, "assistant")):
        policy = Kept(store(lambda: Memory(size=4), apart=apart))
        sent = asked(policy, history)
        assert sent[0]["role"] == first
        assert sent[-4:] == history[-4:]


def test_a_copy_goes_its_own_way():
    policy = Kept(store())
    first, *_, last = calls(chat(turns=2))
    asked(policy, first)
    twin = copy.deepcopy(policy)
    probe = [*first, {"role": "user", "content": "Which code?"}]
    assert asked(twin, probe) == probe
    assert asked(policy, last) == last
    assert "Which code?" not in [made.text for made in policy.session.object.texts]


def test_a_copy_finds_the_originals_of_its_own_messages():
    policy = Kept(store())
    history = [{"role": "user", "content": "go", "name": "ana"}]
    asked(policy, history)
    twin = copy.deepcopy(policy)
    assert asked(twin, history) == history
    mine = {id(made) for made in policy.session.object.texts}
    assert mine.isdisjoint(id(made) for made in twin.session.object.texts)


def test_what_the_object_edits_comes_back_edited():
    async def shortened(memory, room):
        memory.texts[0].text = "short"
        return memory.texts

    history = [{"role": "user", "content": "a long text", "name": "ana"}]
    sent = asked(Kept(store(ask=shortened)), history)
    assert sent == [{"role": "user", "content": "short", "name": "ana"}]
    assert history[0]["content"] == "a long text"


def test_after_a_failure_all_is_told_to_a_new_object():
    memories = [Memory(fails=True), Memory()]
    policy = Kept(store(lambda: memories.pop(0)))
    history = chat(turns=1)
    with pytest.raises(RuntimeError, match="full"):
        asked(policy, history)
    assert asked(policy, history) == history


def test_the_object_learns_how_much_room_there_is():
    seen = []

    async def noting(memory, room):
        seen.append((room.budget, room.tokens(memory.texts)))
        return memory.texts

    asked(Kept(store(ask=noting)), chat(turns=1), budget=9, count=len)
    assert seen == [(9, len(chat(turns=1)))]


def test_another_history_wants_another_policy():
    policy = Kept(store())
    asked(policy, chat(turns=2))
    with pytest.raises(UsageError, match=r"adapt\.memory keeps its messages.*Remedy"):
        asked(policy, agentic(rounds=1)[1:])


def test_a_factory_makes_one_object_for_each_replay():
    made = []
    policy = keeping(store(lambda: made.append(Memory(size=3)) or made[-1]))
    assert is_factory(policy)
    assert policy_name(policy) == "adapt.memory"
    counter = SimpleNamespace(count=lambda messages, tools=(): len(messages))
    for _ in range(2):
        replay = run(Plan(transcript=transcript(), policy=policy, counter=counter))
        assert replay.steps
        assert replay.steps[-1].request.acted
    assert len(made) == 2


def test_a_factory_may_be_given_the_summariser():
    given = []
    policy = keeping(store(lambda summarise: given.append(summarise) or Memory()))
    assert is_factory(policy)
    asked(policy(summarise=len), chat(turns=1))
    assert given == [len]


def test_an_object_instead_of_a_factory_is_an_error_that_says_how():
    with pytest.raises(UsageError, match=r"adapt\.memory takes a factory.*lambda"):
        keeping(store(Memory()))
