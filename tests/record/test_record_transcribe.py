import pytest

from fixtures.record.agent import run
from fixtures.record.agentic.library import Library
from fixtures.record.agentic.script import session as agentic_docs
from fixtures.record.chat.script import session as short_chat
from fixtures.record.incident.facts import EMPLOYEE, SHARD
from fixtures.record.incident.script import session as incident_40
from fixtures.record.session import NoTools, Plant, Session, Turn
from fixtures.record.transcribe import locate, transcribe
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.testing import ScriptedBackend
from pytest_ctxguard.transcript.jsonl import dump, load

SESSIONS = (incident_40, agentic_docs, short_chat)


def plant(**changes):
    fields = {"name": "code", "value": "A-1", "kind": "identifier", "shape": r"A-\d"}
    return Plant(**(fields | {"candidates": ("Which code?",)} | changes))


def test_a_fact_is_planted_where_it_is_first_stated_and_asked_in_the_last_user_message():
    messages = [
        {"role": "user", "content": "hello"},
        {"role": "user", "content": "code A-1, not A-2"},
        {"role": "assistant", "content": "A-1"},
        {"role": "user", "content": "and now?"},
        {"role": "assistant", "content": "fine"},
    ]
    fact = locate(plant(asked_in_last_turn=True, look_alikes=("A-2", "A-3")), messages)
    assert (fact.planted_at, fact.asked_at) == (1, 3)
    assert fact.look_alikes == ("A-2",)
    assert locate(plant(), messages).asked_at is None


def test_a_value_that_nobody_stated_is_an_error():
    with pytest.raises(UsageError, match="no message states 'code'"):
        locate(plant(), [{"role": "user", "content": "A-12"}])


def test_a_recording_round_trips_through_its_file(tmp_path):
    session = Session(
        name="tiny",
        system="sys",
        turns=(Turn("code A-1"), Turn("and now?")),
        plants=(plant(asked_in_last_turn=True),),
        environment=lambda seed: NoTools(),
    )
    recording = run(session, ScriptedBackend(["noted", "A-1"]), seed=1)
    facts = [locate(p, recording.messages) for p in session.plants]
    transcript = transcribe(session, recording, provenance={"seed": 1}).with_facts(*facts)
    dump(transcript, tmp_path / "tiny.jsonl")
    assert load(tmp_path / "tiny.jsonl") == transcript


@pytest.mark.parametrize("make", SESSIONS)
def test_every_wording_is_a_question_that_does_not_give_its_value_away(make):
    for planted in make().plants:
        assert len(planted.candidates) >= 10
        assert len(set(planted.candidates)) == len(planted.candidates)
        for wording in planted.candidates:
            assert planted.value.lower() not in wording.lower()
            assert "?" in wording


def test_the_incident_states_each_value_once():
    texts = [turn.text for turn in incident_40().turns]
    assert len(texts) == 40
    assert [n for n, text in enumerate(texts, 1) if EMPLOYEE in text] == [2]
    assert [n for n, text in enumerate(texts, 1) if SHARD in text] == [19]


def test_the_library_reads_on_from_part_to_part():
    library = Library(1)
    assert len(library.chapters) == 12
    first = library.call("read_document", {"name": "ch01", "part": 1})
    last = library.call("read_document", {"name": "ch12", "part": 3})
    assert first.endswith("[next: ch01 part 2]")
    assert all(len(part) > 200 for parts in library.chapters.values() for part in parts)
    assert last.endswith("[that was the last part; now file_summary]")
    assert library.call("list_documents", {}).count("\n") == 11
    assert library.call("read_document", {"name": "ch99", "part": 1}).startswith("error 404")
    assert library.call("read_document", {"name": "ch01", "part": 4}).startswith("error 422")
    assert library.call("take_note", {"name": "ch01"}).startswith("error 400")
    assert library.call("take_note", {"name": "ch01", "note": "x"}) == "note 1 kept"
    assert library.call("file_summary", {"reference": "HB"}).startswith("error 400")
    assert library.call("open", {}).startswith("error 404")
