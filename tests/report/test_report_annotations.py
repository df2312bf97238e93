from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.report.annotations import LONGEST, Annotation, annotation_lines
from pytest_ctxguard.report.run import Run
from tests.report.runs import HOSTILE, change, finding, judgement, replay, result

COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")
ENDS = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """Read a command as GitHub's runner does."""
    found = COMMAND.fullmatch(line)
    assert found, line
    places = dict(part.partition("=")[::2] for part in found[2].split(","))
    return (
        found[1],
        {name: unescaped(value) for name, value in places.items()},
        unescaped(found[3]),
    )


def unescaped(text: str) -> str:
    return re.sub("|".join(ENDS), lambda match: ENDS[match[0]], text)


def failing(nodeid: str, **changes: object) -> object:
    return result(nodeid, replay(judgement("x", finding())), **changes)


def test_a_failing_test_is_an_error_at_its_line():
    run = Run(tests=(failing("sub/test_a.py::test_x"),))
    (line,) = annotation_lines(run)
    level, places, message = parsed(line)
    assert level == "error"
    assert places == {
        "file": "sub/test_a.py",
        "line": "7",
        "title": "ctxguard fail: the policy dropped 'shard' ('pay-core-07')",
    }
    assert message.splitlines()[:2] == [
        "sub/test_a.py::test_x",
        "[ctx_carried.lost] the policy dropped 'shard' ('pay-core-07')",
    ]
    assert message.endswith("again: pytest --ctxguard sub/test_a.py::test_x")


def test_the_root_of_the_run_may_lie_deeper_than_the_repository():
    (line,) = annotation_lines(Run(tests=(failing("test_a.py::t"),)), prefix="packages/agent")
    assert parsed(line)[1]["file"] == "packages/agent/test_a.py"


def test_levels():
    open_ = judgement("x", finding(inconclusive=True))
    run = Run(
        tests=(
            result("a::err", verdict="error", message="ModelMissing: fetch it"),
            result("a::open", replay(open_)),
            result("a::new"),
            result("a::xfail", verdict="fail", outcome="xfailed"),
            result("a::same"),
        ),
        changes=(
            change("new", None, 7, nodeid="a::new"),
            change("unchanged", 7, 7, nodeid="a::same"),
        ),
        findings=(finding("baseline.stale"),),
    )
    found = [(level, message.splitlines()[0]) for level, _, message in map(parsed, lines(run))]
    assert found == [
        ("error", "[baseline.stale] the policy dropped 'shard' ('pay-core-07')"),
        ("error", "a::err"),
        ("warning", "a::open"),
        ("notice", "a::new"),
    ]


def lines(run: Run) -> list[str]:
    return list(annotation_lines(run))


def test_ten_of_a_level_and_the_last_names_those_left_out():
    run = Run(tests=tuple(failing(f"a::t{n:02}") for n in range(25)))
    assert len(lines(run)) == 10
    level, places, message = parsed(lines(run)[-1])
    assert (level, places) == ("error", {"title": "16 more like this"})
    assert len(message.splitlines()) == 16
    assert len(lines(Run(tests=run.tests[:10]))) == 10
    assert "more like this" not in lines(Run(tests=run.tests[:10]))[-1]


@given(st.text(), st.text())
def test_any_text_is_one_command_and_comes_back(title, message):
    line = Annotation(level="error", title=title or "x", message=message).command()
    assert "\n" not in line
    level, places, told = parsed(line)
    assert level == "error"
    assert set(places) == {"title"}
    if message.isprintable():
        assert told == message[:LONGEST]


def test_hostile_names_make_no_command_of_their_own():
    bad = judgement(HOSTILE, finding(what="x\n::stop-commands::all", measured=HOSTILE))
    run = Run(tests=(result(f"{HOSTILE}::t", replay(bad, name=HOSTILE, policy=HOSTILE)),))
    (line,) = lines(run)
    assert "\n" not in line
    assert line.isprintable()
