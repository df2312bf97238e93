"""Gemini's contents: what the real client recorded, and what it writes when it is asked more."""

from pathlib import Path

import pytest

from pytest_ctxguard.transcript.document import open_document
from pytest_ctxguard.transcript.pairing import pair
from pytest_ctxguard.transcript.readers.cassette import READER
from pytest_ctxguard.transcript.shape import is_tool, wrong_with_message
from pytest_ctxguard.transcript.wire.gemini import WIRE
from tests.factories import assistant, user

CASSETTES = Path(__file__).parents[3] / "fixtures" / "cassettes"
GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
SHARD = "It is pay-shard-7: 「接続待ち」 three times."


def contents(*items, **fields):
    return {"contents": list(items), **fields}


def content(*parts, role="user"):
    return {"role": role, "parts": list(parts)}


def calls(*named, **fields):
    return content(
        *({"functionCall": {"name": name, "args": args, **fields}} for name, args in named),
        role="model",
    )


def response(*parts, finish="STOP", **fields):
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}
    return {"candidates": [{**candidate, "index": 0}], **fields}


def function_response(name, value, **fields):
    return {"functionResponse": {"name": name, "response": value, **fields}}


def test_what_the_real_client_recorded():
    reading = READER.read(open_document(CASSETTES / "gemini.yaml"))
    [run] = reading.runs
    assert reading.notes == ()
    roles = "system user assistant tool tool assistant user assistant user assistant"
    assert [m["role"] for m in run.messages] == roles.split()
    assert all(wrong_with_message(message) is None for message in run.messages)
    first, second = run.messages[2]["tool_calls"]
    assert first["function"]["arguments"] == '{"service": "payments-api"}'
    assert first["id"] != second["id"]
    assert run.messages[2]["content"] == "I look at both services."
    pairing = pair(run.messages)
    assert pairing.answered == {(2, 0): 3, (2, 1): 4}
    assert (pairing.unanswered, pairing.orphans) == ((), ())
    assert run.messages[4]["name"] == "get_metrics"
    assert "接続待ち" in run.messages[4]["content"]
    [tool] = run.tools
    assert is_tool(tool)
    assert tool["function"]["description"] == "Return the latency and error rate of a service."
    assert run.recorded[7]["cached_tokens"] == 128
    assert run.recorded[7]["prompt_tokens"] == 230
    assert run.recorded[7]["completion_tokens"] == 40
    assert run.recorded[7]["reasoning_tokens"] == 16
    assert {known["model"] for known in run.recorded.values()} == {"gemini-2.5-flash"}


def test_a_streamed_answer_sent_back_in_pieces_is_one_answer():
    [run] = READER.read(open_document(CASSETTES / "gemini.yaml")).runs
    answer = run.messages[7]
    assert "".join(part["text"] for part in answer["content"]) == SHARD
    assert answer["reasoning_content"] == "The shard is in the log."
    assert answer["content"][-1]["extra_content"] == {
        "google": {"thought_signature": "bWFkZSB1cA=="}
    }


def test_a_stream_that_came_as_an_array():
    [run] = READER.read(open_document(CASSETTES / "gemini-array.yaml")).runs
    assert "".join(part["text"] for part in run.messages[1]["content"]) == SHARD


def test_calls_of_one_name_are_answered_in_order():
    asked = WIRE.asked(
        contents(
            content({"text": "Why?"}),
            calls(("log", {"s": 1}), ("log", {"s": 2}), ("log", {"s": 1})),
            content(*(function_response("log", {"n": n}) for n in (1, 2, 3))),
        )
    )
    ids = [call["id"] for call in asked.messages[1]["tool_calls"]]
    assert len(set(ids)) == 3
    assert [m["tool_call_id"] for m in asked.messages[2:]] == ids
    assert [m["content"] for m in asked.messages[2:]] == ['{"n": 1}', '{"n": 2}', '{"n": 3}']


def test_made_ids_stay_the_same_as_the_history_grows_and_in_the_answer():
    first = calls(("log", {"s": 1}))
    more = [content(function_response("log", {})), content({"text": "b"}), calls(("log", {"s": 2}))]
    short = WIRE.asked(contents(content({"text": "a"}), first))
    long = WIRE.asked(contents(content({"text": "a"}), first, *more))
    assert long.messages[:2] == short.messages
    [answered] = WIRE.answer(response(*more[-1]["parts"])).messages
    assert answered == long.messages[-1]


