"""``pytest-ctxguard transcript plant``."""

import json

import pytest

from pytest_ctxguard.cli import plant as plant_module
from pytest_ctxguard.errors import TranscriptError, UsageError
from pytest_ctxguard.transcript.jsonl import load
from pytest_ctxguard.transcript.model import ToolProbe
from tests.factories import encoder, session, user

OPTIONS = {
    "fact": "badge",
    "value": "B-52",
    "text": "Tickets go under badge {value}.",
    "wording": "Which badge?",
    "turn": 2,
}


@pytest.fixture(autouse=True)
def _loaded_encoder(monkeypatch):
    monkeypatch.setattr(plant_module, "RequestEncoder", encoder)


@pytest.fixture
def planted(command, folder):
    """Plant with these options; give the output's transcript, or the error."""

    def run(*more, **options):
        given = [
            part
            for name, value in options.items()
            if value is not None
            for part in (f"--{name.replace('_', '-')}", value)
        ]
        output = folder / "out.jsonl"
        done = command("transcript", "plant", folder / "small.jsonl", "-o", output, *given, *more)
        if done.exit_code:
            return done.exception
        return load(output), done.stdout

    return run


def test_a_fact_is_planted_in_a_copy(planted, folder):
    before = (folder / "small.jsonl").read_bytes()
    found, said = planted(**OPTIONS)
    fact = found.fact("badge")
    assert found.messages[3] == user("Which shard is slow?\nTickets go under badge B-52.")
    assert (fact.planted_at, fact.wordings, fact.shape) == (3, ("Which badge?",), r"[A-Za-z]+\-\d+")
    assert said == f"{folder / 'out.jsonl'}: badge in message 3\n"
    assert (folder / "small.jsonl").read_bytes() == before


def test_every_option_says_something(planted):
    found, _ = planted(
        "--wording", "And the badge?", "--accept", "badge {value}", "--accept", "{value}",
        "--look-alike", "B-53", **{**OPTIONS, "turn": None}, depth=0.9, level="user",
        reply="Noted.", asked_turn=3, kind="update", shape=".+", lifetime="durable", match="text",
        supersedes="4417",
    )  # fmt: skip
    fact = found.fact("badge")
    assert fact.planted_at == 3
    assert fact.asked_at == 9
    assert fact.wordings == ("Which badge?", "And the badge?")
    assert fact.accepts == ("badge B-52", "B-52")
    assert (fact.look_alikes, fact.supersedes) == (("B-53",), ("4417",))
    assert (fact.kind, fact.lifetime, fact.match, fact.shape) == ("update", "durable", "text", ".+")


def test_a_fact_that_needs_another(planted):
    found, _ = planted(**OPTIONS, kind="multi-hop", link="shard", level="tool")
    assert (found.fact("badge").links, found.fact("badge").planted_at) == (("shard",), 5)


FACTS = """
- name: badge
  value: "52"
  text: 'The badge is {value}, says {"tool": 1}.'
  wordings: [Which badge?]
  level: tool
  turn: 2
  match: number
  tool: {name: read_log, argument: service}
- name: owner
  value: Ines
  text: "{value} owns it."
  wordings: [Who owns it?, Whose is it?]
  depth: 0.5
  kind: multi-hop
  links: [badge]
"""


def test_facts_from_a_file(planted, folder):
    (folder / "facts.yaml").write_text(FACTS)
    found, said = planted(facts=folder / "facts.yaml")
    assert found.fact("badge").tool == ToolProbe(name="read_log", argument="service")
    assert found.fact("owner").links == ("badge",)
    assert said.endswith(": badge in message 5, owner in message 3\n")


def test_facts_from_json_beside_one_from_options(planted, folder):
    fact = {"name": "a", "value": "A-1", "text": "{value}", "wordings": ["Which?"], "turn": 1}
    (folder / "facts.json").write_text(json.dumps([fact]))
    found, _ = planted(facts=folder / "facts.json", **OPTIONS)
    assert [f.name for f in found.facts] == ["employee", "shard", "a", "badge"]


def test_the_recording_is_never_overwritten(command, folder):
    file = folder / "small.jsonl"
    options = [part for name, value in OPTIONS.items() for part in (f"--{name}", value)]
    done = command("transcript", "plant", file, "-o", file, "--force", *options)
    assert "is the recording itself" in str(done.exception)
    assert load(file) == session()


def test_an_output_that_is_there_is_overwritten_only_by_force(planted):
    planted(**OPTIONS)
    assert "overwrite it with --force" in str(planted(**OPTIONS))
    assert planted("--force", **OPTIONS)[0].fact("badge").value == "B-52"


REFUSED = [
    ({}, "no fact to plant: name one with --fact, or a file of them with --facts"),
    ({"value": "B-52"}, "the options say a fact without a name; give it one with --fact"),
    ({**OPTIONS, "value": None}, "fact 'badge' has no --value"),
    ({**OPTIONS, "wording": None}, "fact 'badge' has no --wording"),
    ({**OPTIONS, "turn": 9}, "plant 'badge': turn 9: transcript 'small' has turns 1 to 3"),
    ({**OPTIONS, "value": "4417"}, "plant 'badge': its value '4417' stands in message 1 (user) "
     "already, so it could not be told from what is planted. Choose another value."),
]  # fmt: skip


@pytest.mark.parametrize(("options", "what"), REFUSED)
def test_what_is_refused(planted, folder, options, what):
    error = planted(**options)
    assert isinstance(error, UsageError)
    assert str(error) == what
    assert not (folder / "out.jsonl").exists()


GOOD = "name: a, value: A-1, text: '{value}', wordings: [W?], turn: 1"
BROKEN = [
    ("{}", "must be a list of facts, one or more: objects with `name`, `value`, …"),
    ("[]", "must be a list of facts, one or more: objects with `name`, `value`, …"),
    ("[7]", "fact 1: must be an object"),
    (f"[{{{GOOD}, colour: red}}]", "fact 1: unknown key 'colour'; it may have: accepts, "
     "asked_turn, depth, kind, level, lifetime, links, look_alikes, match, name, reply, shape, "
     "supersedes, text, tool, turn, value, wordings"),
    ("[{name: a}]", "fact 1: has no 'text'"),
    (f"[{{{GOOD}}}, {{{GOOD.replace('A-1', '417')}}}]", "fact 2: 'value' must be text; put "
     "it in quotes"),
    (f"[{{{GOOD.replace('[W?]', 'W?')}}}]", "fact 1: 'wordings' must be a list of texts"),
    (f"[{{{GOOD}, depth: deep}}]", "fact 1: 'depth' must be a number"),
    (f"[{{{GOOD}, reply: 7}}]", "fact 1: 'reply' must be text; put it in quotes"),
    (f"[{{{GOOD}, tool: open}}]", "fact 1: 'tool' must be an object with `name`, `argument` and, "
     "if need be, `arguments`"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "what"), BROKEN)
def test_a_file_of_facts_that_is_broken(planted, folder, text, what):
    path = folder / "facts.yaml"
    path.write_text(text)
    error = planted(facts=path)
    assert isinstance(error, TranscriptError)
    assert str(error) == f"{path}: {what}"
