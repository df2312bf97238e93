"""Two transcripts for frameworks' policies, and the files whose framework is installed.

``chat`` is a talk of 40 turns with one tool round each: 80 calls. ``agentic`` is one task and 40
tool rounds: 41 calls. Most faults show in one of the two only. Both plant a rule in the system
message and a case number in the first user message.

Policies are told 1,500 tokens, or what comes near that; the promise is 2,000, because few of them
count tools. What a framework does wrong is an xfail that begins to fail once it is mended, and a
test that says how often: with the versions that each file names.
"""

import importlib.metadata
import itertools
import json
import os

import pytest

from pytest_ctxguard import Fact, Transcript

# file -> distribution, and how its version begins
NEEDS = {
    "test_ag2.py": ("ag2", "1."),
    "test_ag2_classic.py": ("ag2", "0."),
    "test_agent_framework.py": ("agent-framework-core", ""),
    "test_agentfit.py": ("agentfit-py", ""),
    "test_autogen.py": ("autogen-core", ""),
    "test_google_adk.py": ("google-adk", ""),
    "test_haystack.py": ("haystack-ai", ""),
    "test_inspect_ai.py": ("inspect-ai", ""),
    "test_langchain.py": ("langchain", ""),
    "test_langmem.py": ("langmem", ""),
    "test_litellm.py": ("litellm", ""),
    "test_llama_index.py": ("llama-index-core", ""),
    "test_openai_agents.py": ("openai-agents", ""),
    "test_pydantic_ai.py": ("pydantic-ai-harness", ""),
    "test_semantic_kernel.py": ("semantic-kernel", ""),
    "test_strands.py": ("strands-agents", ""),
}


def installed(distribution, begins):
    try:
        return importlib.metadata.version(distribution).startswith(begins)
    except importlib.metadata.PackageNotFoundError:
        return False


os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else importing it fetches one

collect_ignore = [name for name, needed in NEEDS.items() if not installed(*needed)]

SYSTEM = (
    "You help in a museum's store. Look things up before you answer, and say where you found "
    "them. House rule LOAN-31: nothing leaves the building without a second signature."
)
PLACES = ("the north gallery", "the print room", "the cold store", "the workshop", "the annexe")
SEASONS = ("the spring", "the summer", "the autumn", "the winter")
KEEPERS = ("the keeper of drawings", "the registrar", "two of the porters")
SHELVES = (
    "upper shelf", "lower shelf", "long table", "steel rack", "trolley by the door", "pallet",
    "plan chest",
)  # fmt: skip
FACTS = (
    Fact(
        name="rule",
        value="LOAN-31",
        kind="rule",
        planted_at=0,
        wordings=("Which house rule is about things that leave the building?",),
        shape=r"LOAN-\d+",
    ),
    Fact(
        name="case",
        value="CASE-7024",
        kind="identifier",
        planted_at=1,
        wordings=("What is the number of my case?",),
        shape=r"CASE-\d+",
    ),
)
TOOL = {
    "type": "function",
    "function": {
        "name": "find_object",
        "description": "Find an object by its number; returns its card.",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "integer"}},
            "required": ["number"],
        },
    },
}


def card(number):
    """Return an object's card, of 400 to 1,700 letters."""
    moves = [
        f"It was moved to {PLACES[(number + move) % 5]} in {SEASONS[number * move % 4]}, seen by "
        f"{KEEPERS[(number + move * move) % 3]}, and put on the {SHELVES[(number + move) % 7]}."
        for move in range(number_of_moves(number))
    ]
    return f"Object {number}. " + " ".join(moves)


def number_of_moves(number):
    return 4 + number * 7 % 13


def place(number):
    """Return where an object's card ends."""
    return PLACES[(number + number_of_moves(number) - 1) % 5]


def tool_round(number):
    function = {"name": "find_object", "arguments": json.dumps({"number": number})}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": card(number)},
    ]


def transcript(name, messages):
    return Transcript(name=name, messages=tuple(messages), tools=(TOOL,))


@pytest.fixture
def chat():
    """A talk of 40 turns: question, tool round, answer."""
    messages = [{"role": "system", "content": SYSTEM}]
    for number in range(100, 140):
        first = " I work on CASE-7024." if number == 100 else ""
        messages.append({"role": "user", "content": f"Where is object {number} now?{first}"})
        messages += tool_round(number)
        messages.append({"role": "assistant", "content": f"By its card, in {place(number)}."})
    return transcript("chat", messages)


@pytest.fixture
def agentic():
    """One task, and 40 tool rounds."""
    task = "For CASE-7024, check the cards of objects 100 to 139 and list those in the annexe."
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
    for number in range(100, 140):
        messages += tool_round(number)
    return transcript("agentic", messages)


@pytest.fixture
def facts():
    """What both have planted; for ``ctx_replay(…, facts=facts)``, which asks for them, too."""
    return FACTS


@pytest.fixture
def replayed(ctx_replay):
    """Replay a transcript under a policy, once more in a test that does so already."""
    numbers = itertools.count(1)

    def again(transcript, policy, **options):
        return ctx_replay(transcript, policy, name=f"replay {next(numbers)}", **options)

    return again
