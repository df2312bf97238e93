"""The HTML report as a text: whole, small, equal for equal runs, and harmless."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.util import find_spec

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.report.files import write_report
from pytest_ctxguard.report.html import drawing, render_html
from pytest_ctxguard.report.html.rendering import LONGEST
from pytest_ctxguard.report.json_file import read_run
from pytest_ctxguard.report.run import Effort, Run
from tests.report import runs
from tests.report.html.whole_run import calls, facts, whole_run

pytestmark = pytest.mark.skipif(
    find_spec("vl_convert") is None, reason="the extra html is not installed"
)
LIMIT = 1_500_000
EFFORT = re.compile(r'<footer id="effort">.*?</footer>', re.DOTALL)


class Tags(HTMLParser):
    """All tags and attributes of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {(name, value) for name, value in attrs}


def small_run(**changes):
    subject = runs.replay(runs.judgement(), by_call=calls(3), facts=facts(6, 5))
    return Run(tests=(runs.result("test_a.py::test_a", subject),), **changes)


def test_equal_runs_make_equal_pages_but_for_what_they_took():
    one = whole_run()
    other = whole_run(effort=Effort(started="later", seconds=9.5, workers=4, notes=("slow",)))
    first, second = render_html(one), render_html(other)
    assert first != second
    assert EFFORT.sub("", first) == EFFORT.sub("", second)
    assert first == render_html(one)


def test_a_run_read_from_json_makes_the_same_page(tmp_path):
    run = whole_run()
    write_report(run, tmp_path / "run.json")
    write_report(run, tmp_path / "run.html")
    again = render_html(read_run(tmp_path / "run.json"))
    assert (tmp_path / "run.html").read_text(encoding="utf-8") == again


def test_hostile_text_makes_no_tag_and_no_attribute():
    plain, hostile = small_run(), small_run()
    [test] = hostile.tests
    text = '"><img src=x onerror=p()><script>p()</script>{{ 7*7 }}\u202e\x00\ud800'
    finding = runs.finding(**dict.fromkeys(("what", "where", "measured", "why"), text))
    subject = replace(test.subjects[0], policy=text, name=text)
    changed = replace(test, nodeid=text, subjects=(subject,), note=text)
    page = render_html(replace(hostile, tests=(changed,), findings=(finding,)))
    page.encode("utf-8")
    expected = Tags(render_html(replace(plain, findings=(runs.finding(),))))
    found = Tags(page)
    assert found.tags == expected.tags
    assert {n for n, _ in found.attributes} == {n for n, _ in expected.attributes}
    assert "{{ 7*7 }}\\u202e\\x00\\ud800" in page
    assert not re.search("[\x00\u202e\ud800-\udfff]", page)


def test_the_page_asks_for_nothing_and_names_its_script_and_style_by_their_hash():
    page = render_html(small_run())
    found = Tags(page)
    assert not found.tags & {"link", "img", "iframe", "object", "embed", "base", "form"}
    names = {name for name, _ in found.attributes}
    assert not names & {"src", "style", "xlink:href"}
    assert not [name for name in names if name.startswith("on")]
    assert all(value.startswith("#") for name, value in found.attributes if name == "href")
    assert "default-src 'none'" in page
    assert page.count("'sha256-") + page.count("&#39;sha256-") == 2


def big_run():
    tests, called = [], calls(1_000, every=2)
    for number in range(150):
        found = [runs.finding(what="x" * 900) for _ in range(30)]
        subject = runs.replay(
            runs.judgement("carried(shard)", *found, summary="y" * 900),
            policy=f"policy {number}",
            name=f"transcript {number % 7}",
            billed=100_000 + number,
            facts=facts(number % 7, 6),
            by_call=called,
        )
        tests.append(runs.result(f"test_big.py::test_{number}", subject, details="z" * 100_000))
    changes = tuple(
        runs.change("regressed", number, number + 1, metric=f"metric {number}")
        for number in range(5_000)
    )
    return Run(tests=tuple(tests), changes=changes)


def test_the_largest_run_makes_a_small_page_that_says_what_it_lacks():
    page = render_html(big_run())
    assert 600_000 < len(page.encode("utf-8")) < LIMIT
    left_out = re.findall(r"small: (\d+) ([a-z 0-9]+)\. A JSON", page)
    assert {unit for _, unit in left_out} >= {
        "findings and tests",
        "tables of up to 100 metrics",
        "replays",
    }
    assert "20 findings more are left out here" in page
    assert "Calls 60 to 939 are left out here" in page


def test_the_page_names_the_baselines_that_were_written_and_removed():
    page = render_html(Run(written=("a.ctxguard.json",), removed=("b.ctxguard.json",) * 21))
    assert "<dt>written</dt><dd>a.ctxguard.json</dd>" in page
    assert page.count("<dt>removed</dt><dd>b.ctxguard.json</dd>") == 20
    assert "<dt>removed</dt><dd>1 more</dd>" in page


def test_a_very_long_text_is_cut_with_its_length():
    test = runs.result(verdict="error", outcome="failed", message="m" * (LONGEST + 5))
    page = render_html(Run(tests=(test,)))
    assert "m… (5 characters more)" in page
    assert "m" * (LONGEST + 1) not in page


def test_a_test_that_fails_without_a_finding_shows_its_message():
    test = runs.result(verdict="fail", outcome="failed", message="assert 1 == 2", note="not judged")
    page = render_html(Run(tests=(test,)))
    assert "<pre>assert 1 == 2</pre>" in page
    assert "not judged" in page


def test_an_expected_failure_is_in_the_table_and_not_among_what_is_wrong():
    kept = runs.judgement("carried(shard)", runs.finding(), summary="0 of 6")
    test = runs.result("t.py::t", runs.replay(kept), outcome="xfailed")
    page = render_html(Run(tests=(test,)))
    assert "What is wrong" not in page
    assert "xfailed" in page


@pytest.mark.parametrize("tolerated", [True, False])
def test_the_page_says_whether_the_gate_is_open(tolerated):
    unsure = runs.judgement("recall", runs.finding(inconclusive=True))
    test = runs.result("t.py::t", runs.replay(unsure))
    page = render_html(Run(tests=(test,), tolerated=tolerated))
    assert f"The gate is {'open' if tolerated else 'closed'}" in page


def test_without_the_library_the_error_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setattr(drawing, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'pytest-ctxguard\[html\]'"):
        write_report(Run(), tmp_path / "run.html")
    assert not (tmp_path / "run.html").exists()
