"""Bodies of the Responses API: requests, responses, streams."""

import pytest
from openai.types.responses import Response

from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.pairing import pair
from pytest_ctxguard.transcript.parts import opaque
from pytest_ctxguard.transcript.runs import Exchange, join
from pytest_ctxguard.transcript.wire.openai_responses import WIRE
from tests.factories import assistant, call, calling, result, system, tool, user

THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
FLAT = {"type": "function", **tool()["function"]}


def asked(*items, **fields):
    return WIRE.asked({"model": "gpt-5.5", "input": list(items), **fields})


def text(*texts, **fields):
    content = [{"type": "output_text", "text": t, "annotations": []} for t in texts]
    fields = {"id": "msg_1", "status": "completed", **fields}
    return {"type": "message", "role": "assistant", "content": content, **fields}


def function_call(call_id="c1", **fields):
    fields = {"id": f"fc_{call_id}", "status": "completed", **fields}
    return {
        "type": "function_call",
        "call_id": call_id,
        "name": "read_log",
        "arguments": "{}",
        **fields,
    }


def output(value, call_id="c1"):
    return {"type": "function_call_output", "call_id": call_id, "output": value}


def response(*items, **fields):
    """Return a body with every null the client adds."""
    body = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1778040805,
        "model": "gpt-5.5-2026-04-23",
        "status": "completed",
        "output": list(items),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        **fields,
    }
    return Response.model_validate(body).model_dump()


def test_a_request_of_text():
    request = WIRE.asked({"model": "m", "input": "a", "instructions": "Be short.", "store": False})
    assert request.messages == (system("Be short."), user("a"))
    assert (request.model, request.previous, request.settings) == ("m", None, {"store": False})


def test_a_request_of_items():
    said = {"role": "user", "content": [{"type": "input_text", "text": "a"}]}
    request = asked(
        {"role": "developer", "content": "Be short."},
        said,
        THOUGHT,
        text("Let me look."),
        function_call("c1"),
        function_call("c2"),
        output("ok", "c1"),
        output([{"type": "input_text", "text": "ok"}], "c2"),
        text("b"),
        {"type": "message", **said},
        tools=[FLAT],
        previous_response_id="resp_0",
        tool_choice="auto",
        stream=True,
    )
    round_ = calling(call("c1"), call("c2"), content="Let me look.")
    assert request.messages == (
        {"role": "developer", "content": "Be short."},
        user("a"),
        {**round_, "reasoning_items": [THOUGHT]},
        result("ok", "c1"),
        result("ok", "c2"),
        assistant("b"),
        user("a"),
    )
    assert request.tools == (tool(),)
    assert request.previous == "resp_0"
    assert request.settings == {"tool_choice": "auto"}


def test_an_answer_is_what_the_client_sends_back():
    thought = {**THOUGHT, "content": [], "status": None}
    told = response(thought, text("b"), function_call(), function_call("c2"))
    (message,) = WIRE.answer(told).messages
    assert message == asked(*told["output"]).messages[0]  # as the real client dumps it
    bare = {"type": "function_call", "name": "read_log", "arguments": "{}"}
    stripped = (
        THOUGHT,
        {"role": "assistant", "content": "b"},
        {**bare, "call_id": "c1"},
        {**bare, "call_id": "c2"},
    )
    assert message == asked(*stripped).messages[0]


def test_what_is_known_of_a_call():
    usage = {
        "input_tokens": 58,
        "input_tokens_details": {"cached_tokens": 32, "cache_write_tokens": 7},
        "output_tokens": 23,
        "output_tokens_details": {"reasoning_tokens": 9},
        "total_tokens": 81,
    }
    answer = WIRE.answer(response(text("b"), usage=usage))
    assert answer.id == "resp_1"
    assert answer.call == {
        "model": "gpt-5.5-2026-04-23",
        "prompt_tokens": 58,
        "cached_tokens": 32,
        "cache_written_tokens": 7,
        "completion_tokens": 23,
        "reasoning_tokens": 9,
        "finish_reason": "completed",
        "time": "2026-05-06T04:13:25+00:00",
        "item_ids": ["msg_1"],
    }
    cut = response(
        text("b", status="incomplete"),
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    )
    answer = WIRE.answer(cut)
    assert answer.call["finish_reason"] == "max_output_tokens"
    assert answer.messages == ({**assistant("b"), "status": "incomplete"},)


