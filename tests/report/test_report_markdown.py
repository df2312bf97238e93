from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pytest_ctxguard.report.markdown import COMMENT_LIMIT, code, markdown, pre, shown
from pytest_ctxguard.report.run import Effort, Run
from tests.report.runs import (
    HOSTILE,
    cell,
    change,
    fact,
    finding,
    judgement,
    recall,
    replay,
    result,
)

GITHUB = MarkdownIt("gfm-like", {"linkify": False})


class Page(HTMLParser):
    """The tags of a page, each with the text right inside it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(GITHUB.render(text))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._open.append(tag)
        self.found.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.found.append((self._open[-1] if self._open else "", data))

    def texts(self, *tags: str) -> list[str]:
        return [text for tag, text in self.found if tag in tags and text.strip()]

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.found}

    @property
    def outside_code(self) -> str:
        return " ".join(text for tag, text in self.found if tag not in ("code", "pre"))


def hostile_run() -> Run:
    bad = judgement(HOSTILE, finding(what=HOSTILE, where=HOSTILE, measured=HOSTILE, remedy=HOSTILE))
    return Run(
        tests=(
            result(
                HOSTILE,
                replay(bad, name=HOSTILE, policy=HOSTILE, label=HOSTILE, facts=(fact(HOSTILE),)),
                recall(bad, cells=(cell(title=HOSTILE),), policy=HOSTILE),
                note=HOSTILE,
                unchecked=(HOSTILE,),
                details=HOSTILE,
            ),
        ),
        findings=(finding(what=HOSTILE, remedy=HOSTILE),),
        changes=(change("new", None, 1, nodeid=HOSTILE, metric=HOSTILE, label=HOSTILE),),
        effort=Effort(notes=(HOSTILE,)),
    )


def ordinary_run() -> Run:
    lost = judgement("carried(shard)", finding(baseline=True))
    return Run(
        tests=(
            result("test_a.py::test_fail", replay(lost, label="x", facts=(fact(answered=5),))),
            result("test_a.py::test_needle", recall(judgement(), cells=(cell(),))),
        ),
        changes=(change("regressed", 350_540, 360_000),),
        effort=Effort(asked=3, kept=2, prompt_tokens=100, computed_tokens=5, seconds=9.0),
    )


def test_it_begins_with_the_verdict():
    first = markdown(ordinary_run()).splitlines()
    assert first[0] == "### 🟥 ctxguard"
    assert first[2] == ("FAIL: 2 tests: 1 failed, 1 passed. Against the baseline: 1 regressed.")


def test_tables_are_tables_with_a_sign_for_each_verdict():
    page = Page(markdown(ordinary_run()))
    cells = page.texts("td")
    assert "billed tokens" in page.texts("th")
    assert "168,550" in cells
    assert "6 of 6" in cells
    assert "regressed" in cells
    rows = [line for line in markdown(ordinary_run()).splitlines() if line.startswith("| 🟥")]
    assert len(rows) == 1


def test_a_failure_is_folded_with_its_five_parts_and_the_commands():
    text = markdown(ordinary_run())
    block = re.search(r"<details><summary>🟥 fail: (.*?)</summary>\n\n<pre>(.*?)</pre>", text, re.S)
    assert block
    for part in ("where", "measured", "allowed", "why", "remedy"):
        assert f"\n  {part} " in block[2]
    assert "again   pytest --ctxguard test_a.py::test_fail" in block[2]
    assert "accept  pytest-ctxguard accept test_a.py::test_fail" in block[2]


def test_hostile_text_is_text():
    page = Page(markdown(hostile_run()))
    assert page.tags <= {
        *("h3", "p", "code", "pre", "details", "summary", "ul", "li", "em", ""),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    assert not re.search(r"[@#]\w", page.outside_code)  # nobody is mentioned, nothing referred to
    assert "script" not in page.outside_code
    assert markdown(hostile_run()).encode()  # no half of a surrogate pair is left
    assert "\x1b" not in markdown(hostile_run())


def test_hostile_names_keep_the_shape_of_the_tables():
    lines = markdown(hostile_run()).splitlines()
    heads = [i for i, line in enumerate(lines) if re.fullmatch(r"\|[:|-]+\|", line)]
    assert len(heads) == 3
    for i in heads:
        assert lines[i - 1].count("|") == lines[i].count("|") == lines[i + 1].count("|")


def test_too_much_is_left_out_from_the_least_important_on():
    tests = [
        result(f"test_a.py::test_{n:03}", replay(judgement("x", finding(where="w" * 3000))))
        for n in range(100)
    ]
    run = replace(ordinary_run(), tests=(*ordinary_run().tests, *tests))
    text = markdown(run)
    assert 50_000 < len(text.encode()) <= COMMENT_LIMIT
    assert "test&#95;000" in text
    assert "test&#95;098" not in text
    assert re.search(r"\*\d+ parts are left out", text.splitlines()[-1])
    assert "FAIL" in text
    assert "since the baseline" in text
    assert "left out" not in markdown(run, limit=10**7)


@given(st.integers(-5, 6000))
def test_it_is_never_longer_than_the_limit(limit):
    text = markdown(ordinary_run(), limit=limit)
    assert len(text.encode()) <= max(limit, 0)
    assert text or limit < 400


@given(st.text())
def test_any_text_is_code_as_it_is_and_in_one_line(text):
    made = code(text)
    assert "\n" not in made
    assert "|" not in made
    page = Page(f"| a |\n|---|\n| {made} |\n")
    assert page.tags <= {"table", "thead", "tbody", "tr", "th", "td", "code", ""}
    wanted = "".join(text.split())
    if wanted.isprintable():
        assert "".join("".join(page.texts("code")).split()) == wanted


@given(st.text())
def test_any_text_is_a_block_as_it_is(text):
    page = Page(f"before\n\n{pre(text)}\n\nafter\n")
    assert page.tags <= {"p", "pre", ""}
    assert page.texts("p") == ["before", "after"]


def test_plain_words_and_numbers_are_no_code():
    for text in ("61 of 61", "+4.1%", "350,540", "4 neighbour, 1 other", "new"):
        assert shown(text) == text
    for text in ("@me", "a_b", "www.x.org", "#1", "a" * 40, "deadbeef01", "<b>", "1. x\n2. y"):
        assert shown(text).startswith("<code>")


def test_a_long_table_has_its_worst_rows():
    tests = [result(f"a::t{n:03}", replay(judgement(), policy=f"kept{n}")) for n in range(60)]
    bad = result("a::z", replay(judgement("x", finding()), policy="zebra"))
    text = markdown(Run(tests=(*tests, bad)))
    assert "*11 more rows, none of them worse.*" in text
    assert "| 🟥 zebra |" in text
