"""``pytest-ctxguard estimate``."""

import json
import sys

import pytest

from pytest_ctxguard.errors import UsageError

MODULE = """
def quarter(text):
    return -(-len(text) // 4)

class Own:
    @staticmethod
    def of_messages(messages):
        return sum(5 + quarter(str(m["content"])) for m in messages)
"""


@pytest.fixture
def estimate(command, tmp_path, monkeypatch):
    """Run it in a folder with a module ``their_tokens``."""
    (tmp_path / "their_tokens.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return lambda *args: command("estimate", *args)


def test_audit_as_a_table(estimate):
    done = estimate("audit", "their_tokens:quarter", "--against", "qwen2.5")
    assert done.exit_code == 0, done.output
    assert "quarter against qwen2.5" in done.stdout
    telugu = next(line for line in done.stdout.splitlines() if line.startswith("Telugu"))
    assert telugu.split() == ["Telugu", "1", "540", "90", "83%"]
    assert "worst under: nfc-growing, 50 for 688 tokens, 93%; in short, '" in done.stdout
    assert "worst over: long-line, " in done.stdout


def test_audit_as_json(estimate):
    done = estimate(
        "audit", "their_tokens:quarter", "--against", "qwen2.5", "--script", "Thai", "--kind",
        "hex", "--json",
    )  # fmt: skip
    printed = json.loads(done.stdout)
    assert printed["estimator"] == "quarter"
    assert printed["takes"] == "text"
    assert printed["broken"] == []
    found = printed["against"]["qwen2.5"]
    assert [row["name"] for row in found["rows"]] == ["Thai", "hex"]
    assert set(found["rows"][0]) == {
        "group", "name", "texts", "measured", "estimated", "under", "over"
    }  # fmt: skip
    assert found["worst"]["under"]["text"] == "hex"
    assert found["worst"]["under"]["example"]["measured"] > 0
    assert found["worst"]["over"] is None
    assert found["raised"] == {}


def test_audit_of_one_that_takes_messages_says_what_does_not_hold(estimate):
    done = estimate(
        "audit", "their_tokens:Own.of_messages", "--against", "qwen2.5", "--takes", "messages"
    )
    assert done.exit_code == 0, done.output
    assert "tool-call" in done.stdout
    assert "reads-blocks does not hold: a user message: " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["their_tokens", "--against", "qwen2.5"], "'their_tokens' is not of the form module:fun"),
        (["their_tokens:no", "--against", "qwen2.5"], "has no attribute 'no'"),
        (["no_such:f", "--against", "qwen2.5"], "no_such cannot be imported here"),
        (["their_tokens:quarter", "--against", "gpt"], "no counter is named 'gpt'"),
        (["their_tokens:quarter", "--against", "qwen2.5", "--kind", "x"], "kinds: no 'x'"),
        (["their_tokens:MODULE", "--against", "qwen2.5"], "no attribute 'MODULE'"),
    ],
)
def test_what_cannot_be_audited_is_an_error(estimate, arguments, message):
    done = estimate("audit", *arguments)
    assert done.exit_code == 1
    assert isinstance(done.exception, UsageError)
    assert message in str(done.exception)


def test_fit_shows_its_price_and_what_it_beats(estimate, tmp_path):
    written = tmp_path / "fitted_tokens.py"
    done = estimate(
        "fit", "--against", "qwen2.5", "--never-under", "--margin", "0.15", "--write", written
    )
    assert done.exit_code == 0, done.output
    assert "halves that were held out, against qwen2.5" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    fitted = [row for row in rows if row[:1] == ["fitted"]]
    assert [row[1:3] for row in fitted] == [["121", "0"], ["121", "0"]]
    assert any(row[:1] == ["DEVANAGARI"] for row in rows)
    assert done.stdout.endswith(f"written: {written}\n")

    audited = estimate("audit", "fitted_tokens:estimate", "--against", "qwen2.5")
    assert "never under" in audited.stdout


def test_fit_as_json(estimate):
    done = estimate("fit", "--against", "qwen2.5", "--never-under", "--json")
    printed = json.loads(done.stdout)
    assert printed["against"] == "qwen2.5"
    assert printed["constants"]["digit"] >= 1
    assert [row["estimator"] for row in printed["held_out"]] == ["fitted", "by script", "chars/4"]
    assert printed["whole"][0]["under"] == 0


def test_a_module_that_cannot_be_written_is_an_error(estimate, tmp_path):
    missing = tmp_path / "missing" / "ours.py"
    done = estimate("fit", "--against", "qwen2.5", "--kind", "hex", "--write", missing)
    assert isinstance(done.exception, UsageError)
    assert "ours.py: cannot be written (No such file or directory)" in str(done.exception)


def test_a_margin_without_a_bound_is_an_error(estimate):
    done = estimate("fit", "--against", "qwen2.5", "--margin", "0.1")
    assert isinstance(done.exception, UsageError)
