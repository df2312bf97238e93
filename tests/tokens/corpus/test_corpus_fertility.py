"""Our counts of texts in 115 languages and of many kinds are those measured elsewhere."""

import json
from pathlib import Path

import pytest

from pytest_ctxguard.tokens.estimates.references import references

DATA = Path(__file__).parents[4] / "shared" / "data"
CLOSE = 0.02
COLUMNS = {"qwen2.5": "qwen", "o200k": "o200k", "cl100k": "cl100k"}

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the measured texts are not beside us")


def pairs(texts, key, measured):
    """Yield name, text and what was counted of it, for each text that is there as counted."""
    rows = map(json.loads, (DATA / "scripts" / texts).read_text(encoding="utf-8").splitlines())
    by_name = {row[key]: row["text"] for row in rows}
    for row in json.loads((DATA / "measurements" / measured).read_text(encoding="utf-8")):
        name, chars, counts = (
            (row["lang"], row["chars"], row) if isinstance(row, dict) else (row[0], row[1], row[3])
        )
        if len(by_name.get(name, "")) == chars:
            yield name, by_name[name], counts


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(
    ("texts", "key", "measured", "count"),
    [
        ("udhr_parallel.jsonl", "lang", "fertility_udhr_115.json", 115),
        (
            "agentic_kinds.jsonl",
            "kind",
            "fertility_kinds_67.json",
            47,
        ),  # 19 texts are not kept, one is cut
    ],
    ids=["languages", "kinds"],
)
def test_counts_are_within_two_percent(name, texts, key, measured, count):
    pytest.importorskip("tiktoken")
    counted = references(name)[0].text
    found = {
        what: counted(text) / row[COLUMNS[name]] for what, text, row in pairs(texts, key, measured)
    }
    assert len(found) == count
    assert {what: ratio for what, ratio in found.items() if abs(ratio - 1) > CLOSE} == {}
