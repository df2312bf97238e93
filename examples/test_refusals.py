"""An agent whose request is refused: it says so, once, and pages nobody.

The agent is any program that can be pointed at a URL. This one is a function; ``ctx_agent`` also
takes a command, such as ``["node", "agent.mjs"]``, and tells it the URL by its environment.
"""

import json
import logging
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

log = logging.getLogger("agent")
BUSY = (408, 409, 425, 429, 500, 502, 503, 529)
HISTORY = [{"role": "user", "content": "Read chapter after chapter. " * 200}]


def agent(server):
    """Answer, or tell the user what to do."""
    for _ in range(3):
        try:
            return ask(server.openai_base_url, HISTORY)
        except HTTPError as error:
            with error:
                refused = json.load(error)["error"]
            if error.code not in BUSY:
                log.info("refused: %s", refused["message"])
                return "This chat has become too long. Start a new one; your files are kept."
    return "The model is busy. Try again in a minute."


def ask(url, messages):
    body = json.dumps({"model": "any", "messages": messages}).encode()
    request = Request(f"{url}/chat/completions", body, {"content-type": "application/json"})  # noqa: S310
    with urlopen(request) as response:  # noqa: S310 - loopback
        return json.load(response)["choices"][0]["message"]["content"]


@pytest.mark.parametrize("refusal", ["openai", "openai-completion", "llama.cpp", "code-only"])
def test_a_refusal_is_said_and_not_retried(ctx_agent, refusal):
    ctx_agent(agent, refuse=refusal, sends=1, says="Start a new one; .* kept")


def test_a_real_limit_is_met_in_the_same_way(ctx_agent):
    run = ctx_agent(agent, limit=500, sends=1, says="Start a new one")
    assert run.requests[0].prompt_tokens > 500


@pytest.mark.parametrize("refusal", ["server-error", "overloaded"])
def test_a_busy_server_is_asked_again(ctx_agent, refusal):
    ctx_agent(agent, refuse=refusal, times=2, answers=["Read."], sends=3, says="^Read")


@pytest.mark.xfail(reason="what a failure looks like: run with --runxfail", strict=True)
def test_retrying_whatever_it_is_fails(ctx_agent):
    def stubborn(server):
        for _ in range(10):
            try:
                return ask(server.openai_base_url, HISTORY)
            except HTTPError as error:
                error.close()
        log.error("the model failed ten times")
        return "Something went wrong."

    ctx_agent(stubborn, refuse="openai", says="Start a new one")
