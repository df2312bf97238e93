"""``pytest-ctxguard recall``."""

import json
import re

import pytest

from pytest_ctxguard.cli import recall as recall_cli
from pytest_ctxguard.engine import open as engine_open
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.needles.recipe import EXAMPLE, parse_recipe
from pytest_ctxguard.testing import ScriptedBackend
from tests.factories import encoder


@pytest.fixture
def model(monkeypatch):
    """A stand-in for the model that finds the record that is asked for, unless it is the last."""
    monkeypatch.setattr(recall_cli, "RequestEncoder", encoder)

    def answer(messages):
        register = "\n".join(message["content"] for message in messages[:-1])
        found = re.findall(r"to (.+), reachable on extension (\d+)", register)
        owner = messages[-1]["content"][25:-1]
        return dict(found[:-1]).get(owner, found[0][1])

    def open_backend(model, **options):
        return ScriptedBackend(answer, identity={"model": "tiny@1", "numerics": "exact"})

    monkeypatch.setattr(engine_open, "open_backend", open_backend)


def printed(command, *args):
    done = command("recall", *args)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_run_as_json(command, model):
    text = printed(
        command, "run", "--records", "8", "--depths", "3", "--trials", "4", "--json", "--seed", 2
    )
    told = json.loads(text)
    assert told["model"] == "tiny@1"
    assert told["policy"] == "full_history"
    assert [(c["depth"], c["hits"], c["of"], c["carried"]) for c in told["cells"]] == [
        (0, 4, 4, 4),
        (0.5, 4, 4, 4),
        (1, 0, 4, 4),
    ]
    assert told["cells"][2]["outcomes"] == {"neighbour": 4}
    trial = told["cells"][1]["trials"][3]
    assert trial["recipe"] == "register:records=8:depth=0.5:seed=2:trial=3:v1"
    rebuilt = json.loads(printed(command, "rebuild", trial["recipe"], "--json"))
    assert rebuilt["digest"] == trial["digest"]
    assert rebuilt["tokens"] == trial["tokens"]
    assert told["spent"]["asked"] == 12


def test_a_run_as_a_table(command, model):
    text = printed(command, "run", "--records", "1,4", "--depths", "0.5", "--trials", "2")
    assert "register under full_history" in text
    assert "answered by tiny@1" in text
    assert re.search(r"4 records, depth 0.5 .* 2 of 2 .* 2 of 2 .* 34% to 100%", text)
    assert re.search(r"1 records, depth 0.5 .* 2 of 2 .* 34% to 100%", text)


def test_a_run_under_a_policy(command, model):
    text = printed(
        command, "run", "--records", "12", "--depths", "0,0.9", "--trials", "2", "--json",
        "--layout", "turns", "--policy", "sliding-window",
    )  # fmt: skip
    told = json.loads(text)
    assert [cell["carried"] for cell in told["cells"]] == [0, 2]
    assert told["changed"] == 4


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--policy", "none"], "no policy is named 'none'; there are: full-history"),
        (["--policy", "facts-only"], "facts-only is made for the facts of one transcript"),
        (["--records", "2,x"], "give whole numbers, with commas between them"),
        (["--depths", "a"], "give numbers from 0 to 1"),
        (["--depths", "0.5,7"], "depth 7.0"),
        (["--records", "0"], "a register has 1 to"),
    ],
)
def test_what_cannot_be_run(command, model, args, problem):
    done = command("recall", "run", *args)
    assert isinstance(done.exception, UsageError)
    assert problem in str(done.exception)


def test_a_prompt_is_rebuilt_as_text(command, model):
    done = command("recall", "rebuild", EXAMPLE)
    transcript = parse_recipe(EXAMPLE).transcript
    assert done.stdout == encoder().render(transcript.messages) + "\n"
    assert f"recipe   {EXAMPLE}\n" in done.stderr
    assert f"answer   {transcript.facts[0].value}\n" in done.stderr
    assert f"tokens   {encoder().count(transcript.messages)}\n" in done.stderr


def test_a_planted_prompt_is_rebuilt(command, model, folder):
    plant = {
        "name": "pin", "value": "5519", "depth": 0.5,
        "text": "The pin is {value}.", "wordings": ["Which pin is it?"],
    }  # fmt: skip
    recipe = "planted:v1:" + json.dumps({"transcript": "small", "plant": plant})
    told = json.loads(printed(command, "rebuild", recipe, "--transcripts", folder, "--json"))
    assert told["answer"] == "5519"
    assert sum("The pin is 5519." in str(m["content"]) for m in told["messages"]) == 1
    assert told["messages"][-1] == {"role": "user", "content": "Which pin is it?"}


def test_a_pipe_gets_the_prompt_to_the_letter(command, model, folder):
    plant = {
        "name": "pin", "value": "5519", "turn": 1,
        "text": "Red \x1b[31m is pin {value}.", "wordings": ["Which pin?"],
    }  # fmt: skip
    recipe = "planted:v1:" + json.dumps({"transcript": "small", "plant": plant})
    assert "Red \x1b[31m is pin 5519." in printed(
        command, "rebuild", recipe, "--transcripts", folder
    )


def test_what_cannot_be_rebuilt(command, model):
    done = command("recall", "rebuild", "register:v1")
    assert isinstance(done.exception, UsageError)
    assert "it does not say records" in str(done.exception)
