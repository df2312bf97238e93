"""The ctxguard section of the terminal report."""

from pytest_ctxguard.report.terminal import summary_lines


def judgement(promise="budget", verdict="pass", summary="fine", state=""):
    return {"promise": promise, "verdict": verdict, "summary": summary, "state": state}


def replay(*judgements, label="", budget=None):
    return {
        "transcript": "incident-40",
        "policy": "fit",
        "label": label,
        "budget": budget,
        "calls": 40,
        "billed": 168550,
        "final": 9816,
        "approximate": "",
        "judgements": list(judgements),
    }


def payload(nodeid, *replays, note="", unchecked=(), recalls=()):
    return {
        "nodeid": nodeid,
        "replays": list(replays),
        "recalls": list(recalls),
        "laws": [],
        "agents": [],
        "note": note,
        "unchecked": list(unchecked),
    }


def texts(*payloads, updated=()):
    return [text for text, _ in summary_lines(payloads, updated=updated)]


def test_each_test_has_its_replays_and_each_replay_its_judgements():
    tests = [
        payload("b.py::test_b", replay(judgement(), label="x", budget=4000)),
        payload(
            "a.py::test_a",
            replay(
                judgement("answered(shard)", "inconclusive", "4 of 6", "regressed"),
                judgement("token_cost", "fail", "dear", "regressed"),
                judgement("carried(shard)"),
            ),
        ),
    ]
    assert texts(*tests) == [
        "a.py::test_a",
        "  incident-40 / fit: 40 calls, 168,550 tokens billed, 9,816 in the last request",
        "    inconclusive answered(shard): 4 of 6 [regressed]",
        "    fail         token_cost: dear [regressed]",
        "    pass         carried(shard): fine",
        "b.py::test_b",
        "  incident-40 / fit [x]: 40 calls, 168,550 tokens billed, 9,816 in the last request, "
        "budget 4,000",
        "    pass         budget: fine",
        "promises: 1 fail, 1 inconclusive, 2 pass; against the baseline: 2 regressed",
    ]


def test_notes_and_what_was_not_checked():
    tests = payload("a::t", note="the body failed", unchecked=["ctx_answered", "ctx_x"])
    assert texts(tests) == [
        "a::t",
        "  the body failed",
        "  not checked in this tier: ctx_answered, ctx_x",
        "promises: none judged",
    ]


def test_new_values_come_with_the_way_to_record_them():
    tests = payload("a::t", replay(judgement(state="new"), judgement(state="unchanged")))
    assert texts(tests)[-2:] == [
        "promises: 2 pass; against the baseline: 1 new, 1 unchanged",
        "record new values with --ctxguard-update, and commit the .ctxguard.json files",
    ]


def test_written_baselines_are_listed_and_need_no_hint():
    tests = payload("a::t", replay(judgement(state="new")))
    assert texts(tests, updated=["a.ctxguard.json", "b.ctxguard.json"])[-3:] == [
        "promises: 1 pass; against the baseline: 1 new",
        "baseline written: a.ctxguard.json",
        "baseline written: b.ctxguard.json",
    ]


def test_styles():
    tests = payload(
        "a::t",
        replay(judgement(), judgement(verdict="fail"), judgement(verdict="inconclusive")),
        note="n",
        unchecked=["ctx_x"],
    )
    assert [styles for _, styles in summary_lines([tests], updated=["x"])] == [
        ("bold",),
        (),
        (),
        ("red",),
        ("yellow",),
        ("yellow",),
        ("yellow",),
        ("bold",),
        ("green",),
    ]


def cell(**changes):
    return {
        "title": "25 records, depth 0",
        "planned": 32,
        "of": 32,
        "hits": 27,
        "low": 0.6817,
        "high": 0.9313,
        "outcomes": {"hit": 27, "neighbour": 4, "other": 1},
        "carried": 32,
        **changes,
    }


def test_a_recall_has_a_line_for_each_cell():
    recall = {
        "haystack": "register",
        "policy": "fit",
        "label": "deep",
        "budget": 4000,
        "seed": 3,
        "prompt_tokens": 44_288,
        "cells": [cell(), cell(title="all", of=3, hits=3, outcomes={"hit": 3}, carried=3)],
        "judgements": [judgement("needle_recall", state="new")],
    }
    lines = texts(payload("a::t", recalls=[recall]))
    assert lines[1:5] == [
        "  register / fit [deep]: 35 trials, seed 3, budget 4,000, 44,288 prompt tokens",
        "    25 records, depth 0: 27 of 32, 68% to 93% (4 neighbour, 1 other); carried in 32",
        "    all: 3 of 3 (32 planned), 68% to 93%; carried in 3",
        "    pass         needle_recall: fine [new]",
    ]
    assert lines[5].startswith("promises: 1 pass; against the baseline: 1 new")


def test_why_counts_are_approximate_is_said_once():
    why = "approximate counts by o200k: tools are not published"
    rows = [{**replay(judgement()), "approximate": why} for _ in range(2)]
    found = texts(payload("a::t", *rows), payload("b::t", rows[0], replay(judgement())))
    assert found.count(why) == 1
    assert found.index(why) == len(found) - 2
