from dataclasses import replace

from fixtures.record.screen import screen, usable_wordings
from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.testing import ScriptedBackend
from pytest_ctxguard.transcript.model import Fact, Transcript

SYSTEM = {"role": "system", "content": "sys"}
STATED = {"role": "user", "content": "the shard is s-7"}
RECORDED = Transcript(
    name="tiny",
    messages=(SYSTEM, STATED, {"role": "assistant", "content": "ok"}),
    tools=({"type": "function"},),
)
FACT = Fact(
    name="shard", value="s-7", kind="identifier", planted_at=1, wordings=("?",), shape=r"s-\d"
)


def screened(backend, *wordings, fact=FACT, recorded=RECORDED):
    return screen(replace(fact, wordings=wordings), transcript=recorded, backend=backend)


def answers(messages):
    told = any("s-7" in message["content"] for message in messages)
    wording = messages[-1]["content"]
    return {
        "good": "It is s-7." if told else "I do not know.",
        "unread": "Which shard?",
        "guessed": "s-7, surely",
    }[wording]


def test_only_wordings_answered_from_the_fact_and_never_without_it_are_usable():
    backend = ScriptedBackend(answers)
    found = screened(backend, "guessed", "good", "unread")
    assert [each.usable for each in found] == [False, True, False]
    assert usable_wordings(found) == ("good",)
    assert found[1].without.text == "I do not know."


def test_the_controls_see_the_system_message_the_tools_and_the_planting_message_only():
    backend = ScriptedBackend(answers)
    screened(backend, "good")
    alone, without = backend.requests
    probe = {"role": "user", "content": "good"}
    assert alone["messages"] == [SYSTEM, STATED, probe]
    assert without["messages"] == [SYSTEM, probe]
    assert alone["tools"] == [{"type": "function"}]
    assert alone["tool_choice"] == "auto"
    assert alone["max_tokens"] == 48


def test_a_fact_in_a_tool_result_is_shown_with_its_whole_round():
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    asked = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c", "content": "the shard is s-7"}
    read = Transcript(name="read", messages=(SYSTEM, STATED | {"content": "read"}, asked, result))
    backend = ScriptedBackend(lambda messages: "")
    screened(backend, "good", fact=replace(FACT, planted_at=3), recorded=read)
    probe = {"role": "user", "content": "good"}
    assert backend.requests[0]["messages"] == [SYSTEM, asked, result, probe]


def test_tool_call_arguments_are_judged():
    call = ToolCall("create_ticket", '{"shard": "s-7"}')
    backend = ScriptedBackend([Completion(text="", tool_calls=(call,)), "no idea"])
    (found,) = screened(backend, "good")
    assert found.usable
    assert found.alone.text == 'create_ticket {"shard": "s-7"}'


def test_an_answer_that_gives_a_look_alike_beside_the_value_is_no_hit():
    fact = replace(FACT, look_alikes=("s-3",))
    backend = ScriptedBackend(["s-7 or s-3", "no idea"])
    (found,) = screened(backend, "good", fact=fact)
    assert not found.usable


def test_the_first_six_usable_wordings_are_kept_in_order():
    wordings = [f"good {n}" for n in range(9)]
    backend = ScriptedBackend(lambda messages: "s-7" if len(messages) == 3 else "?")
    assert usable_wordings(screened(backend, *wordings)) == tuple(wordings[:6])
