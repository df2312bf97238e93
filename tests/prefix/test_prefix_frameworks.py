"""What real frameworks' policies send and cost: the second table of docs/prefix.md.

The requests are those of the contract vectors, so that no framework is needed. A read costs 0.1 and
all else 1.25; no minimum, no expiry. The first figures of each row are those of the message-level
study that this table goes back to, with its own measure (a quarter of the letters of a message's
JSON); its session had other words, so that they agree to a few percent.
"""

import json
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest

from pytest_ctxguard.prefix.changes import changes
from pytest_ctxguard.prefix.cost import Cost, whole
from pytest_ctxguard.prefix.rules import load_rules
from pytest_ctxguard.prefix.simulate import simulate
from tests.factories import encoder
from tests.policies.adapters.contracts import framework, stored, unpacked
from tests.policies.adapters.histories import agentic, calls, chat
from tests.prefix.letters import sent

WARM = replace(
    load_rules()["anthropic"], name="warm", match="prefix", minimum=1, ttl_seconds=None,
    max_marks=None, look_back=None, read=Decimal("0.1"), write=Decimal("1.25"),
)  # fmt: skip


def quarters(messages, *, tools=(), generation_prompt=True):
    return sum(len(json.dumps(m, ensure_ascii=False, sort_keys=True)) // 4 + 1 for m in messages)


QUARTERS = SimpleNamespace(name="letters of JSON / 4", count=quarters)

# case: sent, share reused, breaks, cost of the study; sent, share reused, breaks, cost in tokens
CHAT = {
    "none": ((697_040, 0.975, 0, 89_826), (762_090, 0.974, 0, 98_580)),
    "langchain/trim-chat": ((102_650, 0.509, 37, 68_226), (114_385, 0.510, 37, 75_935)),
    "autogen/buffered-inside-chat": ((99_954, 0.027, 74, 121_836), (114_087, 0.040, 74, 137_062)),
    "autogen/token-limited-inside-chat": (
        (103_597, 0.397, 73, 82_191), (113_506, 0.373, 73, 92_750)
    ),
    "strands/per-call-chat": ((82_436, 0.432, 37, 62_090), (96_446, 0.431, 37, 72_703)),
    "google_adk/keep-3-chat": ((82_242, 0.432, 37, 61_940), (96_446, 0.431, 37, 72_703)),
    "agent_framework/truncation-chat": ((68_540, 0.594, 25, 38_836), (77_960, 0.594, 25, 44_111)),
    "agent_framework/sliding-chat": ((68_400, 0.038, 76, 82_490), (77_852, 0.038, 76, 93_626)),
    "haystack/sliding-chat": ((87_992, 0.704, 19, 38_710), (99_006, 0.702, 19, 43_815)),
}  # fmt: skip
LOOP = {
    "none": ((331_709, 0.951, 0, 51_857), (363_936, 0.950, 0, 57_250)),
    "langchain/trim-agentic": ((3_368, 0.635, 1, 1_749), (3_628, 0.647, 1, 1_834)),
    "autogen/buffered-loop": ((90_234, 0.046, 35, 108_049), (102_721, 0.051, 35, 122_355)),
    "autogen/token-limited-inside-loop": (
        (49_829, 0.381, 37, 40_482), (54_417, 0.358, 37, 45_619)
    ),
    "strands/per-call-loop": ((87_239, 0.054, 35, 103_603), (102_721, 0.051, 35, 122_355)),
    "google_adk/keep-3-loop": ((313_204, 0.951, 0, 48_960), (363_936, 0.950, 0, 57_250)),
    "agent_framework/truncation-loop": ((39_712, 0.412, 19, 30_842), (45_452, 0.411, 19, 35_332)),
    "agent_framework/sliding-loop": ((89_879, 0.054, 35, 106_777), (102_721, 0.051, 35, 122_355)),
    "haystack/sliding-agentic": ((44_228, 0.487, 17, 30_523), (49_425, 0.475, 17, 34_801)),
    "agentfit/drop-oldest-agentic": ((63_383, 0.053, 36, 75_381), (70_734, 0.051, 36, 84_278)),
}  # fmt: skip


def requests_of(name, whole_session):
    if name == "none":
        return calls(whole_session)
    package, _, case_name = name.partition("/")
    [case] = [case for case in framework(package).cases if case.name == case_name]
    made = stored(package)[case_name]["requests"]
    return [unpacked(*pair) for pair in zip(case.histories(), made, strict=True)]


def measured(requests, counter):
    session = [sent(*messages, session=0) for messages in requests]
    changed = changes(session, counter=counter)
    cost = Cost(simulate(session, rule=WARM, counter=counter))
    reused = sum(change.shared_tokens for change in changed) / cost.sent
    breaks = sum(change.breaks for change in changed)
    return cost.sent, round(reused, 3), breaks, whole(cost.weighted)


@pytest.mark.parametrize(
    ("session", "name", "study", "tokens"),
    [(chat(turns=40), name, *row) for name, row in CHAT.items()]
    + [(agentic(rounds=40), name, *row) for name, row in LOOP.items()],
    ids=[*CHAT, *(f"{name}-" for name in LOOP)],
)
def test_a_row_of_the_table(session, name, study, tokens):
    requests = requests_of(name, session)
    by_quarters = measured(requests, QUARTERS)
    assert by_quarters[0] == pytest.approx(study[0], rel=0.05)
    assert by_quarters[1] == pytest.approx(study[1], abs=0.02)
    assert by_quarters[2] == study[2]
    assert by_quarters[3] == pytest.approx(study[3], rel=0.05)
    assert measured(requests, encoder()) == tokens


def test_windows_are_dearer_than_everything_and_rare_deep_cuts_the_cheapest():
    """What the table shows, and a gate on raw tokens would have the wrong way round."""
    cost = {name: row[1][3] for name, row in LOOP.items()}
    windows = ("autogen/buffered-loop", "strands/per-call-loop", "agent_framework/sliding-loop")
    assert all(cost[name] > 2 * cost["none"] for name in windows)
    kept = {name: price for name, price in cost.items() if name != "langchain/trim-agentic"}
    assert min(kept, key=kept.get) == "haystack/sliding-agentic"  # that one keeps no task at all
    chat_cost = {name: row[1][3] for name, row in CHAT.items()}
    assert min(chat_cost, key=chat_cost.get) == "haystack/sliding-chat"
    assert chat_cost["autogen/buffered-inside-chat"] > 1.3 * chat_cost["none"]
