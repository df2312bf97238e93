"""OpenTelemetry exports: values, ids, parts, joining, capture that was off, older conventions."""

import base64
import json
from collections import Counter

import pytest
from export_files import EXPORTS, document, read, refused, survives

from pytest_ctxguard.transcript.document import open_document
from pytest_ctxguard.transcript.parts import opaque_parts
from pytest_ctxguard.transcript.readers.otlp import READER

TRACE, SECOND = "0af7651916cd43dd8448eb211c80319c", 1_000_000_000
START = 1_700_000_000 * SECOND


def any_value(value):
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": keyed(value)}}
    return {"stringValue": value}


def keyed(values):
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def span(number=0, operation="chat", **more):
    given = {"gen_ai.operation.name": operation, **more.pop("attributes", {})}
    return {
        "traceId": TRACE,
        "spanId": f"{number + 1:016x}",
        "name": f"{operation} m-1",
        "startTimeUnixNano": str(START + number * SECOND),
        "endTimeUnixNano": str(START + number * SECOND + SECOND // 2),
        "attributes": keyed(given),
        **more,
    }


def export(*spans, signal="resourceSpans", inner="scopeSpans", leaf="spans"):
    resource = {"attributes": keyed({"service.name": "agent"})}
    return {signal: [{"resource": resource, inner: [{"scope": {}, leaf: list(spans)}]}]}


def said(role, text):
    return {"role": role, "parts": [{"type": "text", "content": text}]}


ASKED = [said("user", "Find 1.")]
CALLING = {
    "role": "assistant",
    "parts": [
        {"type": "reasoning", "content": "Look."},
        {"type": "tool_call", "id": "c1", "name": "find", "arguments": {"id": 1}},
    ],
}
RESULT = {
    "role": "tool",
    "parts": [{"type": "tool_call_response", "id": "c1", "response": "found"}],
}
TOOL = {
    "type": "function",
    "name": "find",
    "description": "Finds.",
    "parameters": {"type": "object"},
}
FIRST = {
    "gen_ai.request.model": "m-1",
    "gen_ai.request.temperature": 0.5,
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
    "gen_ai.input.messages": json.dumps(ASKED),
    "gen_ai.output.messages": json.dumps([{**CALLING, "finish_reason": "tool_call"}]),
    "gen_ai.tool.definitions": json.dumps([TOOL]),
    "gen_ai.usage.input_tokens": 30,
    "gen_ai.usage.output_tokens": 4,
    "gen_ai.usage.cache_read.input_tokens": 16,
    "gen_ai.response.model": "m-1-2026",
    "gen_ai.response.id": "r1",
    "server.address": "127.0.0.1",
}
SECOND_CALL = {
    **FIRST,
    "gen_ai.input.messages": json.dumps([*ASKED, CALLING, RESULT]),
    "gen_ai.output.messages": json.dumps([said("assistant", "Found.")]),
    "gen_ai.response.finish_reasons": ["stop"],
}
SESSION = export(
    span(1, attributes=SECOND_CALL),
    span(2, "execute_tool"),
    span(3, "invoke_agent"),
    span(0, attributes=FIRST),
)


def test_calls_are_joined_in_order_of_time():
    reading = read(READER, SESSION)
    (run,) = reading.runs
    assert run.messages == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Find 1."},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "Look.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "find", "arguments": '{"id": 1}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "assistant", "content": "Found."},
    )
    definition = {key: value for key, value in TOOL.items() if key != "type"}
    assert run.tools == ({"type": "function", "function": definition},)
    assert run.provenance == {"service": "agent"}
    assert reading.notes == ()
    assert reading.passed_over == {
        **{"span execute_tool": 1, "span invoke_agent": 1},
        "attribute server.address": 2,
    }


