"""Qwen2.5's chat template, and how templates are run."""

import pytest
from jinja2.exceptions import SecurityError

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.chat_template import compile_template
from tests.factories import assistant, call, calling, result, system, tool, user

QWEN = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."


def test_a_chat_without_system_message_gets_qwens_own(encoder):
    assert encoder.render([user("Hi"), assistant("Yes?"), user("No.")]) == (
        f"<|im_start|>system\n{QWEN}<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nYes?<|im_end|>\n"
        "<|im_start|>user\nNo.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_tools_calls_and_results(encoder):
    history = [
        system(),
        user("Compare."),
        calling(call("a", city="Łódź <&'>"), call("b", "now"), content="On it."),
        result("4°", "a"),
        result("noon", "b"),
    ]
    assert encoder.render(history, tools=[tool()], generation_prompt=False) == (
        "<|im_start|>system\nYou run payments.\n\n# Tools\n\n"
        "You may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
        '{"type": "function", "function": {"name": "read_log", "description": "Read a log.", '
        '"parameters": {"type": "object", "properties": {"service": {"type": "string"}}}}}\n'
        "</tools>\n\nFor each function call, return a json object with function name and "
        "arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\nCompare.<|im_end|>\n"
        "<|im_start|>assistant\nOn it.\n"
        '<tool_call>\n{"name": "read_log", "arguments": {"city": "Łódź <&\'>"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\n4°\n</tool_response>\n"
        "<tool_response>\nnoon\n</tool_response><|im_end|>\n"
    )


def test_json_is_written_plainly():
    render = compile_template("{{ value | tojson }}|{{ value | tojson(indent=1) }}")
    value = {"b": "<a href='x'>é</a> & 分片", "a": None}
    line = '{"b": "<a href=\'x\'>é</a> & 分片", "a": null}'
    pretty = '{\n "b": "<a href=\'x\'>é</a> & 分片",\n "a": null\n}'
    assert render(value=value) == f"{line}|{pretty}"


def test_blocks_leave_no_white_space_behind():
    assert compile_template("{% if true %}\n  a\n  {% endif %}\nb")() == "  a\nb"


def test_loop_controls():
    template = "{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}"
    assert compile_template(template)() == "01"


def test_a_template_can_refuse_a_request():
    render = compile_template("{{ raise_exception('roles must alternate') }}")
    with pytest.raises(UsageError) as caught:
        render()
    assert str(caught.value) == "the chat template refuses this request: roles must alternate"


@pytest.mark.parametrize(
    "template",
    ["{{ messages.append(1) }}", "{{ ''.__class__.__mro__ }}", "{{ cycler.__init__.__globals__ }}"],
)
def test_templates_run_in_a_sandbox(template):
    with pytest.raises(SecurityError):
        compile_template(template)(messages=[])
