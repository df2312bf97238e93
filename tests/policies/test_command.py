"""A policy that is a program: Python always, Node where it is installed."""

import copy
import json
import os
import shutil
import subprocess
import sys
import time

import pytest

from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.policies.command import command_policy
from pytest_ctxguard.policies.protocol import bind, policy_name
from tests.factories import assistant, call, calling, result, system, tool, user

HISTORY = [
    system("Règles, 規則 🦊"),
    user("a"),
    calling(call()),
    result("r"),
    assistant("b"),
    user("c"),
]


@pytest.fixture
def program(tmp_path):
    """Return a function that makes a policy of a Python program's text."""

    def make(text, **options):
        path = tmp_path / "fit.py"
        path.write_text(f"import json, sys, os, time\n{text}", encoding="utf-8")
        return command_policy([sys.executable, path], **options)

    return make


ECHO = "json.dump(json.load(sys.stdin)['messages'], sys.stdout)"


def test_a_python_program(program):
    policy = program("json.dump(json.load(sys.stdin)['messages'][-2:], sys.stdout)")
    assert policy(HISTORY) == HISTORY[-2:]


def test_untouched_messages_are_the_very_dicts(program):
    sent = program(ECHO)(HISTORY)
    assert all(a is b for a, b in zip(sent, HISTORY, strict=True))


def test_the_program_is_told_the_budget_and_the_tools(program):
    policy = program("json.dump([{'role': 'user', 'content': sys.stdin.read()}], sys.stdout)")
    (sent,) = bind(policy, {"budget": 70, "count": len, "tools": [tool()]})(HISTORY)
    asked = {"messages": HISTORY, "tools": [tool()], "budget": 70}
    assert json.loads(sent["content"]) == asked


def test_an_object_with_messages(program):
    policy = program("json.dump({'messages': json.load(sys.stdin)['messages'][1:]}, sys.stdout)")
    assert policy(HISTORY) == HISTORY[1:]


def test_half_a_surrogate_pair_comes_back_as_it_was(program):
    history = [user("broken \ud83e")]
    assert program(ECHO)(history) == history


def test_it_is_named_by_its_command_and_can_be_copied(program):
    policy = program(ECHO)
    assert policy_name(policy).endswith("fit.py")
    assert copy.deepcopy(policy)(HISTORY) == HISTORY
    assert bind(policy, {}).copied()(HISTORY) == HISTORY


def test_a_program_in_the_folder_given(tmp_path):
    (tmp_path / "fit.py").write_text("print('[]')", encoding="utf-8")
    assert command_policy([sys.executable, "fit.py"], cwd=tmp_path)(HISTORY) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sys.exit('no such model')", r"ended with exit status 1\. .*\nstandard error: no such"),
        ("os.abort()", "ended with signal SIGABRT"),
        ("print('hello')", r"wrote no JSON to its standard output .*'hello'\. Remedy: write"),
        ("", "wrote no JSON to its standard output .*: nothing"),
        ("sys.stdout.buffer.write(b'\\xff')", "wrote no JSON"),
        ("print('[' * 200000)", "wrote no JSON"),
        ("print('{\"message\": []}')", r"wrote an object with \['message'\]"),
        ("print(3)", r"wrote '3'\. Remedy: write a list of messages"),
        ("print('[{}, 4]')", "wrote 4 as message 1"),
        ("print('x', file=sys.stderr); print(3)", r"wrote '3'.*\nstandard error: x$"),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="statuses are POSIX's")
def test_what_went_wrong_is_said(program, text, says):
    with pytest.raises(PolicyError, match=rf"(?s)command .*fit\.py: {says}"):
        program(text)(HISTORY)


def test_a_long_standard_error_is_shortened_to_its_end(program):
    policy = program("print('x' * 9000, 'the cause', file=sys.stderr); sys.exit(3)")
    with pytest.raises(PolicyError, match="exit status 3") as caught:
        policy(HISTORY)
    assert len(str(caught.value)) < 900
    assert str(caught.value).endswith("the cause")


def test_a_program_that_never_reads_its_input(program):
    assert program("print('[]')")([user("x" * 1_000_000)]) == []


def test_a_program_that_is_not_there():
    with pytest.raises(PolicyError, match="command no-such-fit: cannot be started: No such file"):
        command_policy(["no-such-fit"])(HISTORY)


def test_a_slow_program_is_ended_with_what_it_started(program, tmp_path):
    script = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print('waiting', file=sys.stderr, flush=True)\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    began = time.monotonic()
    with pytest.raises(PolicyError, match="did not finish within 2 seconds"):
        program(script, timeout=2)(HISTORY)
    assert time.monotonic() - began < 20
    if os.name == "posix":
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", (tmp_path / "child").read_text(encoding="utf-8")],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
        assert state.stdout.strip()[:1] in ("", "Z")


@pytest.mark.parametrize("command", ["node fit.mjs", [], b"node"])
def test_a_command_is_a_list(command):
    with pytest.raises(UsageError, match="a command is a list"):
        command_policy(command)


def test_the_time_is_positive():
    with pytest.raises(UsageError, match="positive number of seconds"):
        command_policy(["node"], timeout=0)


FIT_MJS = """\
import { readFileSync } from "node:fs";

const { messages, tools, budget } = JSON.parse(readFileSync(0, "utf8"));
const size = (list) => JSON.stringify(list).length / 4;
const head = messages.filter((m) => m.role === "system");
let rest = messages.slice(head.length);
while (rest.length > 1 && size([...head, ...rest]) > budget) {
  rest = rest.slice(1);
  while (rest.length > 1 && rest[0].role === "tool") rest = rest.slice(1);
}
if (budget === 1) throw new Error(`${tools.length} tools leave no room`);
process.stdout.write(JSON.stringify({ messages: [...head, ...rest] }));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
class TestNode:
    @pytest.fixture
    def fit(self, tmp_path):
        (tmp_path / "fit.mjs").write_text(FIT_MJS, encoding="utf-8")
        return command_policy(["node", "fit.mjs"], cwd=tmp_path)

    def test_it_fits_messages_of_any_script(self, fit):
        sent = fit(HISTORY, budget=30)
        assert sent == [HISTORY[0], *HISTORY[4:]]
        assert sent[0] is HISTORY[0]

    def test_its_error_is_shown(self, fit):
        with pytest.raises(PolicyError, match=r"node fit\.mjs: ended with exit status 1\.") as e:
            fit(HISTORY, budget=1, tools=[tool()])
        assert "1 tools leave no room" in str(e.value)
