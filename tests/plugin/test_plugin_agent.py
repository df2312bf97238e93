"""The fixture that runs an agent against an endpoint that refuses."""

from __future__ import annotations

import sys

import httpcore2  # noqa: F401 - else each run inside imports it anew, and httpx2 knows the first
import pytest

from pytest_ctxguard.server.refusing import INVALID, RETRYABLE, TOO_LONG
from tests.plugin.project import Project, Result

AGENT = '''
import json, logging
from urllib.error import HTTPError
from urllib.request import Request, urlopen

BUSY = (408, 409, 425, 429, 500, 503, 529)
SAY = "This chat has become too long. Start a new chat; what was built is kept."
log = logging.getLogger("myagent")


def post(server, messages, path="/chat/completions", **more):
    body = json.dumps({"model": "m", "max_tokens": 64, "messages": messages, **more}).encode()
    headers = {"content-type": "application/json"}
    with urlopen(Request(server.openai_base_url + path, body, headers)) as response:
        return json.load(response)


def ask(server, messages, path="/chat/completions", retries=3):
    for attempt in range(retries + 1):
        try:
            data = post(server, messages, path)
            return data["content"][0]["text"] if "content" in data else (
                data["choices"][0]["message"]["content"])
        except HTTPError as error:
            with error:
                error.read()
            if error.code not in BUSY or attempt == retries:
                raise


HISTORY = [{"role": "user", "content": "word " * 40}]


def good(server, path="/chat/completions"):
    """Say it, and page nobody."""
    try:
        return ask(server, HISTORY, path)
    except HTTPError as error:
        log.info("refused: %s", error.code)
        return SAY


def good_claude(server):
    return good(server, "/messages")


def stubborn(server):
    """Retry whatever it is."""
    for _ in range(3):
        try:
            return post(server, HISTORY)["choices"][0]["message"]["content"]
        except HTTPError as error:
            with error:
                error.read()
    return SAY


def alarming(server):
    said = good(server)
    log.error("model refused the request")
    return said


def silent(server):
    good(server)
    return "Something went wrong."


def raising(server):
    return ask(server, HISTORY)


def shortening(server):
    try:
        return ask(server, HISTORY)
    except HTTPError:
        return ask(server, [{"role": "user", "content": "short"}])


def growing(server):
    try:
        return ask(server, HISTORY)
    except HTTPError:
        return ask(server, [*HISTORY, {"role": "user", "content": "Summarise that."}])


def sub_agents(server):
    """Two sessions, each refused once."""
    for name in ("A", "B"):
        try:
            ask(server, [{"role": "user", "content": name + " word" * 40 * ord(name)}])
        except HTTPError:
            pass
    return SAY


def quitter(server):
    try:
        return ask(server, HISTORY, retries=0)
    except HTTPError:
        return SAY


async def awaited(server):
    return good(server)
'''
SAYS = 'says="Start a new chat", sends=1'
SAID = ', says="Start a new chat"'


@pytest.fixture
def agents(project: Project) -> Project:
    """Return the mini project with agents of every conduct."""
    return project.with_file("agents.py", AGENT)


def outcomes(agents: Project, *calls: str, before: str = "pass") -> Result:
    """Run each call as a test of its own: test_0, test_1, …"""
    tests = "".join(
        f"def test_{n}(ctx_agent):\n    {before}\n    {call}\n\n" for n, call in enumerate(calls)
    )
    mine = agents.with_test(f"import agents\n\n{tests}")
    return mine.run("--ctxguard", "--ctxguard-tier=structure")


def test_an_agent_that_says_it_once_passes_on_every_refusal(agents: Project) -> None:
    names = [*TOO_LONG, *INVALID]
    by_provider = {True: "good_claude", False: "good"}
    calls = [
        f'ctx_agent(agents.{by_provider[name.startswith("anthropic")]}, refuse="{name}", {SAYS})'
        for name in names
    ]

    result = outcomes(agents, *calls)
    assert result.outcomes == {"passed": 9}
    assert "    pass         agent(llama.cpp): 1 requests, 1 refused" in result.section
    assert "promises: 9 pass" in result.section


def test_what_a_busy_server_put_off_is_sent_again(agents: Project) -> None:
    good = 'ctx_agent(agents.good, refuse="{}", times=2, says="Done", sends=3)'
    quitter = 'ctx_agent(agents.quitter, refuse="{}")'
    calls = [call.format(name) for call in (good, quitter) for name in RETRYABLE]

    result = outcomes(agents, *calls)

    assert result.outcomes == {"passed": 4, "failed": 4}
    for n in range(4, 8):
        found = result.findings(f"test_{n}")
        assert found.keys() == {"ctx_agent.not-retried"}
        assert "1 sends" in found["ctx_agent.not-retried"]["measured"]


MISCONDUCT = [
    ("stubborn", "resent", "3 identical requests"),
    ("alarming", "alerted", "1 alerts, first: 'ERROR myagent: model refused the request'"),
    ("silent", "unsaid", "'Something went wrong.'"),
    ("raising", "unsaid", "raised"),
    ("growing", "not-smaller", "characters of prompt"),
]


def test_each_misconduct_has_its_finding(agents: Project) -> None:
    calls = [
        f'ctx_agent(agents.{agent}, refuse="openai"{SAID if rule == "unsaid" else ""})'
        for agent, rule, _ in MISCONDUCT
    ]

    result = outcomes(agents, *calls)

    assert result.outcomes == {"failed": len(MISCONDUCT)}
    for n, (_, rule, measured) in enumerate(MISCONDUCT):
        found = result.findings(f"test_{n}")
        assert found.keys() == {f"ctx_agent.{rule}"}
        assert measured in found[f"ctx_agent.{rule}"]["measured"]


