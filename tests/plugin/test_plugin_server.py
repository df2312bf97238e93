"""The fixture that serves, and the option that asks a server."""

from __future__ import annotations

import httpcore2  # noqa: F401 - else each run inside imports it anew, and httpx2 knows the first
import pytest

from pytest_ctxguard.server.running import Server
from pytest_ctxguard.server.script import ScriptedAnswers
from pytest_ctxguard.tokens.request import RequestEncoder
from tests.plugin.project import Project

AGENT = """
import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def ask(server, *texts, path="/chat/completions", **options):
    messages = [{"role": "user", "content": text} for text in texts]
    body = json.dumps({"model": "m", "messages": messages, **options})
    with urlopen(Request(server.openai_base_url + path, body.encode())) as response:
        return json.load(response)["choices"][0]["message"]["content"]


def refused(server, *texts):
    try:
        ask(server, *texts)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)["error"]
"""


@pytest.fixture
def agent(project: Project) -> Project:
    """Return the mini project with a small agent."""
    return project.with_file("agent.py", AGENT)


def test_an_agent_meets_fixed_answers_limits_and_faults(agent: Project) -> None:
    test = """
        from agent import ask, refused

        def test_it(ctx_server, tmp_path):
            path = tmp_path / "out.jsonl"
            fault = {"status": 429, "retry_after": 1}
            server = ctx_server(answers=["one", "two"], limit=60, record=path, faults={1: fault})
            assert refused(server, "hi")[0] == 429
            assert ask(server, "hi") == "one"
            assert refused(server, "word " * 99)[1]["code"] == "context_length_exceeded"
            assert len(server.requests) == 3
            assert server.requests[1].body["messages"][0]["content"] == "hi"
            assert server.transcript().messages[-1]["content"] == "one"
            assert path.exists()
        """

    result = agent.with_test(test).run("--ctxguard", "--ctxguard-tier=structure")

    assert result.outcomes == {"passed": 1}


def test_a_recording_can_be_judged_in_the_same_test(agent: Project) -> None:
    test = """
        from agent import ask

        @pytest.mark.ctx_budget(60)
        def test_it(ctx_server, ctx_replay):
            server = ctx_server(answers=["ok"])
            ask(server, "word " * 99)
            ctx_replay(server.transcript(), full_history, expect_identity=True)
        """

    result = agent.with_test(test).run("--ctxguard")

    assert result.findings("test_it").keys() == {"ctx_budget.over"}


def test_without_answers_the_runs_model_answers(agent: Project) -> None:
    test = """
        from agent import ask

        def test_it(ctx_server):
            assert "pay-core-07" in ask(ctx_server(), "It is pay-core-07.", "Which shard is it?")
        """
    mine = agent.with_test(test)

    assert mine.run("--ctxguard").outcomes == {"passed": 1}
    assert mine.run("--ctxguard", "--ctxguard-tier=structure").outcomes == {"skipped": 1}


def test_a_backend_of_the_tests_own(agent: Project) -> None:
    test = """
        from agent import ask
        from pytest_ctxguard.testing import ScriptedBackend

        def test_it(ctx_server):
            backend = ScriptedBackend(["mine"])
            assert ask(ctx_server(backend=backend), "hi", max_tokens=7) == "mine"
            assert backend.requests[0]["max_tokens"] == 7
        """

    assert agent.with_test(test).run("--ctxguard").outcomes == {"passed": 1}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("ctx_server(answers=['x'])", "a server of this test got no request"),
        (
            "ask(ctx_server(answers=['x']), 'hi'); ctx_server(answers=['y'])",
            "a server of this test got no request",
        ),
        ("pass", "no replay was judged"),
    ],
    ids=["unasked", "second", "unused"],
)
def test_a_server_nobody_asked_is_nothing_to_check(agent: Project, body: str, text: str) -> None:
    test = f"from agent import ask\n\ndef test_it(ctx_server):\n    {body}"

    result = agent.with_test(test).run("--ctxguard")

    assert result.outcomes == {"failed": 1}
    assert "nothing to check" in result.failure("test_it")
    assert text in result.failure("test_it")


def test_a_promise_still_needs_a_replay(agent: Project) -> None:
    test = """
        from agent import ask

        @pytest.mark.ctx_budget(60)
        def test_it(ctx_server):
            ask(ctx_server(answers=["ok"]), "hi")
        """

    result = agent.with_test(test).run("--ctxguard")

    assert "no replay was judged" in result.failure("test_it")


def test_a_test_that_uses_it_is_guarded(agent: Project) -> None:
    test = "def test_it(ctx_server): ctx_server(answers=['x'])"

    assert agent.with_test(test).run().outcomes == {"deselected": 1}


def test_servers_stop_with_their_test(agent: Project) -> None:
    test = """
        import threading
        from agent import ask

        BEFORE = set(threading.enumerate())

        def test_one(ctx_server):
            ask(ctx_server(answers=["x"]), "hi")
            new = set(threading.enumerate()) - BEFORE
            assert any(thread.name == "ctxguard-server" for thread in new)

        def test_two():
            assert set(threading.enumerate()) == BEFORE
        """

    assert agent.with_test(test).run("--ctxguard").outcomes == {"passed": 2}


