"""Recordings in any format are transcripts to the fixtures and marks; conftest adds readers."""

from __future__ import annotations

import json

from tests.plugin.project import Project

READER = """
from pytest_ctxguard import Reader, Reading, Transcript


def recognises(document):
    return document.text.startswith("user: ")


def read(document):
    rows = [line.split(": ") for line in document.text.splitlines()]
    messages = tuple({"role": role, "content": text} for role, text in rows)
    return Reading(format="lines", runs=(Transcript(name="lines", messages=messages),))


def pytest_ctxguard_readers(config):
    return [Reader(name="lines", recognises=recognises, read=read)]
"""
CHAT = [
    {"role": "user", "content": "Which shard?"},
    {"role": "assistant", "content": "pay-core-07."},
    {"role": "user", "content": "Thanks."},
]
REPLAYS = """
    @pytest.mark.ctx_wellformed
    def test_it(ctx_replay):
        replay = ctx_replay({name!r}, full_history)
        assert len(replay.steps) == {calls}
    """


def test_a_reader_of_the_users(project: Project) -> None:
    project = project.with_file("sub/conftest.py", READER).with_file(
        "log.json", "user: a\nassistant: b\nuser: c"
    )
    test = REPLAYS.format(name="log.json", calls=2)

    assert project.with_test(test, module="sub/test_mini").run("--ctxguard", "sub").outcomes == {
        "passed": 1
    }


def test_something_that_is_no_reader(project: Project) -> None:
    conftest = "def pytest_ctxguard_readers(config):\n    return ['lines']\n"
    project = project.with_file("sub/conftest.py", conftest).with_file("log.json", "[]")
    test = REPLAYS.format(name="log.json", calls=2)

    result = project.with_test(test, module="sub/test_mini").run("--ctxguard", "sub")

    assert result.outcomes == {"failed": 1}
    assert "pytest_ctxguard_readers returned 'lines', not a pytest_ctxguard.Reader" in result.text


def test_a_recording_in_the_users_folder_has_a_name(project: Project) -> None:
    project = project.with_file("transcripts/chat.json", json.dumps(CHAT))
    test = """
        @pytest.mark.ctx_wellformed
        @pytest.mark.ctx_transcripts("ch*")
        def test_it(ctx_replay, ctx_transcript):
            ctx_replay(ctx_transcript, full_history)
        """

    result = project.with_test(test).run("--ctxguard", "-v")

    assert result.outcomes == {"passed": 1}
    assert "test_it[chat]" in result.text


def test_a_file_that_is_no_transcript_fails_with_its_place(project: Project) -> None:
    project = project.with_file("chat.json", json.dumps(CHAT)[:-20])
    test = REPLAYS.format(name="chat.json", calls=2)

    result = project.with_test(test).run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert "chat.json:1: not JSON" in result.text
    assert "The file may be truncated." in result.text