LOOKED_AT = """
import agents

def test_it(ctx_agent):
    run = ctx_agent(agents.shortening, refuse="openai", says="^Done", sends=2)
    assert [request.status for request in run.requests] == [400, 200]
    assert run.said == "Done." and run.raised is None and run.alerts == ()
    assert run.refused == (0,)

def wrong(server):
    agents.good(server)
    assert False, "mine"

def test_an_assertion_inside_the_agent_is_never_swallowed(ctx_agent):
    ctx_agent(wrong, refuse="openai")
"""


def test_a_smaller_request_is_answered_and_the_run_can_be_looked_at(agents: Project) -> None:
    result = agents.with_test(LOOKED_AT).run("--ctxguard", "--ctxguard-tier=structure")
    assert result.outcomes == {"passed": 1, "failed": 1}
    assert "AssertionError: mine" in result.text


def test_limits_pagers_numbers_of_sends_and_async_agents(agents: Project) -> None:
    result = outcomes(
        agents,
        f"ctx_agent(agents.good, limit=40, {SAYS})",
        "ctx_agent(agents.stubborn, limit=40)",
        f'ctx_agent(agents.awaited, refuse="openai", {SAYS})',
        'ctx_agent(agents.good, refuse="openai", alerts=lambda: pages)',
        'ctx_agent(agents.alarming, refuse="openai", alert_level=None)',
        'ctx_agent(agents.shortening, refuse="openai", sends=1)',
        "ctx_agent(agents.sub_agents, limit=40, sends=2)",
        before='pages = ["paged"]',
    )

    assert result.outcomes == {"passed": 4, "failed": 3}
    assert result.findings("test_1").keys() == {"ctx_agent.resent"}
    assert result.findings("test_3").keys() == {"ctx_agent.alerted"}
    assert result.findings("test_5")["ctx_agent.sends"]["measured"] == "2 requests: 400, 200"


ASYNC_TEST = """
import asyncio
import agents

def test_it(ctx_agent):
    async def body():
        ctx_agent(agents.awaited, refuse="openai")
    asyncio.run(body())
"""


def test_inside_a_running_loop_it_says_what_to_do(agents: Project) -> None:
    result = agents.with_test(ASYNC_TEST).run("--ctxguard", "--ctxguard-tier=structure")
    assert result.outcomes == {"failed": 1}
    assert "running event loop: call it in a test without async" in result.failure("test_it")


NOTHING_OR_IMPOSSIBLE = [
    ('ctx_agent(lambda server: "hi", refuse="openai")', "the agent sent 0 requests"),
    ('ctx_agent(agents.good, refuse="openai", at=5)', "sent 1 requests, and none was refused"),
    ("ctx_agent(agents.good)", "none was refused"),
    ("ctx_agent(agents.good, limit=4000)", "none was refused"),
    ('ctx_agent(lambda server: 1 / 0, refuse="openai")', "ZeroDivisionError"),
    ('ctx_agent(agents.good, refuse="opnai")', "no refusal is named 'opnai'; there are: open"),
    ('ctx_agent(agents.good, refuse={"delay": 1})', "a refusal needs a status"),
    ('ctx_agent(agents.good, refuse="openai", at=0)', "requests are counted from 1"),
    ('ctx_agent(agents.good, refuse="openai", says="(")', "says is no regular expression"),
    ('ctx_agent(agents.good, refuse="openai", runs="read")', "runs lists names of tools"),
    ('ctx_agent(agents.good, refuse="openai", alert_level="LOUD")', "alert_level='LOUD'"),
    ('ctx_agent("node agent.mjs", refuse="openai")', "a command is a list of words"),
]


def test_what_would_check_nothing_or_cannot_be_is_said(agents: Project) -> None:
    result = outcomes(agents, *(call for call, _ in NOTHING_OR_IMPOSSIBLE))

    assert result.outcomes == {"failed": len(NOTHING_OR_IMPOSSIBLE)}
    for n, (_, said) in enumerate(NOTHING_OR_IMPOSSIBLE):
        assert said in result.failure(f"test_{n}")


PROGRAM = """
import json, os, sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
for attempt in range(int(sys.argv[1])):
    try:
        urlopen(Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body))
    except HTTPError as error:
        print("refused", error.code, file=sys.stderr)
if sys.argv[2:]:
    print(sys.argv[2], file=sys.stderr)
    sys.exit(3)
print("Start a new chat.")
"""


def test_a_program_in_any_language_is_told_the_endpoint(agents: Project) -> None:
    mine = agents.with_file("program.py", PROGRAM)
    command = f'[{sys.executable!r}, "program.py", "{{}}"]'

    loud = f'[{sys.executable!r}, "program.py", "1", "ERROR it broke"]'

    result = outcomes(
        mine,
        f'ctx_agent({command.format(1)}, refuse="openai", {SAYS})',
        f'ctx_agent({command.format(2)}, refuse="openai")',
        f'ctx_agent({loud}, refuse="openai", says="new chat")',
        'ctx_agent(["no-such-program-here"], refuse="openai")',
    )

    assert result.outcomes == {"passed": 1, "failed": 3}
    assert result.findings("test_1").keys() == {"ctx_agent.resent"}
    found = result.findings("test_2")
    assert found.keys() == {"ctx_agent.alerted", "ctx_agent.unsaid"}
    assert "status 3: ERROR it broke" in found["ctx_agent.unsaid"]["measured"]
    assert "no-such-program-here cannot be run" in result.failure("test_3")
