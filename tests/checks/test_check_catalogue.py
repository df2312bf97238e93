"""``ctx_catalogue``: tools called that are not there, tools that are there and never called."""

import pytest

from pytest_ctxguard.checks.catalogue_audit import CatalogueAudit
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.replay.recorded import as_recorded
from tests.factories import (
    ApproximateLetters,
    LetterCounter,
    assistant,
    call,
    calling,
    case_of,
    encoder,
    replayed,
    result,
    session,
    system,
    tool,
    user,
)

TOOLS = (tool("search_logs"), tool("get_metrics"), tool("page"))


def judged(*names, counter=None, tools=TOOLS, **promise):
    """Judge a session that calls these tools, one round each."""
    messages = [system(), user("Look.")]
    for number, name in enumerate(names):
        messages += [calling(call(f"c{number}", name)), result("ok", f"c{number}")]
    transcript = session(messages=(*messages, assistant("Done.")), tools=tools, facts=())
    replay = replayed(list, transcript, **({"counter": counter} if counter else {}))
    return CatalogueAudit(**promise).judge(case_of(replay)), replay


def test_a_session_that_calls_what_there_is_passes():
    judgement, replay = judged("search_logs", "get_metrics", counter=ApproximateLetters())
    share = 3 * 30 / replay.tokens.billed
    assert (judgement.promise, judgement.verdict) == ("catalogue", "pass")
    assert judgement.summary == (
        f"3 tools, 30 tokens a request, {share:.0%} of what is billed; 1 never called; "
        "0 calls of tools that do not exist; approximate, by letters"
    )


def test_the_exact_counter_is_not_called_approximate():
    judgement, _ = judged("search_logs", counter=encoder())
    assert "approximate" not in judgement.summary


def test_calls_of_unknown_tools_name_the_nearest():
    judgement, _ = judged("read_log", "read_log", "read_log", "x\x1b")
    (finding,) = judgement.findings
    assert finding.rule == "ctx_catalogue.unknown"
    assert finding.what == "4 calls of tools that do not exist"
    assert finding.where == (
        "transcript small, policy list, 'read_log' 3 times (the nearest is 'search_logs'); "
        "'x\\x1b' once"
    )
    assert (finding.measured, finding.allowed) == ("4 calls", "0, of 3 tools there are")


def test_so_many_unknown_calls_may_be_allowed():
    assert judged("read_log", max_unknown_calls=1)[0].verdict == "pass"
    assert judged("read_log", "read_log", max_unknown_calls=1)[0].verdict == "fail"


def test_tools_never_called_say_what_they_cost():
    judgement, _ = judged("page", max_never_called=1)
    (finding,) = judgement.findings
    assert finding.rule == "ctx_catalogue.never-called"
    assert finding.what == "2 of 3 tools are never called"
    assert finding.where.endswith("'search_logs' 10 tokens, 'get_metrics' 10 tokens")
    assert finding.measured == "2 tools; 20 tokens a request, 40 over 2 calls"
    assert judged("page", max_never_called=2)[0].verdict == "pass"


def test_the_share_of_the_definitions_is_held():
    judgement, replay = judged("page", max_share=0.3)
    (finding,) = judgement.findings
    assert finding.rule == "ctx_catalogue.share"
    assert finding.measured == (f"30 tokens a request, 60 of {replay.tokens.billed} over 2 calls")
    assert finding.allowed == "30.0%"
    share = 60 / replay.tokens.billed
    assert judged("page", max_share=share)[0].verdict == "pass"


def test_of_recorded_traffic_the_definitions_that_were_sent_are_counted():
    """One call of two is on record, and was offered one tool of three."""
    transcript = session(
        messages=(system(), user("Look."), calling(call("c", "page")), result("ok", "c")),
        recorded={2: {"exchange": 1, "tools": ["page"]}},
        tools=TOOLS,
        facts=(),
    )
    replay = as_recorded([transcript], counter=LetterCounter())
    share = 10 / replay.tokens.billed
    judgement = CatalogueAudit(max_share=share / 2).judge(case_of(replay))
    (finding,) = judgement.findings
    assert finding.measured.endswith(f", 10 of {replay.tokens.billed} over 1 calls")
    assert CatalogueAudit(max_share=share).judge(case_of(replay)).verdict == "pass"


def test_each_argument_has_a_finding_of_its_own():
    judgement, _ = judged("read_log", max_never_called=0, max_share=0.01)
    assert [finding.rule.partition(".")[2] for finding in judgement.findings] == [
        "unknown",
        "never-called",
        "share",
    ]


def test_a_transcript_without_definitions_cannot_be_judged():
    with pytest.raises(UsageError, match="has no tool definitions, so there is no catalogue"):
        judged("page", tools=())


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_unknown_calls": -1},
        {"max_unknown_calls": None},
        {"max_never_called": 1.5},
        {"max_never_called": True},
        {"max_share": 0},
        {"max_share": 1},
        {"max_share": "30%"},
        {"max_share": float("nan")},
    ],
)
def test_impossible_arguments(arguments):
    (name,) = arguments
    with pytest.raises(UsageError, match=rf"ctx_catalogue: {name}=.*Usage: ctx_catalogue"):
        CatalogueAudit(**arguments)
