"""Hunting for what moves a prefix of a user's own request builder."""

import sys
from functools import partial

import pytest

from pytest_ctxguard import prefix_hunt
from pytest_ctxguard.errors import ContextGateFailure, UsageError
from pytest_ctxguard.prefix.hunting import hunt
from tests.factories import tool, user
from tests.prefix import builders

NO_PROCESS = ("hash seed",)
TOOLS = [tool(name) for name in ("read", "write", "list")]


def moves(builder, **options):
    return [(found.variation, found.change.why) for found in hunt(builder, **options)]


def test_a_steady_builder_moves_nothing():
    assert moves(builders.steady) == []
    prefix_hunt(builders.noisy)


@pytest.mark.parametrize(
    ("builder", "variation"),
    [
        (builders.seconds, "second"),
        (builders.epoch, "minute"),
        (builders.hours, "hour"),
        (builders.today, "midnight"),
        (builders.month, "month"),
    ],
)
def test_the_smallest_step_of_the_clock_that_moves_it(builder, variation):
    [(found, _)] = moves(builder, leave_out=NO_PROCESS)
    assert found == variation
    assert moves(builder, leave_out=(*NO_PROCESS, variation)) == []


def test_a_request_in_the_place_of_its_builder_is_refused():
    with pytest.raises(UsageError, match="is no function that returns a request"):
        prefix_hunt([user("a")])


def test_what_differs_each_time_is_found_before_all_else():
    [(variation, _)] = moves(builders.unique, leave_out=NO_PROCESS)
    assert variation == "again"


def test_an_order_that_depends_on_the_hash_seed():
    [(variation, _)] = moves(builders.from_a_set)
    assert variation == "hash seed"


def test_the_order_in_which_tools_are_registered():
    found = moves(builders.registered, tools=TOOLS, leave_out=NO_PROCESS)
    assert found == [("tool order", "order of the tools")]
    assert moves(builders.registered_by_name, tools=TOOLS, leave_out=NO_PROCESS) == []
    assert moves(builders.registered, tools=TOOLS[:1], leave_out=NO_PROCESS) == []


def test_a_history_that_is_saved_and_read_again():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"b": 1, "a": 2}}}
    history = [user("a"), {"role": "assistant", "tool_calls": [call]}]
    found = moves(builders.of_history, history=history, leave_out=NO_PROCESS)
    assert found == [("reload", "same meaning, different bytes (key order)")]
    assert moves(builders.of_normalised_history, history=history, leave_out=NO_PROCESS) == []


def test_the_failure_has_the_place_and_both_texts():
    with pytest.raises(ContextGateFailure) as caught:
        prefix_hunt(builders.seconds, leave_out=NO_PROCESS)
    text = str(caught.value)
    assert text.startswith(
        "prefix_hunt: the request is another one when built a second later: clock"
    )
    assert "builder seconds, system, message 0, content, character 39" in text
    assert "10:00:00.' became " in text
    assert "leave_out=['second']" in text


def test_a_partial_of_a_named_function_has_a_name():
    assert moves(partial(builders.with_system, "x")) == []


def test_a_builder_without_a_name_is_an_error_that_says_what_to_leave_out():
    with pytest.raises(UsageError, match=r"cannot import the builder .*leave_out=\['hash seed'\]"):
        hunt(lambda: [user("a")])


def test_a_builder_that_fails_in_another_process_is_an_error():
    with pytest.raises(UsageError, match="failed in a new process: RuntimeError: no such file"):
        hunt(builders.failing_elsewhere)


def test_wrong_arguments():
    with pytest.raises(UsageError, match="no variation 'week'; there are: second, "):
        hunt(builders.steady, leave_out=["week"])
    with pytest.raises(UsageError, match="leave_out='second' is not a list"):
        hunt(builders.steady, leave_out="second")
    with pytest.raises(UsageError, match="the builder returned str; a request is"):
        hunt(builders.of_text)


def test_without_a_clock_that_can_be_set_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "time_machine", None)
    with pytest.raises(UsageError, match=r"pip install 'pytest-ctxguard\[hunt\]'"):
        hunt(builders.steady)
