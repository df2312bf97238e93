"""What the adapters of whole frameworks refuse, and that their replays can ask probes."""

import sys
from types import SimpleNamespace

import pytest

from pytest_ctxguard.errors import FrameworkMissing, PolicyError, UsageError
from pytest_ctxguard.policies.adapters.ag2 import ag2, ag2_compact
from pytest_ctxguard.policies.adapters.agent_framework import agent_framework
from pytest_ctxguard.policies.adapters.autogen import autogen
from pytest_ctxguard.policies.adapters.google_adk import google_adk
from pytest_ctxguard.policies.adapters.llama_index import llama_index
from pytest_ctxguard.policies.adapters.openai_agents import openai_agents, openai_session
from pytest_ctxguard.policies.adapters.semantic_kernel import semantic_kernel
from pytest_ctxguard.policies.adapters.strands import strands
from pytest_ctxguard.policies.protocol import policy_name
from pytest_ctxguard.replay.run import Plan, run
from tests.factories import session
from tests.policies.adapters.contracts import ask, framework
from tests.policies.adapters.histories import agentic, chat

pytestmark = pytest.mark.filterwarnings("default")

ADAPTED = {
    "autogen": (lambda: autogen(object), "autogen_core", "autogen-core"),
    "openai_agents": (lambda: openai_agents(len), "agents.run", "openai-agents"),
    "openai_session": (lambda: openai_session(object), "agents", "openai-agents"),
    "strands": (lambda: strands(object), "strands.hooks", "strands-agents"),
    "llama_index": (
        lambda: llama_index(object),
        "llama_index.core.base.llms.types",
        "llama-index-core",
    ),
    "google_adk": (lambda: google_adk(object()), "google.genai.types", "google-genai"),
    "agent_framework": (
        lambda: agent_framework(object),
        "agent_framework",
        "agent-framework-core",
    ),
    "semantic_kernel": (
        lambda: semantic_kernel(object),
        "semantic_kernel.contents",
        "semantic-kernel",
    ),
    "ag2": (lambda: ag2(object()), "ag2.events", "ag2"),
    "ag2_compact": (lambda: ag2_compact(object, trigger=None), "ag2.events", "ag2"),
}
FACTORIES = (autogen, openai_session, strands, llama_index, agent_framework, semantic_kernel)


@pytest.mark.parametrize("name", ADAPTED)
def test_a_missing_framework_is_named_with_its_remedy(name, monkeypatch):
    make, module, distribution = ADAPTED[name]
    monkeypatch.setitem(sys.modules, module, None)
    (error,) = ask(make(), [chat(turns=1)])
    assert isinstance(error, FrameworkMissing)
    adapter = name if name != "ag2_compact" else "ag2"
    assert str(error).startswith(f"adapt.{adapter} needs {distribution}")
    assert f"Remedy: pip install '{distribution}>=" in str(error)
    assert isinstance(error.__cause__, ImportError)


@pytest.mark.parametrize("name", ADAPTED)
def test_reports_name_the_adapter(name):
    assert policy_name(ADAPTED[name][0]()) == f"adapt.{name}"


@pytest.mark.parametrize("adapter", FACTORIES)
def test_an_object_instead_of_a_factory_is_an_error_that_says_how(adapter):
    with pytest.raises(UsageError, match=r"takes a factory.*Remedy: adapt\.\w+\(lambda:"):
        adapter(SimpleNamespace())


def strange_context():
    async def get_messages():
        return [3]

    async def add_message(message):
        pass

    return SimpleNamespace(add_message=add_message, get_messages=get_messages)


def strange_memory():
    async def aget():
        return [3]

    async def aput_messages(messages):
        pass

    return SimpleNamespace(aput_messages=aput_messages, aget=aget)


def strange_history():
    async def reduce():
        return None

    async def add_message_async(message):
        pass

    return SimpleNamespace(messages=[3], reduce=reduce, add_message_async=add_message_async)


def strange_manager():
    def register_hooks(registry):
        pass

    def apply_management(agent):
        agent.messages[:] = [3]

    return SimpleNamespace(register_hooks=register_hooks, apply_management=apply_management)


async def strange_strategy(messages):
    messages[:] = [SimpleNamespace(additional_properties={})]
    return False


async def strange_callback(*, callback_context, llm_request):
    object.__setattr__(llm_request, "contents", [3])


async def answering_callback(*, callback_context, llm_request):
    return "no"


async def strange_apply(prompts, events, context):
    return prompts, [3]


def strange_filter(data):
    data.model_data.input = [3]
    return data.model_data


STRANGE = {
    "autogen": lambda: autogen(strange_context),
    "openai_agents": lambda: openai_agents(strange_filter),
    "strands": lambda: strands(strange_manager),
    "llama_index": lambda: llama_index(strange_memory),
    "google_adk": lambda: google_adk(SimpleNamespace(before_model_callback=strange_callback)),
    "agent_framework": lambda: agent_framework(lambda: strange_strategy),
    "semantic_kernel": lambda: semantic_kernel(strange_history),
    "ag2": lambda: ag2(SimpleNamespace(apply=strange_apply)),
}


def installed(name):
    chosen = framework(name)
    if chosen.versions() is None:
        pytest.skip(f"{', '.join(chosen.packages)} not installed; nox -s adapters -- {name}")
    return chosen


@pytest.mark.parametrize("name", STRANGE)
def test_a_message_of_no_known_kind_names_the_adapter_and_the_type(name):
    installed(name)
    errors = ask(STRANGE[name](), [chat(turns=1)[:2], chat(turns=2)[:6]])
    refused = [str(error) for error in errors if isinstance(error, PolicyError)]
    assert refused, errors
    assert refused[0].startswith(f"adapt.{name} cannot read a ")


def test_a_plugin_that_answers_for_the_model_is_no_policy():
    installed("google_adk")
    plugin = SimpleNamespace(before_model_callback=answering_callback)
    (error,) = ask(google_adk(plugin), [agentic(rounds=1)])
    assert isinstance(error, PolicyError)
    assert "answered in the model's place" in str(error)


@pytest.mark.parametrize("name", STRANGE)
def test_replays_and_their_probes_are_those_of_the_recorded_calls(name):
    chosen = installed(name)
    transcript = session()
    histories = [list(transcript.messages[: call.history]) for call in transcript.calls]
    counter = SimpleNamespace(count=lambda messages, tools=(): len(messages))
    for make in chosen.round_trips.values():
        replay = run(Plan(transcript=transcript, policy=make(), counter=counter))
        assert [list(step.request.messages) for step in replay.steps] == histories
        for fact in transcript.facts:
            for wording, request in zip(fact.wordings, replay.probes[fact.name], strict=True):
                assert request.messages[-1]["content"] == wording
                assert list(request.messages[:-1]) == list(transcript.messages[: fact.asked_at])
