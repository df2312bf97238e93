"""The audit of a tool catalogue, as text and as JSON."""

import io
import json
from dataclasses import replace

from rich.console import Console

from pytest_ctxguard.report.tables.catalogue import catalogue_json, render_catalogue
from pytest_ctxguard.tokens.catalogue import Catalogue, ToolCost, Trimmed, UnknownTool

REPORT_B = Catalogue(
    counter="qwen2.5",
    exact=True,
    requests=57,
    system=85,
    definitions=1817,
    tools=(
        ToolCost("search_logs", 263, 60, 9),
        ToolCost("get_metrics", 731, 40, 3),
        ToolCost("book_room", 697, 0, 0),
    ),
    unknown=(UnknownTool("read_log", 3, "search_logs"), UnknownTool("", 1, None)),
    trimmed=Trimmed(short=1291, called=1120, both=900),
)


def page(catalogue=REPORT_B, name="incident"):
    console = Console(file=io.StringIO(), width=80)
    for part in render_catalogue(catalogue, transcript=name):
        console.print(part)
    return console.file.getvalue()


def cells(text, first):
    return next(line for line in text.splitlines() if line.startswith(first))[len(first) :].split()


def test_as_json():
    printed = catalogue_json(REPORT_B, transcript="incident")
    assert (
        json.loads(json.dumps(printed))
        == printed
        == {
            "transcript": "incident",
            "counter": "qwen2.5",
            "exact": True,
            "calls": 57,
            "system": 85,
            "scaffolding": 126,
            "definitions": 1817,
            "definitions_over_run": 103569,
            "tools": [
                {"name": "search_logs", "tokens": 263, "prose": 60, "calls": 9},
                {"name": "get_metrics", "tokens": 731, "prose": 40, "calls": 3},
                {"name": "book_room", "tokens": 697, "prose": 0, "calls": 0},
            ],
            "never_called": {"tools": ["book_room"], "tokens": 697, "over_run": 39729},
            "unknown": [
                {"name": "read_log", "calls": 3, "nearest": "search_logs"},
                {"name": "", "calls": 1, "nearest": None},
            ],
            "trimmed": {"short": 1291, "called": 1120, "both": 900},
        }
    )


def test_sizes_of_a_request_and_over_the_run():
    text = page()
    assert cells(text, "system message and template") == ["85", "4,845"]
    assert cells(text, "scaffolding of the definitions") == ["126", "7,182"]
    assert cells(text, "definitions, with it") == ["1,817", "103,569"]


def test_a_row_for_each_tool_dearest_first():
    text = page()
    assert cells(text, "get_metrics") == ["731", "40", "3", "41,667"]
    assert cells(text, "book_room") == ["697", "0", "never", "39,729"]
    assert text.index("\nget_metrics") < text.index("\nbook_room") < text.index("\nsearch_logs")


def test_never_called_and_unknown_are_said():
    text = page()
    assert "never called: 1 of 3 tools; 697 tokens a request, 39,729 over all calls" in text
    assert "called, and does not exist: 'read_log' 3 times (the nearest is 'search_logs')" in text
    assert "called, and does not exist: '' once" in text


def test_what_trimming_saves():
    text = page()
    assert cells(text, "one sentence a tool, no parameter prose") == ["1,291", "29%", "29,982"]
    assert cells(text, "only tools that were called") == ["1,120", "38%", "39,729"]
    assert cells(text, "both") == ["900", "50%", "52,269"]


def test_another_counter_is_called_approximate():
    assert "exact" in page()
    assert "approximate" in page(replace(REPORT_B, exact=False))


def test_where_all_are_called_nothing_is_said_of_it():
    assert "never called" not in page(replace(REPORT_B, tools=REPORT_B.tools[:1], unknown=()))


def test_foreign_text_is_spelled_out_and_fits():
    odd = ToolCost("mcp__" + "very_" * 30 + "long\x1b[2J[bold]", 10, 0, 1)
    unknown = (UnknownTool("\x1b]0;x\x07", 1, "a\x9b"),)
    text = page(replace(REPORT_B, tools=(odd,), unknown=unknown), name="a\x1bb")
    assert not any(ord(c) < 32 and c != "\n" for c in text)
    assert "\x9b" not in text
    assert "[bold]" in "".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