def test_ids_of_the_provider_pair_out_of_order():
    model = content(
        {"functionCall": {"id": "a", "name": "log", "args": {}}},
        {"functionCall": {"id": "b", "name": "log", "args": {}}},
        role="model",
    )
    results = [function_response("log", {"n": i}, id=i) for i in ("b", "a")]
    asked = WIRE.asked(contents(content({"text": "q"}), model, content(*results, {"text": "and"})))
    assert [m.get("tool_call_id") for m in asked.messages[2:]] == ["b", "a", None]
    assert asked.messages[-1] == user("and")


@pytest.mark.parametrize("fields", [{}, {"id": "x"}])
def test_a_result_that_no_call_asked_for_is_an_orphan(fields):
    result = content(function_response("log", {}, **fields))
    messages = WIRE.asked(contents(calls(("read", {})), result)).messages
    assert pair(messages).orphans == (1,)
    assert pair(messages).unanswered == ((0, 0),)


def test_snake_case_is_read_alike():
    camel = contents(
        content({"inlineData": {"mimeType": "image/gif", "data": GIF}}),
        calls(("log", {})),
        content(function_response("log", {})),
        systemInstruction={"parts": [{"text": "Run payments."}]},
        tools=[{"functionDeclarations": [{"name": "log"}]}],
    )
    snake = contents(
        content({"inline_data": {"mime_type": "image/gif", "data": GIF}}),
        content({"function_call": {"name": "log", "args": {}}}, role="model"),
        content({"function_response": {"name": "log", "response": {}}}),
        system_instruction={"parts": {"text": "Run payments."}},
        tools=[{"function_declarations": [{"name": "log"}]}],
    )
    assert WIRE.asked(camel) == WIRE.asked(snake)
    system, picture, *_ = WIRE.asked(camel).messages
    assert system == {"role": "system", "content": "Run payments."}
    [part] = picture["content"]
    assert part["size"] == {"bytes": 42, "width": 1, "height": 1}


def test_media_and_what_has_no_part():
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    items = [
        {"inlineData": {"mimeType": "audio/wav", "data": "YQ=="}},
        {"inlineData": {"mimeType": "application/pdf", "data": "YQ==", "displayName": "a.pdf"}},
        {"inlineData": {"mimeType": "video/mp4", "data": "YQ=="}},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://a/b.png"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://a/b.mp4"}},
        code,
    ]
    [message] = WIRE.asked(contents(content(*items))).messages
    audio, file, video, picture, far, opaque = message["content"]
    assert audio == {"type": "input_audio", "input_audio": {"data": "YQ==", "format": "wav"}}
    assert file["file"] == {"file_data": "data:application/pdf;base64,YQ=="}
    assert file["displayName"] == "a.pdf"
    assert picture == {"type": "image_url", "image_url": {"url": "https://a/b.png"}}
    assert [part["of"] for part in (video, far, opaque)] == [
        "gemini/inlineData",
        "gemini/fileData",
        "gemini/executableCode",
    ]
    assert opaque["data"] == code


def test_a_signature_stands_by_its_call():
    part = {"functionCall": {"name": "log", "args": {}}, "thoughtSignature": "c2ln"}
    thought = {"text": "Hm.", "thought": True, "thoughtSignature": "dGg="}
    [message] = WIRE.answer(response(thought, part)).messages
    [call] = message["tool_calls"]
    assert call["extra_content"] == {"google": {"thought_signature": "c2ln"}}
    assert (message["content"], message["reasoning_content"]) == (None, "Hm.")
    assert message["thinking_blocks"] == [thought]


def test_tools_of_google_are_kept_whole():
    schema = {"type": "OBJECT", "properties": {"q": {"type": "STRING"}}}
    json_schema = {"type": "object"}
    declared = [
        {"name": "a", "description": "A.", "parameters": schema, "behavior": "BLOCKING"},
        {"name": "b", "parametersJsonSchema": json_schema},
    ]
    tools = [{"functionDeclarations": declared}, {"googleSearch": {}, "codeExecution": None}]
    first, second, search = WIRE.asked(contents(tools=tools)).tools
    assert first["function"] == {"name": "a", "description": "A.", "parameters": schema}
    assert first["behavior"] == "BLOCKING"
    assert second["function"] == {"name": "b", "parameters": json_schema}
    assert search["function"] == {"name": "googleSearch"}
    assert search["gemini"] == {"googleSearch": {}}


def test_settings_and_model():
    body = contents(model="models/gemini-2.5-pro", generationConfig={"temperature": 0})
    asked = WIRE.asked(body)
    assert (asked.model, asked.settings) == (
        "gemini-2.5-pro",
        {"generationConfig": {"temperature": 0}},
    )
    assert WIRE.asked(contents(systemInstruction="Run.")).messages[0]["content"] == "Run."