def test_facts_of_the_calls():
    first, second = read(READER, SESSION).runs[0].calls
    assert first.recorded == {
        **{"model": "m-1-2026", "temperature": 0.5, "prompt_tokens": 30, "completion_tokens": 4},
        **{"cached_tokens": 16, "finish_reason": "tool_call", "duration_seconds": 0.5},
        "response_id": "r1",
        **{"time": "2023-11-14T22:13:20+00:00", "trace_id": TRACE, "span_id": f"{1:016x}"},
        "exchange": 1,
    }
    assert (second.recorded["finish_reason"], second.recorded["exchange"]) == ("stop", 2)


def test_structured_values_rows_and_protobufs_own_json_read_the_same():
    expected = read(READER, SESSION).runs[0]

    def structured(attributes):
        names = ("messages", "instructions", "definitions")
        return {k: json.loads(v) if k.endswith(names) else v for k, v in attributes.items()}

    rows = [span(0, attributes=structured(FIRST)), span(1, attributes=structured(SECOND_CALL))]
    for row in rows:
        row["traceId"] = base64.b64encode(bytes.fromhex(row["traceId"])).decode()
        row["spanId"] = base64.b64encode(bytes.fromhex(row["spanId"])).decode()
    text = "\n".join(json.dumps(export(row)) for row in rows).encode()
    run = read(READER, text, "a.jsonl").runs[0]
    assert run.messages == expected.messages
    assert run.tools == expected.tools
    assert [c.recorded for c in run.calls] == [c.recorded for c in expected.calls]


def test_a_conversation_is_a_run_of_its_own():
    one = {**FIRST, "gen_ai.conversation.id": "one"}
    two = {**SECOND_CALL, "gen_ai.conversation.id": "two"}
    reading = read(READER, export(span(0, attributes=one), span(1, attributes=two)))
    assert [run.provenance["conversation_id"] for run in reading.runs] == ["one", "two"]


def test_two_libraries_that_tell_of_one_call_tell_it_once():
    outer = span(0, attributes=FIRST)
    inner = span(1, attributes=FIRST, parentSpanId=outer["spanId"])
    reading = read(READER, export(inner, outer))
    assert len(reading.runs) == 1
    assert reading.passed_over["span that tells of the same call as the span around it"] == 1
    other = span(1, attributes=SECOND_CALL, parentSpanId=outer["spanId"])
    assert len(read(READER, export(other, outer)).runs[0].messages) == 5


def parts_of(*given, role="user"):
    attributes = {"gen_ai.input.messages": json.dumps([{"role": role, "parts": list(given)}])}
    (run,) = read(READER, export(span(attributes=attributes))).runs
    return run.messages


def test_parts_that_are_no_text():
    blob = {"type": "blob", "modality": "image", "mime_type": "image/gif"}
    (message,) = parts_of(
        {**blob, "content": "R0lGODdhAgABAA=="},
        {"type": "uri", "modality": "image", "uri": "https://a/b.png"},
        {"type": "blob", "modality": "audio", "mime_type": "audio/wav", "content": "AAAA"},
        {"type": "blob", "modality": "document", "mime_type": "application/pdf", "content": "AA=="},
        {"type": "file", "modality": "document", "file_id": "f1"},
        {"type": "server_tool_call", "name": "search", "server_tool_call": {"type": "x"}},
    )
    gif, url, audio, pdf, file, server = message["content"]
    assert gif["size"] == {"bytes": 10, "width": 2, "height": 1}
    assert url["image_url"] == {"url": "https://a/b.png"}
    assert audio["input_audio"] == {"data": "AAAA", "format": "wav"}
    assert pdf["file"] == {"file_data": "data:application/pdf;base64,AA=="}
    assert file["file"] == {"file_id": "f1"}
    assert server["of"] == "opentelemetry/server_tool_call"
    assert len(list(opaque_parts([message]))) == 1


def test_results_beside_text_come_first():
    result = {"type": "tool_call_response", "id": "c1", "result": {"n": 1}}
    messages = parts_of(result, {"type": "text", "content": "And more."})
    assert messages == (
        {"role": "tool", "tool_call_id": "c1", "content": '{"n": 1}'},
        {"role": "user", "content": "And more."},
    )
    assert len(parts_of(result, result, role="tool")) == 2


