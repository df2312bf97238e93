"""What frameworks are known for, beyond the verdicts: read from the vectors, without them."""

from tests.policies.adapters.contracts import stored
from tests.policies.adapters.histories import agentic, chat


def requests(framework, case):
    return stored(framework)[case]["requests"]


def made(request):
    """Return the messages of a request that are not the history's."""
    return [message for message in request if isinstance(message, dict)]


def broken(framework):
    return {
        name: (case["expect"]["broken"], case["expect"]["calls"])
        for name, case in stored(framework).items()
        if case["expect"]["broken"]
    }


def test_autogen_token_limit_breaks_pairs():
    assert broken("autogen") == {
        "token-limited-chat": (37, 80),
        "token-limited-inside-chat": (73, 80),
        "token-limited-loop": (30, 41),
        "token-limited-inside-loop": (37, 41),
    }


def test_autogen_head_and_tail_says_how_much_is_missing_as_the_user():
    sent = requests("autogen", "head-and-tail-chat")[40]
    assert made(sent) == [{"role": "user", "content": "Skipped 69 messages."}]
    assert sent[:2] == [0, 1]
    assert len(sent) == 13


def test_openai_trimmer_shortens_six_of_eight_results_of_a_talk_and_none_of_a_loop():
    (sent,) = requests("openai_agents", "trimmer-chat")
    shortened = made(sent)
    before = [len(message["content"]) for message in chat() if message["role"] == "tool"]
    assert before == [1332] * 8
    assert [len(message["content"]) for message in shortened] == [260] * 6
    assert not any(made(sent) for sent in requests("openai_agents", "trimmer-loop"))


def test_openai_session_limit_orphans_results_only_without_a_runner():
    assert broken("openai_agents") == {
        "session-limit-by-hand-chat": (38, 80),
        "session-limit-by-hand-loop": (36, 41),
    }


def test_strands_pins_keep_the_task_that_the_window_drops():
    assert requests("strands", "per-call-loop")[-1][:2] == [0, 70]
    assert requests("strands", "per-call-pinned-loop")[-1][:2] == [0, 1]


def test_llama_index_buffer_leaves_one_orphan_of_a_loop():
    sent = requests("llama_index", "buffer-loop")
    assert sent[4] == list(range(10))
    assert sent[5:] == [[0, last] for last in range(11, 42, 2)]
    assert agentic(rounds=20)[41]["role"] == "tool"


def test_llama_index_memory_never_cuts_a_loop():
    sent = requests("llama_index", "memory-loop")
    assert [len(request) for request in sent] == list(range(2, 43, 2))


def test_google_adk_cuts_at_turns_and_so_never_a_loop():
    delayed = [len(request) for request in requests("google_adk", "keep-3-remove-5-chat")]
    assert delayed[:14] == list(range(2, 30, 2))
    assert delayed[14:] == [10, 12] * 33
    loop = requests("google_adk", "keep-3-loop")
    assert loop[-1] == list(range(82))


def test_agent_framework_rewrites_results_word_for_word():
    sent = requests("agent_framework", "tool-results-loop")[-1]
    old = [message["content"] for message in agentic(rounds=12) if message["role"] == "tool"][:10]
    summaries = made(sent)
    assert len(summaries) == 10
    assert all(text.strip() in each["content"] for text, each in zip(old, summaries, strict=True))
    assert all(len(each["content"]) > len(old[0]) for each in summaries)


def test_semantic_kernel_keeps_all_rounds_and_not_the_task():
    (sent,) = requests("semantic_kernel", "whole-loop")
    assert sent == [0, *range(2, 18)]  # 17 messages for a target of 10; message 1 is the task


def test_ag2_budget_lets_through_what_is_well_over_it():
    verdict = stored("ag2")["budget-loop"]["expect"]
    assert (verdict["over"], verdict["calls"], verdict["tokens"]) == (36, 41, 2556)


def test_ag2_classic_limit_swaps_two_messages():
    swapped = requests("ag2_classic", "limit-10-every-loop")[-1]
    assert swapped == [0, 73, 72, *range(74, 82)]
    loop = agentic(rounds=40)
    assert [loop[73]["role"], loop[72]["role"]] == ["tool", "assistant"]
