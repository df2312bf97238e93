"""``pytest-ctxguard serve`` as a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import httpx2
import openai
import pytest

from pytest_ctxguard.transcript.jsonl import load

ASK = [{"role": "user", "content": "How slow is payments-api?"}]
SECONDS = 60
MAIN = "from pytest_ctxguard.cli.main import main; main()"


@pytest.fixture
def start(tmp_path):
    """Start the command; returns the process, its URL and what it printed."""
    started = []

    def run(*arguments, key=None, answers=("It is slow.",), **script):
        path = tmp_path / "script.json"
        path.write_text(json.dumps({"answers": list(answers), **script}))
        command = [sys.executable, "-c", MAIN, "serve", "--script", path]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        environment.pop("CTXGUARD_SERVER_KEY", None)
        if key is not None:
            environment["CTXGUARD_SERVER_KEY"] = key
        process = subprocess.Popen(
            [*command, *arguments],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # a shell's background job ignores Ctrl-C, and what it starts inherits that
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        started.append(process)
        printed = ""
        while "Ctrl-C" not in printed and (line := process.stdout.readline()):
            printed += line
        found = re.search(r"serving scripted on (http://127\.0\.0\.1:\d+)", printed)
        return process, found and found[1], printed

    yield run
    for process in started:
        process.kill()
        process.communicate(timeout=SECONDS)


def ask(url, *, key="any"):
    with openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
        done = client.chat.completions.create(model="m", messages=ASK)
        return done.choices[0].message.content


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_it_serves_until_it_is_told_to_stop(start, ending):
    process, url, printed = start()
    assert ask(url) == "It is slow."
    assert f"OPENAI_BASE_URL={url}/v1" in printed
    assert f"ANTHROPIC_BASE_URL={url} " in printed
    assert f"--ctxguard-endpoint={url}" in printed
    process.send_signal(ending)
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert (out, err) == ("", "stopped\n")
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{url}/health")


def test_the_key_comes_from_the_environment_and_is_not_printed(start):
    _, url, printed = start(key="s3cret")
    assert ask(url, key="s3cret") == "It is slow."
    with pytest.raises(openai.AuthenticationError):
        ask(url)
    assert "s3cret" not in printed
    assert "OPENAI_API_KEY=$CTXGUARD_SERVER_KEY" in printed


def test_a_killed_server_has_lost_nothing_that_was_answered(start, tmp_path):
    path = tmp_path / "out.jsonl"
    process, url, _ = start("--record", path)
    ask(url)
    process.kill()
    process.wait(SECONDS)
    transcript = load(path)
    assert transcript.messages[-1] == {"role": "assistant", "content": "It is slow."}
    again, url, _ = start("--record", path)
    assert url is None
    _, err = again.communicate(timeout=SECONDS)
    assert again.returncode == 1
    assert err == f"error: {path} exists; nothing recorded is written over. Name another file\n"


def test_the_window_and_the_faults_of_a_script(start):
    faults = {"1": {"status": 503}}
    _, url, _ = start("--context-window", "10", "--lenient", faults=faults)
    with pytest.raises(openai.InternalServerError):
        ask(url)
    with pytest.raises(openai.BadRequestError, match="maximum context length is 10 tokens"):
        ask(url)
