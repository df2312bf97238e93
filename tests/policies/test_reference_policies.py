"""Every policy of report B, report A's old trimmer, Anthropic's clearing, and the pipeline."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.clear_tool_uses import CLEARED_USE, ClearToolUses
from pytest_ctxguard.policies.declare import persists
from pytest_ctxguard.policies.elide_tool_results import ElideToolResults
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.policies.noted_compaction import NotedCompaction
from pytest_ctxguard.policies.pinned_at_end import PinnedAtEnd
from pytest_ctxguard.policies.pinned_in_system import PinnedInSystem
from pytest_ctxguard.policies.pipeline import Pipeline
from pytest_ctxguard.policies.protocol import bind
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from pytest_ctxguard.policies.sub_agent_report import REPORT_NOTE, SubAgentReport
from pytest_ctxguard.policies.sub_agent_scope import SubAgentScope
from pytest_ctxguard.policies.summary_compaction import SummaryCompaction
from pytest_ctxguard.policies.user_turn_trimmer import UserTurnTrimmer
from pytest_ctxguard.tokens.estimators import by_script
from pytest_ctxguard.transcript.library import find
from pytest_ctxguard.transcript.messages import full_text
from pytest_ctxguard.transcript.wellformed import PROVIDERS

POLICIES = {
    "elide": lambda: ElideToolResults(last_turns=2),
    "compaction": SummaryCompaction,
    "compaction and notes": NotedCompaction,
    "pinned in system": lambda: PinnedInSystem(last_turns=2),
    "pinned at end": lambda: PinnedAtEnd(last_turns=2),
    "sub-agent": lambda: SubAgentScope(first_turn=2, last_turn=3),
    "sub-agent's report": lambda: SubAgentReport(first_turn=1, last_turn=2),
    "user turns": UserTurnTrimmer,
    "tool uses": lambda: ClearToolUses(trigger=300, keep=1, clear_tool_inputs=True),
    "pipeline": lambda: Pipeline(ElideToolResults(last_turns=2), SummaryCompaction()),
}
TRANSCRIPTS = ("incident-40", "agentic-docs", "short-chat")
SYSTEM = {"role": "system", "content": "You help."}


def count(messages):
    return 30 + sum(10 + by_script(full_text(message)) for message in messages)


def summarise(messages):
    return f"Summary of {len(messages)} messages, first: {full_text(messages[0])[:20]}"


def run(policy, history, budget=2_000):
    offered = {"budget": budget, "count": count, "summarise": summarise}
    return bind(policy, offered)(history)


# laws


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=40)
@given(history=ctx.histories(), budget=st.integers(60, 3_000))
def test_well_formed_and_nothing_mutated(name, history, budget):
    before = copy.deepcopy(history)
    sent = run(POLICIES[name](), history, budget)
    assert history == before
    assert [problem.rule for problem in PROVIDERS["openai"](sent)] == []
    assert sent[-1] == history[-1] or name in ("pinned at end", "tool uses")


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=40)
@given(history=ctx.histories(), budget=st.integers(60, 3_000))
def test_deterministic_whatever_the_policy_saw_before_and_copyable(name, history, budget):
    policy = POLICIES[name]()
    for n in range(1, len(history)):
        run(policy, history[:n], budget)
    twin = copy.deepcopy(policy)
    sent = run(policy, copy.deepcopy(history), budget)
    assert run(twin, history, budget) == sent
    assert run(POLICIES[name](), history, budget) == sent


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("transcript", TRANSCRIPTS)
def test_well_formed_at_every_call_of_the_built_in_transcripts(name, transcript):
    session, policy = find(transcript), POLICIES[name]()
    acted = 0
    for call in session.calls:
        history = list(session.messages[: call.history])
        sent = run(policy, history, budget=1_500)
        acted += sent != history
        for provider, rules in PROVIDERS.items():
            problems = {problem.rule for problem in rules(sent, session.tools)}
            assert problems <= ALLOWED.get(provider, set())
    assert acted or (name, transcript) in NEVER


# A note is a user message of its own, as the three-step fit's is; Converse wants it joined.
ALLOWED = {"bedrock": {"role-alternation"}}

# one user turn is sent whole by what cuts between turns only; a short chat has nothing too much
INSIDE_TURNS = ("compaction", "compaction and notes", "tool uses", "pipeline")
NEVER = {(name, "agentic-docs") for name in POLICIES if name not in INSIDE_TURNS}
NEVER |= {(name, "short-chat") for name in POLICIES if not name.startswith(("pinned", "sub"))}


# each policy's own


def user(text):
    return {"role": "user", "content": text}


def answer(text):
    return {"role": "assistant", "content": text}


def tool_round(number, size, name="read_log", **arguments):
    function = {"name": name, "arguments": json.dumps(arguments or {"day": number})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": "x" * size},
    ]


def session(turns, size=500):
    history = [SYSTEM]
    for n in range(1, turns + 1):
        history += [user(f"Check {n}."), *tool_round(n, size), answer(f"{n} is fine.")]
    return [*history, user("And now?")]


def results(messages):
    return [m["content"] for m in messages if m["role"] == "tool"]


def test_elided_results_name_tool_turn_size_and_how_to_read_them_again():
    sent = ElideToolResults(last_turns=2)(session(3))
    assert results(sent) == [
        "[Cleared to save context: the result of read_log from turn 1, 500 characters. "
        'Call read_log again with {"day": 1} to read it.]',
        "[Cleared to save context: the result of read_log from turn 2, 500 characters. "
        'Call read_log again with {"day": 2} to read it.]',
        "x" * 500,
    ]
    assert [m for m in sent if m["role"] != "tool"] == [
        m for m in session(3) if m["role"] != "tool"
    ]


def test_a_result_shorter_than_its_line_is_left_alone():
    history = session(5, size=80)
    assert ElideToolResults(last_turns=1)(history) == history
    assert results(ElideToolResults(last_turns=1, note="-")(history)) == ["-"] * 5


def test_pins_stand_in_the_system_message_or_before_the_question():
    history = session(3)
    block = "[Earlier turns of this session were left out. Kept from them:]\n- Employee 4417."
    pins = ["Employee 4417."]

    first = PinnedInSystem(pins=pins, last_turns=1)(history)
    assert first == [{"role": "system", "content": f"You help.\n\n{block}"}, user("And now?")]

    last = PinnedAtEnd(pins=pins, last_turns=1)(history)
    assert last == [SYSTEM, user(block), user("And now?")]

    inside = [*history, *tool_round(9, 10)]
    assert PinnedAtEnd(pins=pins, last_turns=1)(inside)[-1] == user(block)
    assert PinnedAtEnd(pins=pins, last_turns=4)(history) == history


def test_without_pins_the_block_is_what_the_user_said():
    said = PinnedInSystem(last_turns=2, note="")(session(3))[0]["content"]
    assert said == "You help.\n\n- Check 1.\n- Check 2."
    assert PinnedInSystem(last_turns=1, note="")(session(1)[1:])[0] == {
        "role": "system",
        "content": "- Check 1.",
    }
    parts = {"role": "system", "content": [{"type": "text", "text": "You help."}]}
    sent = PinnedInSystem(last_turns=1, note="")([parts, *session(1)[1:]])
    assert sent[0]["content"][1] == {"type": "text", "text": "- Check 1."}


def test_a_sub_agent_is_given_its_turns_and_the_current_one():
    sent = SubAgentScope(first_turn=2, last_turn=3, note="(a part)")(session(4))
    said = [m["content"] for m in sent if m["role"] == "user"]
    assert said == ["(a part)", "Check 2.", "Check 3.", "And now?"]
    assert sent[0] == SYSTEM
    assert SubAgentScope(first_turn=1, last_turn=9)(session(4)) == session(4)


def test_a_sub_agents_report_stands_in_its_turns_place_and_is_asked_for_once():
    policy, shown = SubAgentReport(first_turn=2, last_turn=3), []

    def report(messages):
        shown.append(messages)
        return "Both are fine. "

    history = session(4)
    at_work = history[: next(i for i, m in enumerate(history) if m == user("Check 4."))]
    assert policy(at_work, summarise=report) == at_work
    sent = policy(history, summarise=report)
    said = [m["content"] for m in sent if m["role"] == "user"]
    assert said == ["Check 1.", f"{REPORT_NOTE}\nBoth are fine.", "Check 4.", "And now?"]
    assert policy([*history, *tool_round(9, 9)], summarise=report)[: len(sent)] == sent
    assert len(shown) == 1
    assert shown[0][:-1] == history[5:13]


@pytest.mark.parametrize("answer", [None, " ", RuntimeError("no model")])
def test_without_a_report_the_turns_stay(answer):
    def fails(messages):
        if isinstance(answer, Exception):
            raise answer
        return answer

    history = session(4)
    assert SubAgentReport(first_turn=2, last_turn=3)(history, summarise=fails) == history


def test_the_old_trimmer_cuts_at_user_messages_only():
    history = session(6, size=2_000)
    sent = UserTurnTrimmer()(history, 1_400)
    assert sent[:2] == [SYSTEM, user("Check 1.")]
    assert "left out" in sent[2]["content"]
    assert sent[3:] == history[-9:]  # two turns of 500 tokens each, and the question
    alone = [SYSTEM, user("Read."), *(m for n in range(9) for m in tool_round(n, 2_000))]
    assert UserTurnTrimmer()(alone, 1_400) == alone


def test_its_estimate_takes_every_text_for_english():
    russian = [SYSTEM, user("старое"), answer("ж" * 4_000), user("новое")]
    assert UserTurnTrimmer()(russian, 1_100) == russian


class TestClearToolUses:
    history = session(6)

    def cleared(self, **knobs):
        sent = ClearToolUses(**{"trigger": 100, **knobs})(self.history, count=count)
        return "".join("-" if text == CLEARED_USE else "x" for text in results(sent))

    def test_all_but_the_newest_are_cleared_beyond_the_trigger(self):
        assert self.cleared() == "---xxx"
        assert self.cleared(keep=0) == "------"
        assert self.cleared(keep=9) == "xxxxxx"

    def test_at_the_trigger_nothing_is(self):
        at = count(self.history)
        assert self.cleared(trigger=at) == "xxxxxx"
        assert self.cleared(trigger=at - 1) == "---xxx"
        assert self.cleared(trigger=6, trigger_by="tool_uses") == "xxxxxx"
        assert self.cleared(trigger=5, trigger_by="tool_uses") == "---xxx"

    def test_nothing_is_cleared_unless_enough_can_be(self):
        sent = ClearToolUses(trigger=100)(self.history, count=count)
        saved = count(self.history) - count(sent)
        assert self.cleared(clear_at_least=saved) == "---xxx"
        assert self.cleared(clear_at_least=saved + 1) == "xxxxxx"

    def test_excluded_tools_are_never_cleared_nor_counted_as_kept(self):
        mixed = [*self.history[:-1], user("More."), *tool_round(7, 500, name="memory")]
        sent = ClearToolUses(trigger=100, exclude_tools=["memory"])(mixed, count=count)
        assert [text == CLEARED_USE for text in results(sent)] == [True] * 3 + [False] * 4

    @pytest.mark.parametrize(
        ("knob", "first"), [(False, '{"day": 1}'), (True, "{}"), (["read_log"], "{}")]
    )
    def test_inputs_go_too_if_asked(self, knob, first):
        sent = ClearToolUses(trigger=100, clear_tool_inputs=knob)(self.history, count=count)
        arguments = [m["tool_calls"][0]["function"]["arguments"] for m in sent if "tool_calls" in m]
        assert arguments[0] == first
        assert arguments[-1] == '{"day": 6}'
        others = ClearToolUses(trigger=100, clear_tool_inputs=["write"])(self.history, count=count)
        assert others[2] == self.history[2]


def test_a_pipeline_needs_what_its_members_need_and_runs_them_in_order():
    pipeline = Pipeline(ElideToolResults(last_turns=1, note="-"), SlidingWindow(last=2))
    assert run(pipeline, session(3)) == [SYSTEM, answer("3 is fine."), user("And now?")]
    assert repr(pipeline) == "Pipeline(ElideToolResults, SlidingWindow)"
    with pytest.raises(UsageError, match="needs a budget"):
        bind(Pipeline(full_history, UserTurnTrimmer()), {})
    assert run(Pipeline(lambda: SlidingWindow(last=1)), session(1)) == [SYSTEM, user("And now?")]


def test_a_pipeline_with_an_async_member_is_awaited():
    async def first(messages, *, count):
        assert count(messages)
        return messages[1:]

    sent = run(Pipeline(full_history, first, first, SlidingWindow(last=9)), session(1))
    with pytest.raises(StopIteration) as ended:
        sent.send(None)
    assert ended.value.value == session(1)[2:]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ElideToolResults(last_turns=0), "give at least 1"),
        (lambda: ElideToolResults(note="{name}"), "it may name {tool}"),
        (lambda: PinnedAtEnd(last_turns=0), "PinnedAtEnd(last_turns=0) cuts the current turn"),
        (lambda: PinnedInSystem(pins="one text"), "a list of lines"),
        (lambda: SubAgentScope(first_turn=3, last_turn=2), "counted from 1"),
        (lambda: NotedCompaction(room=1), "a share of the budget"),
        (lambda: SubAgentReport(first_turn=0, last_turn=2), "counted from 1"),
        (lambda: Pipeline(persists(full_history)), "persists(Pipeline(…))"),
        (lambda: SummaryCompaction(trigger=0.4, target=0.4), "summarise at every call"),
        (lambda: ClearToolUses(trigger_by="turns"), "input_tokens or tool_uses"),
        (lambda: ClearToolUses(keep=-1), "0 or more"),
        (lambda: ClearToolUses(exclude_tools="memory"), "list tool names"),
        (lambda: Pipeline(), "give at least one"),
    ],
)
def test_impossible_knobs_are_refused(make, said):
    with pytest.raises(UsageError) as error:
        make()
    assert said in str(error.value)