def test_what_the_provider_did_itself_is_opaque_and_in_place():
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}}
    listed = {"type": "mcp_list_tools", "id": "m", "server_label": "s", "tools": []}
    found = {"type": "tool_search_output", "execution": "server", "tools": []}
    served = {**found, "call_id": None}
    (message,) = asked(listed, search, text("b"), served, function_call()).messages
    assert message["content"] == [
        opaque("openai-responses/mcp_list_tools", listed),
        opaque("openai-responses/web_search_call", search),
        {"type": "text", "text": "b"},
        opaque("openai-responses/tool_search_output", found),
    ]
    assert message["tool_calls"] == [call()]


def test_every_kind_of_call_that_the_client_answers_is_a_tool_round():
    shot = {"type": "computer_screenshot", "image_url": "https://example.com/a.png"}
    rounds = [
        (
            {"type": "custom_tool_call", "call_id": "1", "name": "run", "input": "print(1)"},
            {"type": "custom_tool_call_output", "call_id": "1", "output": "1"},
            ("custom", "run", "print(1)", "1"),
        ),
        (
            {"type": "local_shell_call", "id": "l", "call_id": "2", "action": {"command": ["ls"]}},
            {"type": "local_shell_call_output", "id": "2", "output": "a"},
            ("local_shell_call", "local_shell", '{"action": {"command": ["ls"]}}', "a"),
        ),
        (
            {"type": "shell_call", "call_id": "3", "action": {"commands": ["ls"]}},
            {"type": "shell_call_output", "call_id": "3", "output": [{"stdout": "é"}]},
            ("shell_call", "shell", '{"action": {"commands": ["ls"]}}', '[{"stdout": "é"}]'),
        ),
        (
            {"type": "apply_patch_call", "call_id": "4", "operation": {"type": "delete_file"}},
            {"type": "apply_patch_call_output", "call_id": "4", "status": "failed"},
            ("apply_patch_call", "apply_patch", '{"operation": {"type": "delete_file"}}', None),
        ),
        (
            {"type": "computer_call", "call_id": "5", "action": {"type": "wait"}},
            {"type": "computer_call_output", "call_id": "5", "output": shot},
            (
                "computer_call",
                "computer",
                '{"action": {"type": "wait"}}',
                [{"type": "image_url", "image_url": {"url": shot["image_url"]}}],
            ),
        ),
    ]
    for called, answered, (kind, name, arguments, content) in rounds:
        asking, told = asked(called, answered).messages
        (only,) = asking["tool_calls"]
        assert only["type"] == kind
        assert only["function"] == {"name": name, "arguments": arguments}
        assert told["content"] == content
        assert pair((asking, told)).orphans == ()


def test_approvals_and_searches_of_the_client_are_tool_rounds():
    wanted = {"type": "mcp_approval_request", "id": "a", "name": "rm", "arguments": "{}"}
    given = {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True}
    search = {"type": "tool_search_call", "call_id": "s", "arguments": {"q": "x"}}
    found = {"type": "tool_search_output", "call_id": "s", "tools": []}
    messages = asked({**wanted, "server_label": "files"}, given, search, found).messages
    assert messages[0]["tool_calls"] == [
        {
            "id": "a",
            "type": "mcp_approval_request",
            "function": {"name": "rm", "arguments": "{}"},
            "server_label": "files",
        }
    ]
    assert messages[1]["content"] == [opaque("openai-responses/mcp_approval_response", given)]
    assert messages[2]["tool_calls"][0]["function"] == {
        "name": "tool_search",
        "arguments": '{"q": "x"}',
    }
    assert messages[3]["content"] == [opaque("openai-responses/tool_search_output", found)]
    assert pair(messages).orphans == ()