def test_usage_that_is_not_known_has_no_key():
    assert WIRE.answer(response({"text": "a"})).call == {"finish_reason": "STOP"}
    usage = {"promptTokenCount": 5, "thoughtsTokenCount": 9}
    call = WIRE.answer(response(finish="MAX_TOKENS", usageMetadata=usage)).call
    assert (call["completion_tokens"], call["reasoning_tokens"]) == (9, 9)


def test_further_candidates_are_kept_with_the_call():
    body = response({"text": "a"})
    other = {"content": content({"text": "b"}, role="model"), "finishReason": "STOP", "index": 1}
    body["candidates"].append(other)
    answer = WIRE.answer(body)
    assert answer.messages == (assistant("a"),)
    assert answer.call["other_candidates"] == [other]


def test_refusals():
    error = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Slow down."}}
    assert WIRE.answer(error).refusal == "RESOURCE_EXHAUSTED: Slow down."
    assert WIRE.answer(WIRE.assemble([response({"text": "a"}, finish=None), error])).refusal
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    assert WIRE.answer(blocked).refusal == "the prompt was blocked: SAFETY"
    assert WIRE.answer(WIRE.assemble([blocked])).refusal == "the prompt was blocked: SAFETY"


def test_a_stream_is_put_together():
    chunks = [
        response({"text": "Hm", "thought": True}, finish=None, responseId="r1"),
        response({"text": ".", "thought": True}, finish=None),
        response({"text": "It is "}, finish=None, usageMetadata={"promptTokenCount": 5}),
        response({"text": "slow."}, {"functionCall": {"name": "log"}}, finish=None),
        response(finish="STOP", usageMetadata={"promptTokenCount": 5, "candidatesTokenCount": 4}),
    ]
    answer = WIRE.answer(WIRE.assemble(chunks))
    [message] = answer.messages
    assert (message["content"], message["reasoning_content"]) == ("It is slow.", "Hm.")
    assert [call["function"]["arguments"] for call in message["tool_calls"]] == ["{}"]
    assert (answer.id, answer.call["completion_tokens"]) == ("r1", 4)
    with pytest.raises(ValueError, match="breaks off after 4 chunks"):
        WIRE.assemble(chunks[:-1])
    with pytest.raises(ValueError, match="breaks off after 0 chunks"):
        WIRE.assemble([])


@pytest.mark.parametrize(
    ("path", "body", "taken"),
    [
        ("/v1beta/models/g:generateContent", contents(), True),
        ("/v1beta/models/g:streamGenerateContent?alt=sse", contents(), True),
        ("/v1beta/models/g:countTokens", contents(content()), False),
        ("/v1beta/cachedContents", contents(content()), False),
        ("", contents(content()), True),
        ("", contents("a"), False),
        ("", {"contents": {}}, False),
        ("/v1/chat/completions", {"messages": []}, False),
    ],
)
def test_what_is_taken(path, body, taken):
    assert WIRE.takes(path, body) is taken


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({}, "`contents` is missing"),
        (contents({"role": "assistant", "parts": []}), r"`contents\[0\].role` is 'assistant'"),
        (contents({"role": ["user"], "parts": []}), r"role` is \["),
        (contents({"parts": {}}), r"`contents\[0\].parts` must be a list"),
        (contents(content({"functionResponse": 1})), "functionResponse` must be an object"),
        (contents(content({"functionResponse": {}})), "functionResponse.name` is missing"),
        (contents(content({"inlineData": 1})), "inlineData` must be an object"),
        (contents(content({"inlineData": {"mimeType": "image/png"}})), "data` is missing"),
        (contents(content({"functionCall": 1}, role="model")), "functionCall` must be an object"),
        (contents(calls(("a", {}), partialArgs=[{}])), "in pieces"),
        (contents(tools={}, systemInstruction={}), "`systemInstruction.parts` is missing"),
        (contents(tools={"a": 1}), "`tools` must be a list"),
        (contents(tools=[{"functionDeclarations": [{}]}]), "name` is missing"),
    ],
)
def test_what_is_wrong_with_a_request_is_said(body, what):
    with pytest.raises(ValueError, match=what):
        WIRE.asked(body)


def test_a_body_that_is_no_answer():
    with pytest.raises(ValueError, match="`candidates` is missing"):
        WIRE.answer({"totalTokens": 5})
