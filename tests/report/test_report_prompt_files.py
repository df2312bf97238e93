from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.report.prompt_files import MOST, RULE, Prompt, write_prompts
from tests.report.runs import HOSTILE

MESSAGES = ({"role": "user", "content": "Which shard?\r\nSay it."},)


def prompt(trial: str = "shard/1", test: str = "test_a.py::test_a", **changes: object) -> Prompt:
    made = {"header": {"trial": trial, "answer": "pay\nno"}, "messages": MESSAGES, **changes}
    return Prompt(test=test, trial=trial, **made)


def rendered(messages, *, tools):
    return f"<|im_start|>{messages[-1]['content']}{len(tools)}"


def test_a_file_has_a_header_and_the_prompt_to_the_letter(tmp_path):
    said = write_prompts([prompt()], tmp_path / "new", render=rendered, scrub=str)
    assert said == f"1 in {tmp_path / 'new'}"
    (path,) = (tmp_path / "new").iterdir()
    head, _, body = path.read_bytes().decode().partition(f"{RULE}\n")
    assert head.splitlines() == [
        "test      test_a.py::test_a",
        "trial     shard/1",
        "answer    pay\\nno",
        "format    the prompt as the model reads it",
    ]
    assert body == "<|im_start|>Which shard?\r\nSay it.0"


def test_what_is_not_rendered_here_is_the_request(tmp_path):
    tools = ({"type": "function", "function": {"name": "x"}},)
    write_prompts([prompt(tools=tools)], tmp_path, render=None, scrub=str)
    (path,) = tmp_path.iterdir()
    body = path.read_text().partition(f"{RULE}\n")[2]
    assert json.loads(body) == {"messages": list(MESSAGES), "tools": list(tools)}


def test_so_many_are_written_and_the_others_counted(tmp_path):
    prompts = [prompt(f"shard/{n}") for n in range(MOST + 5)]
    said = write_prompts(prompts, tmp_path, render=rendered, scrub=str)
    assert said == f"{MOST} in {tmp_path}, 5 left out"
    assert len(list(tmp_path.iterdir())) == MOST


def test_the_next_run_writes_over_them(tmp_path):
    for _ in range(2):
        write_prompts([prompt()], tmp_path, render=rendered, scrub=str)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_secret_is_taken_out_of_header_and_prompt(tmp_path):
    key = "9fQ2-xk7Lm"
    secret = prompt(header={"answer": key}, messages=({"role": "user", "content": key},))
    write_prompts([secret], tmp_path, render=rendered, scrub=lambda text: text.replace(key, "X"))
    (path,) = tmp_path.iterdir()
    assert key not in path.read_text()


def test_half_a_surrogate_pair_is_spelled_out(tmp_path):
    half = prompt(HOSTILE, messages=({"role": "user", "content": "\ud800"},))
    write_prompts([half], tmp_path, render=rendered, scrub=str)
    (path,) = tmp_path.iterdir()
    assert "\\ud800" in path.read_text()


@given(st.text(), st.text())
def test_a_name_is_safe_and_its_own(test, trial):
    name = prompt(trial, test=f"a::{test}").name
    assert name.isascii()
    assert len(name) < 160
    assert not set(name) & set('/\\:*?"<>| ')
    assert name[0] not in ".-"
    assert name != prompt(f"{trial}x", test=f"a::{test}").name


@pytest.mark.parametrize("trial", ["../../etc/passwd", "..", "/abs", "C:\\x", ""])
def test_a_name_stays_in_its_folder(trial, tmp_path):
    write_prompts([prompt(trial)], tmp_path / "in", render=rendered, scrub=str)
    assert len(list((tmp_path / "in").iterdir())) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