def test_a_refused_call_is_noted():
    attributes = {**FIRST, "error.type": "RateLimitError"}
    del attributes["gen_ai.output.messages"]
    failed = span(attributes=attributes, status={"code": 2, "message": "slow down"})
    reading = read(READER, export(failed))
    assert reading.notes[0].what == "exchange 1 was refused: RateLimitError: slow down"


def test_calls_without_their_messages_among_others_are_noted():
    reading = read(READER, export(span(0, attributes=FIRST), span(1)))
    assert reading.passed_over["model call without its messages"] == 1
    assert reading.notes[0].what.startswith("1 of 2 model calls are recorded without")


def test_further_choices_are_counted():
    choices = [said("assistant", "a"), said("assistant", "b")]
    attributes = {**FIRST, "gen_ai.output.messages": json.dumps(choices)}
    reading = read(READER, export(span(attributes=attributes)))
    assert reading.runs[0].messages[-1]["content"] == "a"
    assert reading.passed_over["further choice of an answer"] == 1


def record(number, event, **more):
    attributes = keyed(more.pop("attributes", {}))
    return {
        "traceId": TRACE,
        "spanId": f"{number + 1:016x}",
        "eventName": event,
        "timeUnixNano": str(START),
        "attributes": attributes,
        **more,
    }


def logs(*records):
    return export(*records, signal="resourceLogs", inner="scopeLogs", leaf="logRecords")


def test_messages_in_the_event_of_the_details():
    event = "gen_ai.client.inference.operation.details"
    chat = {**FIRST, "gen_ai.operation.name": "chat"}
    both = {**export(span(0)), **logs(record(0, event, attributes=chat), record(0, "other"))}
    for value in (both, logs(record(0, event, attributes=chat))):
        (run,) = read(READER, value).runs
        assert [m["role"] for m in run.messages] == ["system", "user", "assistant"]
    assert read(READER, both).passed_over["log other"] == 1


def test_numbered_attributes():
    old = {
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be brief.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": '[{"type": "text", "text": "Find 1."}]',
        "gen_ai.prompt.2.role": "assistant",
        "gen_ai.prompt.2.tool_calls.0.id": "c1",
        "gen_ai.prompt.2.tool_calls.0.name": "find",
        "gen_ai.prompt.2.tool_calls.0.arguments": '{"id":1}',
        "gen_ai.prompt.3.role": "tool",
        "gen_ai.prompt.3.content": '[{"type": "row"}]',
        "gen_ai.prompt.3.tool_call_id": "c1",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "Found.",
        "gen_ai.completion.0.finish_reason": "stop",
        "llm.request.functions.0.name": "find",
        "llm.request.functions.0.parameters": '{"type": "object"}',
        "llm.request.type": "chat",
        "gen_ai.usage.prompt_tokens": 9,
    }
    chat = span(attributes=old)
    chat["attributes"] = [a for a in chat["attributes"] if a["key"] != "gen_ai.operation.name"]
    (run,) = read(READER, export(chat)).runs
    function = {"name": "find", "arguments": '{"id":1}'}
    assert run.messages == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Find 1."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": '[{"type": "row"}]', "tool_call_id": "c1"},
        {"role": "assistant", "content": "Found."},
    )
    assert run.tools[0]["function"] == {"name": "find", "parameters": {"type": "object"}}
    assert run.calls[1].recorded["prompt_tokens"] == 9
    assert run.calls[1].recorded["finish_reason"] == "stop"


