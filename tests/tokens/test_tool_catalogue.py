"""What tool definitions cost, which were called, and what a shorter catalogue would save."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.catalogue import ToolCost, Trimmed, UnknownTool, audit
from pytest_ctxguard.transcript.model import Transcript
from tests.factories import (
    ApproximateLetters,
    LetterCounter,
    assistant,
    call,
    calling,
    encoder,
    result,
    session,
    system,
    tool,
    user,
)

PROSE = {"type": "object", "properties": {"q": {"type": "string", "description": "What to find."}}}


def definition(name, description="Does it.", parameters=None):
    function = {"name": name, "description": description}
    return {"type": "function", "function": {**function, "parameters": parameters or PROSE}}


def tools_of(*names):
    return tuple(definition(name, f"Does {name}. And says so.") for name in names)


def calls_of(*names, tools=()):
    """A session that calls these tools, one round each."""
    messages = [system(), user("Look.")]
    for number, name in enumerate(names):
        messages += [calling(call(f"c{number}", name)), result("ok", f"c{number}")]
    return Transcript(name="run", messages=(*messages, assistant("Done.")), tools=tools)


def test_each_definition_is_counted_with_its_calls():
    transcript = calls_of("find", "find", tools=tools_of("find", "stop"))
    found = audit(transcript, counter=encoder())
    find, stop = found.tools
    assert (find.name, find.calls) == ("find", 2)
    assert (stop.name, stop.calls) == ("stop", 0)
    assert found.never_called == (stop,)
    assert found.idle_tokens == stop.tokens > 0
    assert found.requests == 3
    assert found.over_run(found.idle_tokens) == 3 * stop.tokens
    assert found.exact


def test_all_adds_up_to_what_a_request_has():
    transcript = calls_of("find", tools=tools_of("find", "stop", "go"))
    found = audit(transcript, counter=encoder())
    first = transcript.messages[:1]
    assert found.system == encoder().count(first, generation_prompt=False)
    assert found.system + found.definitions == encoder().count(
        first, tools=transcript.tools, generation_prompt=False
    )
    assert found.definitions == found.scaffolding + sum(each.tokens for each in found.tools)


@settings(deadline=None, max_examples=30)
@given(st.lists(ctx.texts(), min_size=1, max_size=4))
def test_what_a_tool_takes_is_what_the_others_lack_without_it(texts):
    tools = tuple(definition(f"tool_{n}", text) for n, text in enumerate(texts))
    found = audit(calls_of("tool_0", tools=tools), counter=encoder())

    def count(*definitions):
        return encoder().count([system()], tools=definitions, generation_prompt=False)

    for number, each in enumerate(found.tools):
        others = (*tools[:number], *tools[number + 1 :])
        frame = 0 if others else found.scaffolding
        assert each.tokens + frame == count(*tools) - count(*others)


def test_scaffolding_is_the_same_however_many_there_are():
    one = audit(calls_of("a", tools=tools_of("a")), counter=encoder())
    four = audit(calls_of("a", tools=tools_of("a", "b", "c", "d")), counter=encoder())
    assert one.scaffolding == four.scaffolding > 0


def test_prose_of_parameters_is_part_of_a_tools_tokens():
    with_prose, without = definition("a"), tool("b", "Does it.")
    found = audit(calls_of("a", tools=(with_prose, without)), counter=encoder())
    assert [each.prose > 0 for each in found.tools] == [True, False]
    assert found.tools[0].prose < found.tools[0].tokens


def test_a_trimmed_catalogue_is_counted_whole():
    tools = tools_of("find", "stop")
    found = audit(calls_of("find", tools=tools), counter=encoder())
    bare = {"type": "object", "properties": {"q": {"type": "string"}}}
    short = [definition(name, f"Does {name}.", bare) for name in ("find", "stop")]

    def count(*definitions):
        return encoder().count([system()], tools=definitions, generation_prompt=False)

    expected = (count(*short), count(tools[0]), count(short[0]))
    assert found.trimmed == Trimmed(*(tokens - found.system for tokens in expected))


def test_a_catalogue_never_called_can_be_left_out_whole():
    found = audit(calls_of(tools=tools_of("find")), counter=encoder())
    assert (found.trimmed.called, found.trimmed.both) == (0, 0)
    assert found.idle_tokens == found.definitions - found.scaffolding


def test_calls_of_tools_that_do_not_exist_name_the_nearest():
    transcript = calls_of(
        "read_log", "zzz", "read_log", "search_logs", tools=tools_of("search_logs", "get_metrics")
    )
    found = audit(transcript, counter=LetterCounter())
    assert found.unknown == (
        UnknownTool("read_log", 2, "search_logs"),
        UnknownTool("zzz", 1, None),
    )
    assert found.unknown_calls == 3


def test_a_counter_that_approximates_is_called_so():
    found = audit(session(), counter=ApproximateLetters())
    assert (found.counter, found.exact) == ("letters", False)
    assert found.tools == (ToolCost("read_log", 10, 0, 1),)
    assert (found.system, found.definitions, found.scaffolding) == (17, 10, 0)


@pytest.mark.parametrize(
    ("transcript", "lacks"),
    [
        (session(tools=()), "tool definitions"),
        (Transcript(name="small", messages=(system(),), tools=(tool(),)), "calls"),
    ],
)
def test_nothing_to_audit_is_an_error(transcript, lacks):
    with pytest.raises(UsageError, match=f"transcript 'small' has no {lacks}, so there is no"):
        audit(transcript, counter=LetterCounter())
