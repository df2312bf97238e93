from __future__ import annotations

import shlex

import pytest

from pytest_ctxguard.report.recipe import accept_command, again_command


def test_the_command_runs_one_test():
    assert again_command("test_a.py::test_a") == "pytest --ctxguard test_a.py::test_a"


@pytest.mark.parametrize(
    "nodeid", ["test_a.py::t[a b]", "test_a.py::t['x']", 'a b/test_c.py::t["$HOME"]', "a::t[`id`]"]
)
def test_a_node_id_is_one_word_of_the_shell(nodeid):
    command = again_command(nodeid, options=["--override-ini=ctxguard_counter=my counter"])
    assert shlex.split(command) == [
        "pytest",
        "--ctxguard",
        "--override-ini=ctxguard_counter=my counter",
        nodeid,
    ]
    assert shlex.split(accept_command(nodeid))[2] == nodeid