def test_images_files_and_audio():
    picture = {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "low"}
    stored = {"type": "input_image", "file_id": "file-1"}
    file = {"type": "input_file", "filename": "a.pdf", "file_data": "AA=="}
    audio = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "mp3"}}
    (message,) = asked(user([picture, stored, file, audio])).messages
    assert message["content"] == [
        {"type": "image_url", "image_url": {"url": picture["image_url"], "detail": "low"}},
        opaque("openai-responses/input_image", stored),
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "AA=="}},
        audio,
    ]


def test_refusals_annotations_and_phases():
    cited = {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}
    refused = {"type": "refusal", "refusal": "No."}
    (message,) = asked(
        text("a", phase="commentary"),
        {**text("b", phase="final_answer"), "id": "msg_2"},
        {"role": "assistant", "content": [refused, refused]},
        {
            "role": "assistant",
            "content": [{"type": "output_text", "text": "c", "annotations": [cited]}],
        },
        {"role": "assistant", "content": [refused]},
    ).messages
    assert message == {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "a"},
            {"type": "text", "text": "b", "phase": "final_answer"},
            {"type": "text", "text": "c"},
        ],
        "phase": "commentary",
        "refusal": "No.No.No.",
        "annotations": [cited],
    }


def test_a_message_without_content_is_kept():
    (message,) = asked({"role": "assistant", "content": None}).messages
    assert message == assistant(None)


def test_tools_have_names_whoever_runs_them():
    request = asked(
        user("a"),
        {"type": "additional_tools", "role": "developer", "tools": [{**FLAT, "name": "late"}]},
        tools=[
            FLAT,
            {"type": "web_search", "search_context_size": "low"},
            {"type": "mcp", "server_label": "files", "server_url": "u"},
            {"type": "custom", "name": "run", "description": "Run code."},
        ],
    )
    assert [t["function"]["name"] for t in request.tools] == [
        "read_log",
        "web_search",
        "files",
        "run",
        "late",
    ]
    assert request.tools[1] == {
        "type": "web_search",
        "function": {"name": "web_search", "search_context_size": "low"},
    }
    assert request.messages[1]["role"] == "developer"
    assert request.messages[1]["content"][0]["of"] == "openai-responses/additional_tools"


def test_a_compaction_in_an_answer_stands_for_what_was_before():
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}
    answer = WIRE.answer(response(item, text("b")))
    assert answer.compacted == ()
    kept = [opaque("openai-responses/compaction", item), {"type": "text", "text": "b"}]
    assert answer.messages == (assistant(kept),)
    (run,), _ = join(
        Document("a.jsonl", b""),
        [
            Exchange(asked=asked(user("a")), answer=answer),
            Exchange(asked=asked(user("a"), item, text("b"), user("c"))),
        ],
    )
    assert run.sent(run.calls[-1]) == (assistant(kept), user("c"))


def test_the_window_that_the_compaction_endpoint_returns():
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}
    answer = WIRE.answer({"id": "r", "object": "response.compaction", "output": [said, item]})
    assert answer.messages == ()
    kept = assistant([opaque("openai-responses/compaction", item)])
    assert answer.compacted == (user("a"), kept)


def test_history_that_the_provider_keeps():
    first = Exchange(
        asked=asked(user("a"), instructions="Be short."),
        answer=WIRE.answer(response(function_call())),
    )
    second = Exchange(
        asked=asked(output("ok"), instructions="Be short.", previous_response_id="resp_1"),
        answer=WIRE.answer(response(text("b"), id="resp_2")),
    )
    (run,), notes = join(Document("a.jsonl", b""), [first, second])
    assert run.messages == (
        system("Be short."),
        user("a"),
        calling(call()),
        result("ok"),
        assistant("b"),
    )
    assert notes == ()


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ({"error": {"message": "no"}}, "no"),
        ({"output": [], "status": "failed", "error": {"message": "no"}}, "no"),
        ({"output": [], "status": "queued"}, "the response has no output; its status is 'queued'"),
    ],
)
def test_what_is_no_answer_is_a_refusal(body, refusal):
    answer = WIRE.answer(body)
    assert (answer.refusal, answer.messages) == (refusal, ())


