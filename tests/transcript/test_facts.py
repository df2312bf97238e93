"""What keeps a fact from being asked for; what a file can say is in the broken transcripts."""

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.facts import check_facts, problem_of
from pytest_ctxguard.transcript.model import ToolProbe
from tests.factories import employee, session, shard, tool

SOUND = [
    employee(),
    employee(match="number", value="4417", accepts=("4,417",), look_alikes=("9 911",)),
    employee(match="regex", accepts=(r"44\W?17",)),
    employee(match="text", lifetime="turn"),
    employee(kind="forbidden"),
    employee(tool=ToolProbe(name="read_log", argument="service")),
    shard(kind="update", supersedes=("4417",)),
    shard(kind="multi-hop", links=("employee",)),
]


@pytest.mark.parametrize("fact", SOUND)
def test_a_sound_fact(fact):
    others = [other for other in (employee(), shard()) if other.name != fact.name]
    check_facts(session(facts=(fact, *others)))


WRONG = [
    (employee(name="pin\x1b[31m"), "its name has characters that cannot be printed; reports and "
     "keys show it"),
    (employee(wordings="Which?"), "its wordings are one text; give a sequence of texts"),
    (employee(accepts="4417"), "its accepts are one text; give a sequence of texts"),
    (employee(supersedes="1"), "its supersedes are one text; give a sequence of texts"),
    (employee(tool="read_log"), "its tool is a str; give a ToolProbe"),
    (employee(match="number", look_alikes=("x",)), "'x' is no number alone, which match='number' "
     "needs"),
    (employee(match="text", accepts=("…",)), "'…' is nothing but punctuation, which match='text' "
     "ignores"),
    (employee(match="regex", accepts=("4417", r"\d+")), "the look-alike '9911' stands in an "
     "accepted answer, so nothing could hit"),
    (employee(match="exact", value="NUMBER", shape=".*"), "its value 'NUMBER' is not in message 1, "
     "where it is planted"),
    (employee(planted_at=-1), "planted_at -1 is not a message; there are 8"),
]  # fmt: skip


@pytest.mark.parametrize(("fact", "what"), WRONG)
def test_what_only_python_can_say(fact, what):
    assert problem_of(fact, session(facts=(fact,))) == what


def test_a_tool_that_is_none_of_openais_has_no_name():
    fact = employee(tool=ToolProbe(name="web", argument="query"))
    transcript = session(facts=(fact,), tools=({"type": "web_search"}, tool()))
    assert problem_of(fact, transcript) == "its tool 'web' is not one of: read_log"


def test_all_facts_of_a_transcript_are_looked_at():
    with pytest.raises(UsageError, match="fact 'shard': kind 'name' is not one of"):
        check_facts(session(facts=(employee(), shard(kind="name"))))
    with pytest.raises(UsageError, match="two facts are named 'employee'; rename one"):
        check_facts(session(facts=(employee(), employee())))
