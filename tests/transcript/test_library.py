"""Where transcripts are found."""

import pytest

from pytest_ctxguard.errors import TranscriptError, UsageError
from pytest_ctxguard.transcript import library
from pytest_ctxguard.transcript.jsonl import dump
from pytest_ctxguard.transcript.library import available, builtin_folder, find, matching
from pytest_ctxguard.transcript.reading import Reader, Reading
from tests.factories import session, user


@pytest.fixture
def builtin(tmp_path, monkeypatch):
    """A stand-in for the built-in transcripts: chat-a, chat-b, tools."""
    folder = tmp_path / "builtin"
    for name in ("chat-a", "chat-b", "tools"):
        folder.mkdir(exist_ok=True)
        dump(session(name=name), folder / f"{name}.jsonl")
    monkeypatch.setattr(library, "builtin_folder", lambda: folder)
    return folder


@pytest.fixture
def mine(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    dump(session(name="mine", messages=(user("4417"),), facts=()), folder / "chat-a.jsonl")
    return folder


def test_a_users_folder_hides_a_built_in_name(builtin, mine):
    assert find("chat-a").name == "chat-a"
    assert find("chat-a", folders=[mine]).name == "mine"
    assert find("chat-b", folders=[mine]).name == "chat-b"
    assert available([mine]) == {
        "chat-a": mine / "chat-a.jsonl",
        "chat-b": builtin / "chat-b.jsonl",
        "tools": builtin / "tools.jsonl",
    }


def test_the_earlier_folder_wins(builtin, mine, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    dump(session(name="other"), other / "chat-a.jsonl")
    assert find("chat-a", folders=[other, mine]).name == "other"
    assert find("chat-a", folders=[mine, other]).name == "mine"


def test_an_unknown_name_lists_those_there_are(builtin, mine):
    with pytest.raises(UsageError) as caught:
        find("chat", folders=[mine])
    assert str(caught.value) == (
        "no transcript named 'chat'; there are: chat-a, chat-b, tools. "
        "Name more folders in ini `ctxguard_transcripts`, or give a path."
    )


def test_where_there_are_none_the_error_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "builtin_folder", lambda: tmp_path)
    with pytest.raises(UsageError, match="there are: none"):
        find("chat")


def test_a_path_is_taken_as_a_path(builtin, mine):
    assert find(str(mine / "chat-a.jsonl")).name == "mine"
    assert find(mine / "chat-a.jsonl").name == "mine"
    with pytest.raises(TranscriptError, match="cannot be read"):
        find(mine / "nowhere.jsonl")


def test_patterns_give_sorted_names_once(builtin, mine):
    assert matching(["chat-*"]) == ("chat-a", "chat-b")
    assert matching(["*b", "chat-?", "tools"], folders=[mine]) == ("chat-a", "chat-b", "tools")


def test_a_pattern_that_matches_nothing_is_an_error(builtin):
    with pytest.raises(UsageError) as caught:
        matching(["chat-*", "Chat-*"])
    assert str(caught.value) == ("no transcript matches 'Chat-*'; there are: chat-a, chat-b, tools")


def test_a_checkout_has_the_built_in_ones_beside_the_package(tmp_path, monkeypatch):
    module = tmp_path / "pytest_ctxguard" / "transcript" / "library.py"
    module.parent.mkdir(parents=True)
    monkeypatch.setattr(library, "__file__", str(module))
    assert builtin_folder() == tmp_path / "fixtures" / "transcripts"


def test_a_wheel_has_them_inside_the_package(tmp_path, monkeypatch):
    module = tmp_path / "pytest_ctxguard" / "transcript" / "library.py"
    (module.parent / "builtin").mkdir(parents=True)
    monkeypatch.setattr(library, "__file__", str(module))
    assert builtin_folder() == module.parent / "builtin"


@pytest.mark.parametrize("name", ["incident-40", "agentic-docs", "short-chat"])
def test_the_built_in_ones_load_and_bear_their_file_names(name):
    transcript = find(name)
    assert transcript.name == name
    assert transcript.facts
    assert transcript.provenance


def test_recordings_of_every_suffix_have_names(builtin, tmp_path):
    folder = tmp_path / "recordings"
    folder.mkdir()
    for name in ("a.yaml", "b.json", "b.jsonl", "c.traj", "notes.md", "test_a.ctxguard.json"):
        (folder / name).write_text("{}")
    (folder / "d.json").mkdir()
    names = set(available([folder])) - set(available())
    assert names == {"a", "b", "b.jsonl", "c"}


def test_a_folder_that_is_not_there_has_no_transcripts(builtin, tmp_path):
    assert available([tmp_path / "gone"]) == available()


def test_a_run_is_named_after_the_file(builtin, tmp_path):
    assert find("chat-a#0") == find("chat-a")
    dump(session(name="x"), tmp_path / "x.jsonl")
    assert find(f"{tmp_path / 'x.jsonl'}#0").name == "x"
    assert find(tmp_path / "x.jsonl").name == "x"
    with pytest.raises(UsageError, match="there is no run 1"):
        find("chat-a#1")


def test_a_reader_of_the_users_reads_a_file_in_the_folder(builtin, tmp_path):
    (tmp_path / "mine.json").write_text("anything")
    mine = Reader(
        name="mine",
        recognises=lambda document: document.data == b"anything",
        read=lambda document: Reading(format="mine", runs=(session(name="read"),)),
    )
    assert find("mine", folders=[tmp_path], readers=[mine]).name == "read"