def attribute(key, value):
    return export(span(attributes={**FIRST, key: value}))


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (export(span()), "model calls: 1, recorded without their messages: capture was off"),
        (export(span(operation="embeddings")), "it has: span embeddings"),
        ({"resourceSpans": []}, "it has: nothing"),
        ({"resourceSpans": 3}, "`resourceSpans` must be a list"),
        ({"resourceSpans": [{"scopeSpans": [3]}]}, "scopeSpans[0]` must be an object"),
        (export(span(events=[{"name": "gen_ai.choice"}])), "as the GenAI conventions had them up"),
        ({**export(span()), **logs(record(0, "gen_ai.user.message"))}, "(gen_ai.user.message)"),
        (attribute("gen_ai.input.messages", "[{"), "It may have been cut by a limit"),
        (attribute("gen_ai.input.messages", "{}"), "must be a list of messages"),
        (attribute("gen_ai.input.messages", "[{}]"), "messages[0]: a message needs a `role`"),
        (attribute("gen_ai.input.messages", '[{"role": "user"}]'), "needs its `parts`"),
        (attribute("gen_ai.output.messages", '[{"role": "x"}]'), "the role 'x' is not known"),
        (attribute("gen_ai.tool.definitions", "[{}]"), "definitions[0] has no `name`"),
        (attribute("gen_ai.system_instructions", "{}"), "instructions: must be a list of parts"),
    ],
)
def test_broken_ones_say_what_and_where(value, says):
    assert says in refused(READER, value)


def test_a_broken_part_has_its_span_and_line():
    broken = {
        "role": "assistant",
        "parts": [{"type": "text", "content": "a"}, {"type": "tool_call"}],
    }
    attributes = {**FIRST, "gen_ai.output.messages": json.dumps([broken])}
    rows = [export(span(0, attributes=FIRST)), export(span(1, attributes=attributes))]
    assert refused(READER, "\n".join(map(json.dumps, rows)).encode(), "a.jsonl") == (
        "a.jsonl:2: span 'chat m-1' (0000000000000002): gen_ai.output.messages[0]: parts[1]: "
        "a tool call needs a `name`"
    )


@pytest.mark.parametrize("value", [[], {}, {"resourceMetrics": []}, [{"resourceSpans": []}], "x"])
def test_others_are_not_recognised(value):
    assert not READER.recognises(document(value))


def test_only_typed_errors_leave_it():
    structured = {
        key: json.loads(value)
        if key.endswith(("messages", "instructions", "definitions"))
        else value
        for key, value in SECOND_CALL.items()
    }
    assert survives(READER, export(span(attributes=structured))) > 300
    image = {"type": "blob", "modality": "image", "content": "AA"}
    odd = [{"role": "user", "parts": [image, RESULT["parts"][0]]}]
    attributes = {"gen_ai.input.messages": odd}
    assert survives(READER, export(span(attributes=attributes))) > 100


def test_spans_of_the_librarys_own():
    path = EXPORTS / "otlp.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    spans = [row["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for row in rows]
    chats = [
        {item["key"]: item["value"] for item in raw["attributes"]}
        for raw in spans
        if raw["name"].startswith("chat")
    ]
    longest = max((chat["gen_ai.input.messages"]["stringValue"] for chat in chats), key=len)
    roles = [message["role"] for message in json.loads(longest)] + ["assistant"]
    reading = READER.read(open_document(path))
    (run,) = reading.runs
    assert [message["role"] for message in run.messages] == roles
    assert Counter(roles) == {"assistant": 3, "user": 2, "tool": 2, "system": 1}
    usage = [chat.get("gen_ai.usage.input_tokens", {}).get("intValue") for chat in chats]
    known = [call.recorded.get("prompt_tokens") for call in run.calls]
    assert [*map(str, known[:2]), None, known[2]] == usage  # the stream did not say
    assert [call.recorded["exchange"] for call in run.calls] == [1, 2, 4]
    assert [note.line for note in reading.notes] == [6]
    assert reading.notes[0].what.startswith("exchange 3 was refused: openai.RateLimitError")
    assert reading.passed_over["span execute_tool stock"] == 2
    assert run.tools[0]["function"]["name"] == "stock"
