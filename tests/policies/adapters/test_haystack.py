"""What Haystack's compactors do beyond the verdicts, and the adapter's own promises."""

import copy
from functools import partial
from itertools import pairwise

import pytest

from pytest_ctxguard.errors import FrameworkMissing, PolicyError, UsageError
from pytest_ctxguard.policies.adapters.haystack import haystack
from tests.policies.adapters.contracts import ask, stored
from tests.policies.adapters.histories import PIXEL, calls, chat

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def installed():
    """Skip where Haystack is missing."""
    pytest.importorskip("haystack.hooks.compaction", reason="nox -s adapters -- haystack")


def rewrites(requests):
    """Return how many requests do not start with the whole one before them."""
    kept = [[m for m in r if isinstance(m, int)] for r in requests]
    return sum(after[: len(before)] != before for before, after in pairwise(kept))


def test_with_the_hook_it_compacts_rarely_without_it_at_every_call():
    found = stored("haystack")
    assert rewrites(found["sliding-agentic"]["requests"]) == 17
    assert rewrites(found["compactor-alone-agentic"]["requests"]) == 36


def test_summaries_add_up_and_only_the_first_of_a_chat_is_made_from_the_fact():
    found = stored("haystack")
    shown = {
        name: [entry["fact_shown"] for entry in found[name]["summariser"]]
        for name in ("summarising-chat", "summarising-agentic")
    }
    assert shown == {
        "summarising-chat": [True, *[False] * 12],
        "summarising-agentic": [False] * 12,
    }
    for name, facts in shown.items():
        last = found[name]["requests"][-1]
        assert sum("<conversation_summary>" in str(message) for message in last) == len(facts)


def test_a_missing_framework_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "haystack.dataclasses", None)
    with pytest.raises(FrameworkMissing, match=r"pip install 'haystack-ai>=3\.4'"):
        haystack(lambda messages: messages)(chat())


@pytest.mark.usefixtures("installed")
class TestInstalled:
    def test_what_the_hook_leaves_in_the_state_stays_there(self):
        class Newest:
            def run(self, state):
                state.data["messages"] = state.data["messages"][-2:]

        requests = ask(haystack(Newest()), calls(chat(turns=2)))
        history = chat(turns=2)
        assert requests == [history[:2], history[2:4], history[4:6], history[6:8]]

    def test_a_copy_goes_its_own_way_and_another_history_is_refused(self):
        from haystack.hooks.compaction import CompactionHook, SlidingWindowCompactor

        made = haystack(lambda: CompactionHook(SlidingWindowCompactor(), context_window=1500))()
        *before, last = calls(chat())
        ask(lambda messages: made(messages), before)
        twin = copy.deepcopy(made)
        assert made(last) == twin(last)
        assert len(made(last)) < len(last)
        with pytest.raises(UsageError, match="does not go on from the last one"):
            made(chat(turns=1))

    def test_a_pruned_result_keeps_the_keys_haystack_has_no_place_for(self):
        from haystack.hooks.compaction import ToolResultPruningCompactor
        from haystack.token_counters import ApproximateTokenCounter

        history = chat(turns=2)
        history[3] |= {"is_error": True, "time": "2026-01-01"}
        compact = partial(
            ToolResultPruningCompactor(min_tokens=10).compact,
            target_tokens=10,
            token_counter=ApproximateTokenCounter(),
        )
        (sent,) = ask(haystack(compact), [history])
        assert len(sent[3]["content"]) < 200
        assert sent[3] == {**history[3], "content": sent[3]["content"]}
        assert sent[:3] == history[:3]

    def test_the_policy_sees_images_and_errors(self):
        seen = []
        part = {"type": "image_url", "image_url": {"url": PIXEL}}
        history = chat(turns=1)
        history[1]["content"] = [{"type": "text", "text": "look"}, part]
        history[3]["is_error"] = True
        ask(haystack(lambda messages: seen.extend(messages) or messages), [history])
        assert (seen[1].text, seen[1].image.mime_type) == ("look", "image/png")
        assert seen[3].tool_call_result.error
        assert seen[3].tool_call_result.origin.arguments == {"crate": 3000}

    @pytest.mark.parametrize("returned", ["text", 3, [3], [{"role": "user", "content": "x"}]])
    def test_what_is_no_message_of_haystacks_is_an_error(self, returned):
        with pytest.raises(PolicyError, match=r"adapt\.haystack"):
            haystack(lambda messages: returned)(chat())