def test_a_wrong_call_is_the_tests_error(agent: Project) -> None:
    test = """
        def test_both(ctx_server):
            ctx_server(answers=["x"], backend=object())

        def test_answer(ctx_server):
            ctx_server(answers=[3])

        def test_fault(ctx_server):
            ctx_server(answers=["x"], faults={0: {"status": 500}})
        """

    result = agent.with_test(test).run("--ctxguard")

    assert result.outcomes == {"failed": 3}
    assert "answers or a backend, not both" in result.failure("test_both")
    assert "'3' is no scripted answer" in result.failure("test_answer")
    assert "faults are keyed by the number of a request, from 1" in result.failure("test_fault")
    assert "site-packages" not in result.text


def test_it_is_refused_where_pytest_cannot_see_it(agent: Project) -> None:
    test = """
        @pytest.fixture
        def server(request):
            return request.getfixturevalue("ctx_server")

        def test_it(server): pass
        """
    hidden = agent.with_test(test)

    assert "under `pytest --ctxguard` only" in hidden.run().failure("test_it")
    assert "name ctx_server in the signature" in hidden.run("--ctxguard").failure("test_it")


ANSWERED = """
    @pytest.mark.ctx_answered("shard", at_least=3)
    @pytest.mark.parametrize("number", [1, 2, 3, 4])
    def test_it(ctx_replay, number):
        ctx_replay("mini", full_history, name=f"n{number}")
    """


def told(messages: list[dict[str, str]]) -> str:
    shard = any("pay-core-07" in (m.get("content") or "") for m in messages[:-1])
    return "It is pay-core-07." if shard else "I do not know."


def serving(key: str | None = None) -> Server:
    identity = {"model": "served@1234", "numerics": "theirs"}
    return Server(ScriptedAnswers(told, identity), RequestEncoder(), key=key)


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "workers"])
def test_one_endpoint_answers_every_worker(project: Project, workers: tuple[str, ...]) -> None:
    with serving() as server:
        result = project.with_test(ANSWERED).run(
            "--ctxguard", f"--ctxguard-endpoint={server.url}", *workers
        )
        asked = len(server.requests)

    assert result.outcomes == {"passed": 4}
    assert asked >= 9  # three wordings: the probe, the fact alone, nothing at all
    assert not (project.root / "opened.txt").exists()  # the conftest's backend
    if not workers:
        line = f"endpoint {server.url}/v1 (--ctxguard-endpoint)"
        assert f"ctxguard: counter qwen2.5; {line}\n" in result.text


def test_the_endpoint_of_the_ini_file_and_the_key_of_the_environment(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXGUARD_ENDPOINT_KEY", "s3cret")
    with serving("s3cret") as server:
        mine = project.with_test(ANSWERED).with_ini(ctxguard_endpoint=server.url)
        result = mine.run("--ctxguard")
        monkeypatch.setenv("CTXGUARD_ENDPOINT_KEY", "wr0ng")
        wrong = mine.run("--ctxguard")

    assert result.outcomes == {"passed": 4}
    assert "(ini ctxguard_endpoint)" in result.text
    assert wrong.outcomes == {"failed": 4}
    assert "answered 401: Incorrect API key provided." in wrong.text
    assert "wr0ng" not in wrong.text


def test_an_endpoint_of_the_command_line_takes_the_place_of_the_ini_files_model(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as server:
        mine = project.with_test(ANSWERED).with_ini(ctxguard_model="in-process")
        beside = mine.run("--ctxguard", f"--ctxguard-endpoint={server.url}")
        both = mine.with_ini(ctxguard_endpoint=server.url, ctxguard_model="another")
        another = both.run("--ctxguard")
        monkeypatch.setenv("CTXGUARD_ENDPOINT_KEY", "s3 cret")
        key = mine.run("--ctxguard", f"--ctxguard-endpoint={server.url}")

    assert beside.outcomes == {"passed": 4}
    assert another.outcomes == key.outcomes == {"failed": 4}
    assert "does not serve 'another', but served@1234. Name one of these" in another.text
    assert "the endpoint's key has white space" in key.text
    assert "s3 cret" not in key.text


def test_an_endpoint_that_is_not_there_is_an_error_of_the_model_marks(project: Project) -> None:
    test = ANSWERED + (
        "\n    @pytest.mark.ctx_carried('shard')\n    def test_structure(ctx_replay):\n"
        "        ctx_replay('mini', full_history)\n"
    )
    with serving() as server:
        url = server.url

    result = project.with_test(test).run("--ctxguard", f"--ctxguard-endpoint={url}")

    assert result.outcomes == {"failed": 4, "passed": 1}
    assert f"--ctxguard-endpoint: {url}/v1 cannot be asked" in result.text


def test_what_is_no_endpoint_is_a_usage_error(project: Project) -> None:
    result = project.with_test(ANSWERED).run("--ctxguard", "--ctxguard-endpoint=localhost:80")

    assert result.exit == pytest.ExitCode.USAGE_ERROR
    assert "an endpoint is a URL such as http://127.0.0.1:8000/v1" in result.text
