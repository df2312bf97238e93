"""``ctx_record`` and ``ctx_cassette``: record once, replay with no key and no network."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from pytest_ctxguard.plugin.settings import settings
from pytest_ctxguard.server.running import Server
from pytest_ctxguard.server.script import ScriptedAnswers
from pytest_ctxguard.tokens.request import RequestEncoder
from tests.plugin.project import Project, Result

# Else each run inside imports them anew, and what vcrpy patched is not what runs.
for name in ("aiohttp", "anthropic", "httpcore2", "httpx", "openai", "requests", "vcr.patch"):
    importlib.import_module(name)
for name in ("cassette", "missing", "recorder", "secrets"):
    importlib.import_module(f"pytest_ctxguard.recording.{name}")

RECORD = ("--ctxguard", "--ctxguard-record=once")
CI = "CI, where only --ctxguard-record records"
AGENT = """
import httpx2

URL = {url!r}


def history(*texts):
    roles = ["user", "assistant"]
    return [{{"role": roles[n % 2], "content": text}} for n, text in enumerate(texts)]


def ask(*texts, stream=False, **options):
    import openai

    client = openai.OpenAI(base_url=URL + "/v1", **options)
    with client:
        answer = client.chat.completions.create(
            model="m", messages=history(*texts), stream=stream, temperature=1.0
        )
        if not stream:
            return answer.choices[0].message.content
        return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)


async def ask_async(*texts, stream=False):
    import openai

    async with openai.AsyncOpenAI(base_url=URL + "/v1") as client:
        answer = await client.chat.completions.create(
            model="m", messages=history(*texts), stream=stream
        )
        if not stream:
            return answer.choices[0].message.content
        return "".join([c.choices[0].delta.content or "" async for c in answer if c.choices])


def ask_claude(*texts, stream=False):
    import anthropic

    with anthropic.Anthropic(base_url=URL) as client:
        options = {{"model": "m", "max_tokens": 50, "messages": history(*texts)}}
        if not stream:
            return client.messages.create(**options).content[0].text
        with client.messages.stream(**options) as events:
            return "".join(events.text_stream)


