import pytest
from click.testing import CliRunner

from fixtures.record import __main__ as recorder
from fixtures.record.session import NoTools, Plant, Session, Turn
from pytest_ctxguard.testing import ScriptedBackend
from pytest_ctxguard.transcript.jsonl import load


def tiny():
    plant = Plant(
        name="code",
        value="A-1",
        kind="identifier",
        shape=r"A-\d",
        candidates=tuple(f"Which code, {n}?" for n in range(8)),
    )
    turns = (Turn("The code is A-1."), Turn("Sing."), Turn("Count."))
    return Session(
        name="short-chat",
        system="sys",
        turns=turns,
        plants=(plant,),
        environment=lambda seed: NoTools(),
    )


def answer(messages):
    asked = messages[-1]["content"]
    if not asked.startswith("Which"):
        return {"Sing.": "La la.", "Count.": "One, two."}.get(asked, "Noted, thank you.")
    told = any("A-1" in message["content"] for message in messages)
    return "A-1" if told and "3" not in asked else "no idea"


@pytest.fixture
def record(monkeypatch, tmp_path):
    def run(answers, *options):
        monkeypatch.setitem(recorder.SESSIONS, "short-chat", tiny)
        monkeypatch.setattr(recorder, "open_backend", lambda: ScriptedBackend(answers))
        monkeypatch.chdir(tmp_path)
        arguments = ["short-chat", "--out", "chat.jsonl", "--date", "2026-01-02", *options]
        return CliRunner().invoke(recorder.main, arguments), tmp_path / "chat.jsonl"

    return run


def test_it_writes_the_transcript_with_its_provenance(record):
    result, path = record(answer, "--seed", "5")
    assert result.exit_code == 0, result.output
    transcript = load(path)
    fact = transcript.fact("code")
    assert fact.wordings == tuple(f"Which code, {n}?" for n in (0, 1, 2, 4, 5, 6))
    assert transcript.provenance["instrument"] == {"model": "scripted", "numerics": "exact"}
    assert transcript.provenance["date"] == "2026-01-02"
    assert transcript.provenance["repeated_answers"] == "0 of 3"
    assert transcript.provenance["command"] == (
        "python -m fixtures.record short-chat --seed 5 --date 2026-01-02"
    )
    assert "dropped Which code, 3?" in result.output
    assert "answers that repeat an earlier message: 0 of 3 (0%)" in result.output


def test_an_agent_that_repeats_itself_is_not_written(record):
    result, path = record(lambda messages: "Always the same words.")
    assert result.exit_code == 1
    assert "67% of the answers repeat an earlier message, more than 33%" in result.output
    assert not path.exists()


def test_more_repetition_can_be_accepted(record):
    def parrot(messages):
        return answer(messages) if messages[-1]["content"].startswith("Which") else "Same words."

    result, path = record(parrot, "--max-repeated", "0.7")
    assert result.exit_code == 0, result.output
    provenance = load(path).provenance
    assert provenance["repeated_answers"] == "2 of 3"
    assert provenance["command"].endswith(" --max-repeated 0.7")


def test_a_fact_with_too_few_usable_wordings_is_not_written(record):
    def deaf(messages):
        asked = messages[-1]["content"]
        return "A-1" if asked == "Which code, 1?" and len(messages) == 3 else answer(messages[-1:])

    result, path = record(deaf)
    assert result.exit_code == 1
    assert "only 1 wordings of 'code' are usable" in result.output
    assert not path.exists()
