"""``pytest-ctxguard session``."""

import json
from pathlib import Path

import pytest

from pytest_ctxguard.cli.main import main
from pytest_ctxguard.errors import InputError, TranscriptError, UsageError
from pytest_ctxguard.tokens.counters.choosing import NAMES
from pytest_ctxguard.transcript.jsonl import dump
from tests.factories import assistant, encoder, session

CASSETTES = Path(__file__).parents[2] / "fixtures" / "cassettes"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "transcripts"
KEYS = {"calls", "billed_input_tokens", "reused_tokens", "breaks", "cost", "recorded"}
RULES = """
dated = 2026-10-01
[mine]
source = "our proxy's manual"
seen = 2026-09-30
match = "prefix"
order = "tools, system, messages"
read = 0.5
write = 1
"""


@pytest.fixture(autouse=True)
def loaded(monkeypatch):
    monkeypatch.setitem(NAMES, "qwen2.5", encoder)


def printed(command, *args):
    done = command("session", *args, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_as_json(command):
    found = printed(command, CASSETTES / "bedrock.yaml", "--provider", "anthropic")
    assert set(found) >= KEYS
    assert (found["calls"], found["billed_input_tokens"], found["reused_tokens"]) == (4, 842, 479)
    [broken] = found["breaks"]
    assert set(broken) == {"call", "section", "where", "before", "after", "cause"}
    assert (broken["call"], broken["section"]) == (3, "tools")
    assert broken["cause"] == "no tools any more"
    assert found["cost"] == {"plain": 842, "written": 0, "read": 0, "weighted": 842.0}
    told = found["recorded"]
    assert (told["prompt_tokens"], told["cached_tokens"]) == (1610, 800)
    assert (told["calls"], told["simulated_read"], told["alike"]) == (4, 0, 2)
    assert (found["provider"], found["rules"]) == ("anthropic", "2026-11-30")


def test_one_run_of_several(command):
    found = printed(command, CASSETTES / "bedrock.yaml", "--run", "0")
    assert (found["calls"], found["breaks"]) == (3, [])


def test_the_rules_are_those_of_the_models_on_record_or_named(command, tmp_path):
    assert printed(command, CASSETTES / "anthropic.yaml")["provider"] == "anthropic"
    assert printed(command, CASSETTES / "gemini.yaml")["provider"] == "gemini"
    named = printed(command, CASSETTES / "gemini.yaml", "--provider", "sglang")
    assert named["cost"]["read"] > 0
    (tmp_path / "rules.toml").write_text(RULES)
    own = printed(
        command, CASSETTES / "gemini.yaml", "--provider", "mine", "--rules", tmp_path / "rules.toml"
    )
    assert own["rules"] == "2026-10-01"
    assert own["cost"]["weighted"] == own["cost"]["written"] + own["cost"]["read"] / 2


def test_as_text(command):
    done = command("session", CASSETTES / "bedrock.yaml")
    assert done.exit_code == 0, done.output
    assert "bedrock-claude, rules of 2026-11-30" in done.stdout
    assert "no tools any more" in done.stdout
    assert "cached tokens" in done.stdout


@pytest.mark.parametrize(
    ("args", "error", "says"),
    [
        (["small.jsonl"], UsageError, "names no model whose cache is known. Say whose"),
        (["small.jsonl", "--provider", "me"], UsageError, "no cache rules for 'me'; there are: a"),
        (["none.yaml"], TranscriptError, "none.yaml: cannot be read"),
        (["noted.txt"], TranscriptError, "not a transcript in a known format"),
        (["bare.jsonl", "--provider", "openai"], UsageError, "'small' holds no call"),
        (["small.jsonl", "--run", "3"], UsageError, "there is no run 3"),
        (["small.jsonl", "--provider", "mine", "--rules", "noted.txt"], InputError, "no TOML file"),
    ],
)
def test_what_cannot_be_judged_is_an_error(command, folder, monkeypatch, args, error, says):
    dump(session(messages=(assistant("Hello."),), facts=()), folder / "bare.jsonl")
    (folder / "noted.txt").write_text("no transcript, and no rules")
    monkeypatch.chdir(folder)
    done = command("session", *args)
    assert isinstance(done.exception, error)
    assert says in str(done.exception)
    assert done.stdout == ""


def test_an_error_is_exit_status_1(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["pytest-ctxguard", "session", "none.yaml"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "none.yaml: cannot be read" in capsys.readouterr().err


def test_a_long_recorded_session_beside_its_cache_reads(command):
    path = SHARED / "pi_badlogic" / "large-session.jsonl"
    if not path.exists():
        pytest.skip("the shared recordings are not here")
    found = printed(command, path)
    told = found["recorded"]
    assert (found["calls"], found["breaks"], told["calls"]) == (453, [], 439)
    assert told["cached_tokens"] == 43_229_469
    # the provider's own tokenizer counts some 12 % more; see also tests/prefix
    assert 0.94 < told["simulated_read"] / told["cached_tokens"] < 0.96
    assert told["alike"] == 404
    drops = told["cached_prefix"]
    assert (drops["drops"], drops["breaks"], drops["unexplained"]) == (37, 0, 0)
    assert drops["to_the_token"] == 398