def post(path="/v1/chat/completions", **body):
    body = {{"model": "m", "messages": history("hi"), **body}}
    with httpx2.Client(verify=False) as client:
        return client.post(URL + path, json=body, headers={{"x": "1"}}).json()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Serve one scripted endpoint to all tests; each counts from where it stands."""
    with Server(
        ScriptedAnswers(lambda messages: f"re: {messages[-1]['content']}"), _encoder()
    ) as s:
        yield s


def _encoder() -> RequestEncoder:
    return RequestEncoder()


@pytest.fixture
def agent(project: Project, server: Server, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return the mini project with an agent that asks the server with the real clients."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-fake0123456789abcdefghijklmn")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-fake0123456789abcdefghijklmn")
    return project.with_file("agent.py", AGENT.format(url=server.url))


def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("ANTHROPIC_API_KEY")


def cassette(result: Result, name: str = "test_it", module: str = "test_mini") -> Path:
    return result.root / "cassettes" / module / f"{name}.yaml"


CLIENTS = """
    import asyncio
    from agent import *

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
    class TestClients:
        def test_openai(self, ctx_record, stream):
            assert ask("one", stream=stream) == "re: one"
            assert ask("one", "re: one", "two", stream=stream) == "re: two"
            assert len(ctx_record.transcript().messages) == 4
            assert ctx_record.requests == 2

        def test_openai_async(self, ctx_record, stream):
            async def both():
                return await asyncio.gather(ask_async("a", stream=stream), ask_async("b"))
            assert asyncio.run(both()) == ["re: a", "re: b"]
            assert len(ctx_record.transcripts) == 2

        def test_anthropic(self, ctx_record, stream):
            assert ask_claude("one", stream=stream) == "re: one"
            [transcript] = ctx_record.transcripts
            assert transcript.messages[-1]["content"] == "re: one"
    """


def test_real_clients_record_once_and_replay_without_key_and_network(
    agent: Project, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = agent.with_test(CLIENTS)
    recorded = mine.run(*RECORD)
    asked = len(server.requests)
    without_keys(monkeypatch)
    monkeypatch.setattr("socket.socket.connect", _no_network)

    replayed = mine.run("--ctxguard")

    assert recorded.outcomes == replayed.outcomes == {"passed": 6}
    assert len(server.requests) == asked
    names = sorted(path.name for path in (recorded.root / "cassettes" / "test_mini").iterdir())
    assert "TestClients.test_anthropic[streamed].yaml" in names
    assert len(names) == 6
    assert "2 requests recorded in cassettes/test_mini/TestClients.test_openai" in recorded.section
    assert "recorded in" not in replayed.section
    text = "".join(path.read_text() for path in recorded.root.glob("cassettes/*/*"))
    assert "fake0123456789" not in text


def _no_network(*_: object) -> None:
    raise AssertionError("a socket was connected")


IT = """
    from agent import *

    def test_it(ctx_record):
        assert ask({text!r}) == "re: " + {text!r}
    """


def test_without_the_option_nothing_is_sent_or_written(agent: Project, server: Server) -> None:
    asked = len(server.requests)

    result = agent.with_test(IT.format(text="hi")).run("--ctxguard")

    text = result.failure("test_it")
    assert result.outcomes == {"failed": 1}
    assert "a request is not recorded, and record mode none (default) sends none" in text
    assert "cassettes/test_mini/test_it.yaml (there is none)" in text
    assert "pytest --ctxguard --ctxguard-record=once 'test_mini.py::test_it'" in text
    assert "Traceback" not in text
    assert "site-packages" not in text
    assert len(server.requests) == asked
    assert not cassette(result).exists()


SWALLOWING = """
    from agent import *

    def test_it(ctx_record):
        try:
            {agent}
        except {error}:
            pass
    """


@pytest.mark.parametrize("error", ["Exception", "BaseException"])
@pytest.mark.parametrize(
    "call",
    ['ask("changed", max_retries=5)', 'ask_claude("changed")', 'post(messages=history("changed"))'],
    ids=["openai", "anthropic", "httpx2"],
)
def test_a_changed_prompt_fails_whatever_the_agent_catches(
    agent: Project, server: Server, call: str, error: str
) -> None:
    mine = agent.with_test(SWALLOWING.format(agent=call.replace("changed", "hi"), error="OSError"))
    assert mine.run(*RECORD).outcomes == {"passed": 1}
    asked = len(server.requests)

    changed = mine.with_test(SWALLOWING.format(agent=call, error=error)).run("--ctxguard")

    text = changed.failure("test_it")
    assert 'differs    messages[0].content: recorded "hi", sent "changed"' in text
    assert "nearest    request 1 of 1" in text
    assert "test       test_mini.py::test_it" in text
    assert "--ctxguard-record=all 'test_mini.py::test_it'" in text
    assert "more requests" not in text  # no retries
    assert text.count("a request is not recorded") == 1
    assert len(server.requests) == asked


def test_a_body_that_fails_for_want_of_an_answer_fails_with_the_miss(agent: Project) -> None:
    test = """
        from agent import *

        def test_it(ctx_record):
            try:
                answer = ask("hi")
            except BaseException:
                answer = None
            assert answer == "re: hi", "the agent gave up"
        """

    text = agent.with_test(test).run("--ctxguard").failure("test_it")

    assert "a request is not recorded" in text
    assert "the agent gave up" not in text


def test_cassette_07_each_test_replays_alone_and_in_any_order(
    agent: Project, server: Server
) -> None:
    test = """
        from functools import cache
        from agent import *

        @cache
        def models():
            return post(messages=history("list models"))

        def test_embed(ctx_record):
            models(), ask("embed")

        {mark}
        def test_batch(ctx_record):
            models(), ask("batch")
        """
    mine = agent.with_test(test.format(mark=""))
    assert mine.run(*RECORD).outcomes == {"passed": 2}
    asked = len(server.requests)
    reverse = ("test_mini.py::test_batch", "test_mini.py::test_embed")

    missed = mine.run("--ctxguard", *reverse)
    text = missed.failure("test_batch")

    assert missed.outcomes == {"failed": 1, "passed": 1}
    assert "test       test_mini.py::test_batch" in text
    assert f"sent       POST {server.url}/v1/chat/completions" in text
    assert 'messages[0].content: recorded "batch", sent "list models"' in text
    assert "elsewhere  test_embed.yaml holds this request" in text
    both = agent.with_test(test.format(mark='@pytest.mark.ctx_cassette(also=["test_embed"])'))
    for arguments in (reverse, reverse[::-1], reverse[:1], reverse[1:]):
        assert both.run("--ctxguard", *arguments).outcomes == {"passed": len(arguments)}
    assert len(server.requests) == asked


def test_cassette_04_no_secret_is_written_at_any_time(
    agent: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = """
        from agent import *

        def test_it(ctx_record):
            ask("first")
            ask("second")
        """
    one = IT.format(text="second")
    steps = [(two, "once"), (one, "none"), (one, "new_episodes"), (one, "all"), (two, "all")]
    for test, mode in steps:
        result = agent.with_test(test).run("--ctxguard", f"--ctxguard-record={mode}")
        assert result.outcomes == {"passed": 1}
        for path in (result.root / "cassettes").rglob("*"):
            assert path.is_dir() or b"fake0123456789" not in path.read_bytes(), (test, mode)


def test_what_was_recorded_and_not_sent_is_a_note(agent: Project) -> None:
    twice = IT.format(text="hi") + '    ask("more")\n'
    mine = agent.with_test(twice)
    mine.run(*RECORD)
    once = mine.with_test(IT.format(text="hi"))

    replayed = once.run("--ctxguard")
    rewritten = once.run("--ctxguard", "--ctxguard-record=all")
    after = once.run("--ctxguard")

    assert replayed.outcomes == {"passed": 1}
    said = "1 request recorded in cassettes/test_mini/test_it.yaml but not sent: POST http://"
    assert said in replayed.section
    assert "--ctxguard-record=all records without" in replayed.section
    assert "1 request recorded in cassettes/test_mini/test_it.yaml\n" in rewritten.section
    assert "not sent" not in after.section


VOLATILE = """
    import uuid
    from agent import *

    @pytest.mark.ctx_cassette(ignore=["metadata.request_id"])
    class TestIt:
        {mark}
        def test_it(self, ctx_record):
            key = str(uuid.uuid4())
            post(metadata={{"request_id": key}}, messages=[{{**history("hi")[0], "id": key}}])
    """


def test_volatile_fields_are_declared_and_add_up(agent: Project) -> None:
    one = agent.with_test(VOLATILE.format(mark=""))
    one.run(*RECORD)
    both = agent.with_test(
        VOLATILE.format(mark='@pytest.mark.ctx_cassette(ignore=["messages.*.id"])')
    )

    text = one.run("--ctxguard").failure("TestIt::test_it")

    assert "differs    messages[0].id: recorded" in text
    assert 'leave it out: @pytest.mark.ctx_cassette(ignore=["messages[0].id"])' in text
    assert both.run("--ctxguard").outcomes == {"passed": 1}


@pytest.mark.parametrize("mode", ["none", "all"])
def test_a_test_that_sends_nothing_checks_nothing(agent: Project, mode: str) -> None:
    result = agent.with_test("def test_it(ctx_record): pass").run(
        "--ctxguard", f"--ctxguard-record={mode}"
    )

    assert "nothing to check: ctx_record saw no request" in result.failure("test_it")


FAILING = """
    from agent import *

    @pytest.mark.ctx_budget(1)
    def test_it(ctx_record, ctx_replay):
        ask("hi")
        {line}
        ctx_replay(ctx_record.transcript(), full_history, expect_identity=True)
    """


def test_a_body_that_fails_writes_nothing_a_broken_promise_does(agent: Project) -> None:
    failed = agent.with_test(FAILING.format(line="assert 0")).run(*RECORD)

    assert failed.outcomes == {"failed": 1}
    assert not cassette(failed).exists()
    said = "1 request not written to cassettes/test_mini/test_it.yaml: the body did not pass"
    assert said in failed.section

    broken = agent.with_test(FAILING.format(line="")).run(*RECORD)

    assert broken.findings("test_it").keys() == {"ctx_budget.over"}
    assert cassette(broken).exists()


def test_what_later_fixtures_send_is_recorded_too(agent: Project) -> None:
    test = """
        from agent import *

        @pytest.fixture
        def session(ctx_record):
            ask("open")
            yield
            ask({last!r})

        def test_it(session):
            ask("work")
        """
    mine = agent.with_test(test.format(last="close"))

    assert mine.run(*RECORD).outcomes == {"passed": 1}
    assert mine.run("--ctxguard").outcomes == {"passed": 1}
    sent = httpx2.HTTPTransport.handle_request
    missed = agent.with_test(test.format(last="other")).run("--ctxguard")
    assert missed.outcomes == {"passed": 1, "errors": 1}
    assert 'recorded "close", sent "other"' in missed.text
    assert httpx2.HTTPTransport.handle_request is sent  # the recorder was torn down all the same


SHARED = """
    from agent import *

    @pytest.mark.ctx_cassette("same")
    def test_one(ctx_record): post()

    @pytest.mark.ctx_cassette("same")
    def test_two(ctx_record): post()
    """


@pytest.mark.parametrize(
    ("mode", "workers"),
    [("once", ()), ("new_episodes", ()), ("all", ()), ("once", ("-n2",))],
    ids=["once", "new_episodes", "all", "xdist"],
)
def test_two_tests_never_record_one_cassette(
    agent: Project, mode: str, workers: tuple[str, ...]
) -> None:
    mine = agent.with_test(SHARED)

    first = mine.run("--ctxguard", f"--ctxguard-record={mode}", *workers)
    alone = mine.run("--ctxguard", f"--ctxguard-record={mode}", "-k", "test_two")
    replayed = mine.run("--ctxguard")

    assert first.outcomes == {"passed": 1, "errors": 1}
    assert "test_mini.py::test_one and test_mini.py::test_two both record" in first.text
    assert alone.outcomes.get("errors", 0) == (0 if mode == "once" else 1)
    assert replayed.outcomes == {"passed": 2}


def test_workers_record_side_by_side(agent: Project) -> None:
    test = """
        from agent import *

        @pytest.mark.parametrize("n", range(4))
        def test_it(ctx_record, n):
            answer = post(messages=history(f"number {n}"))
            assert answer["choices"][0]["message"]["content"] == f"re: number {n}"
        """
    mine = agent.with_test(test)

    assert mine.run(*RECORD, "-n2").outcomes == {"passed": 4}
    assert mine.run("--ctxguard").outcomes == {"passed": 4}
    assert len(list((mine.root / "cassettes" / "test_mini").iterdir())) == 4


MODES = [
    ((), {}, "", False, "none (default)"),
    ((), {"ctxguard_record": "once"}, "", False, "once (ini ctxguard_record)"),
    ((), {"ctxguard_record": "once"}, "none", False, "none (ctx_cassette(record=…))"),
    (("--record-mode=none",), {}, "once", False, "none (--record-mode)"),
    (("--record-mode=rewrite",), {}, "none", True, "all (--record-mode)"),
    (("--record-mode=none", "--ctxguard-record=all"), {}, "", True, "all (--ctxguard-record)"),
    ((), {"ctxguard_record": "once"}, "all", True, f"none ({CI})"),
    (("--ctxguard-record=once",), {}, "none", True, "once (--ctxguard-record)"),
]


@pytest.mark.parametrize(("arguments", "ini", "marked", "in_ci", "mode"), MODES)
def test_one_function_decides_the_record_mode(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    ini: dict[str, str],
    marked: str,
    in_ci: bool,
    mode: str,
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    if in_ci:
        monkeypatch.setenv("CI", "true")
    over = [f"--override-ini={key}={value}" for key, value in ini.items()]
    config = pytester.parseconfig("-pctxguard", "-precording", *over, *arguments)

    found = settings.read_settings(config).record_mode(marked=marked or None)

    assert "{} ({})".format(*found) == mode


def test_an_unknown_mode_is_refused(agent: Project) -> None:
    mine = agent.with_test(IT.format(text="hi"))

    option = mine.run("--ctxguard", "--ctxguard-record=some")
    ini = mine.with_ini(ctxguard_record="some").run("--ctxguard")

    assert option.exit == ini.exit == pytest.ExitCode.USAGE_ERROR
    assert "invalid choice: 'some'" in option.text
    assert "ctxguard_record is 'some'" in ini.text


def test_pytest_recording_and_ctx_record_do_not_both_record(agent: Project) -> None:
    test = """
        from agent import *

        @pytest.mark.vcr
        def test_both(ctx_record): ask("hi")

        def test_ours(ctx_record): ask("hi")
        """
    mine = agent.with_test(test)

    result = mine.run("-precording", "--ctxguard", "--record-mode=once")

    assert result.outcomes == {"passed": 1, "errors": 1}
    assert "this test has a vcr mark and uses ctx_record; both would record it" in result.text
    assert cassette(result, "test_ours").exists()


def test_block_network_of_pytest_recording_is_respected(agent: Project, server: Server) -> None:
    mine = agent.with_test(IT.format(text="hi"))
    asked = len(server.requests)

    # In a process of its own: the socket that was not let out is closed some time later.
    blocked = mine.run("-precording", "--block-network", *RECORD, subprocess=True)

    assert blocked.outcomes == {"failed": 1}
    assert "Network is disabled" in blocked.text
    assert len(server.requests) == asked
    assert not cassette(blocked).exists()
    assert mine.run("-precording", *RECORD).outcomes == {"passed": 1}
    assert mine.run("-precording", "--block-network", "--ctxguard").outcomes == {"passed": 1}


WRONG = {
    'ctx_cassette("a", "b")': "takes one argument without a name",
    'ctx_cassette(match="body")': "takes no argument 'match'",
    "ctx_cassette(3)": "name is text, not 3",
    'ctx_cassette(ignore="metadata.id")': "ignore is a list of texts, not 'metadata.id'",
    'ctx_cassette(ignore=["*"])': "'*' names no field of a JSON body",
    'ctx_cassette(record="some")': "record is 'some'; it may be none, once, new_episodes, all",
}


@pytest.mark.parametrize(("mark", "said"), WRONG.items())
def test_a_wrong_mark_is_the_tests_own_error(agent: Project, mark: str, said: str) -> None:
    test = f"""
        @pytest.mark.{mark}
        def test_it(ctx_record): pass
        """

    result = agent.with_test(test).run(*RECORD)

    assert result.outcomes == {"errors": 1}
    assert said in result.failure("test_it")
    assert "site-packages" not in result.text


def test_a_mark_without_the_fixture_is_an_error(agent: Project) -> None:
    test = """
        @pytest.mark.ctx_cassette("a")
        def test_it(): pass
        """

    result = agent.with_test(test).run("--ctxguard")

    assert "Name ctx_record in the signature" in result.failure("test_it")


def test_a_test_that_records_is_guarded(agent: Project) -> None:
    assert agent.with_test(IT.format(text="hi")).run().outcomes == {"deselected": 1}


def test_names_of_cassettes(agent: Project) -> None:
    long = "n" * 300
    test = f"""
        from agent import *

        class TestA:
            class TestB:
                def test_it(self, ctx_record): ask("hi")

        @pytest.mark.parametrize("p", [1, 2], ids=["a/b:c", {long!r}])
        def test_id(ctx_record, p): ask("hi")

        @pytest.mark.ctx_cassette("../shared/mine.yaml")
        def test_named(ctx_record):
            ask("hi")
            assert ctx_record.path.name == "mine.yaml"
            assert ctx_record.recording
        """

    result = agent.with_test(test).run(*RECORD)

    names = {
        str(path.relative_to(result.root / "cassettes")) for path in result.root.rglob("*.yaml")
    }
    [cut] = [name for name in names if "nnn" in name]
    assert result.outcomes == {"passed": 4}
    assert len(cut) < 230
    assert names - {cut} == {
        "test_mini/TestA.TestB.test_it.yaml",
        "test_mini/test_id[a-b-c].yaml",
        "shared/mine.yaml",
    }


def test_a_broken_cassette_is_the_tests_error_with_its_path(agent: Project) -> None:
    mine = agent.with_test(IT.format(text="hi"))
    broken = mine.with_file("cassettes/test_mini/test_it.yaml", "interactions: [")

    result = broken.run("--ctxguard")

    assert f"{cassette(result)}:1: not YAML" in result.failure("test_it")


def test_the_endpoint_that_answers_probes_is_not_recorded(agent: Project, server: Server) -> None:
    test = """
        from agent import *

        def test_it(ctx_record, ctx_replay):
            ask("hi")
            ctx_replay("mini", full_history, expect_identity=True).answers("shard")
            assert ctx_record.requests == 1
        """
    mine = agent.with_test(test)
    option = f"--ctxguard-endpoint={server.url}"
    recorded = mine.run(*RECORD, option)
    asked = len(server.requests)

    replayed = mine.run("--ctxguard", option)

    assert recorded.outcomes == replayed.outcomes == {"passed": 1}
    assert "1 request recorded in cassettes/test_mini/test_it.yaml" in recorded.section
    assert len(server.requests) - asked >= 3  # the wordings, asked of it again