def done(item, index):
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def test_a_stream_ends_with_the_whole_response():
    whole = response(text("b"))
    events = [{"type": "response.created"}, {"type": "response.completed", "response": whole}]
    assert WIRE.assemble(events) == whole


def test_a_stream_whose_last_event_is_empty_is_filled_from_its_items():
    end = {"type": "response.incomplete", "response": {"status": "incomplete", "output": []}}
    body = WIRE.assemble([done(function_call(), 1), done(text("b"), 0), end])
    assert body["output"] == [text("b"), function_call()]
    assert body["status"] == "incomplete"


def test_a_stream_that_breaks_off():
    for events in ([], [{"type": "response.created"}, done(text("b"), 0)]):
        with pytest.raises(ValueError, match="breaks off after"):
            WIRE.assemble(events)
    with pytest.raises(ValueError, match="event 1 of the stream needs a `response`"):
        WIRE.assemble([{"type": "response.completed"}])


def test_an_error_in_a_stream_is_a_refusal():
    event = {"type": "error", "code": "server_error", "message": "x", "sequence_number": 3}
    assert WIRE.answer(WIRE.assemble([event])).refusal == "x"
    failed = response(status="failed", error={"code": "server_error", "message": "y"})
    body = WIRE.assemble([event, {"type": "response.failed", "response": failed}])
    assert WIRE.answer(body).refusal == "y"


@pytest.mark.parametrize(
    ("items", "what"),
    [
        ([5], r"`input\[0\]` must be an object"),
        ([{}], r"`input\[0\].type` must be text"),
        ([{"role": "tool", "content": "a"}], r"`input\[0\]` needs a `role`"),
        ([user(5)], r"`input\[0\].content` must be a list"),
        ([user([{}])], r"`input\[0\].content\[0\].type` must be text"),
        ([user([{"type": "input_text"}])], r"content\[0\].text` must be text"),
        ([user([{"type": "refusal"}])], r"content\[0\]` must be text"),
        ([{**user("a"), "refusal": {}}], r"`input\[0\].refusal` must be text"),
        ([{**user("a"), "annotations": 5}], r"`input\[0\].annotations` must be a list"),
        ([function_call(None)], r"`input\[0\].call_id` must be text"),
        ([function_call(name=5)], r"`input\[0\].name` must be text"),
        ([output("a", None)], r"`input\[0\].call_id` must be text"),
        ([output(None)], r"`input\[0\].output` must be text"),
        ([{"type": "additional_tools", "tools": [{}]}], r"`input\[0\].tools\[0\].name`"),
    ],
)
def test_a_broken_item_is_said(items, what):
    with pytest.raises(ValueError, match=what):
        asked(*items)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"input": 5}, "`input` must be a list"),
        ({"input": "a", "instructions": []}, "`instructions` must be text"),
        ({"input": "a", "previous_response_id": 5}, "`previous_response_id` must be text"),
    ],
)
def test_a_broken_request_is_said(body, what):
    with pytest.raises(ValueError, match=what):
        WIRE.asked(body)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({}, "neither `output` nor an `error`"),
        ({"output": {}}, "`output` must be a list"),
        ({"output": [text("a")], "status": 5}, "`status` must be text"),
        ({"output": [text("a")], "usage": {"input_tokens": -1}}, "`usage.input_tokens` must be"),
    ],
)
def test_a_broken_response_is_said(body, what):
    with pytest.raises(ValueError, match=what):
        WIRE.answer(body)


def test_what_it_takes():
    assert WIRE.takes("/v1/responses", {})
    assert WIRE.takes("/v1/responses/compact", {})
    assert not WIRE.takes("/v1/chat/completions", {"model": "m", "input": [user("a")]})
    assert WIRE.takes("", {"model": "m", "input": [user("a")]})
    assert WIRE.takes("", {"model": "m", "input": "a", "store": False})
    embedding, chat = {"model": "m", "input": "a"}, {"model": "m", "messages": [user("a")]}
    assert not WIRE.takes("", embedding)
    assert not WIRE.takes("", chat)
    assert not WIRE.takes("", {"model": "m", "input": ["a"]})
