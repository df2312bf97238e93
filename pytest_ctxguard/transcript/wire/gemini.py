"""Google's Gemini: ``…:generateContent`` and ``…:streamGenerateContent``.

The model stands in the path of a request and, as ``modelVersion``, in its answer. Contents of the
model that follow each other are one answer: clients send a streamed answer back piece by piece.

Source of fields and their meaning: the Gemini API reference and the types of its Python client.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wire import typed
from pytest_ctxguard.transcript.wire.gemini_parts import History, field, merged, tools
from pytest_ctxguard.transcript.wire.wire import Answer, Asked, Body, Wire

VERBS = (":generateContent", ":streamGenerateContent")
HANDLED = ("contents", "systemInstruction", "system_instruction", "tools", "model", "labels")
CANDIDATE = ("groundingMetadata", "citationMetadata", "urlContextMetadata", "finishMessage")


def takes(path: str, body: Body) -> bool:
    """Tell by the path, or by contents that have parts."""
    contents = body.get("contents")
    last = path.partition("?")[0].rstrip("/").rpartition("/")[2]
    if not isinstance(contents, list) or last == "cachedContents":
        return False
    if ":" in last:
        return last.endswith(VERBS)
    return any("parts" in typed.mapping(content) for content in contents)


def asked(body: Body) -> Asked:
    """Read a request.

    Raises:
        ValueError: a field is missing or of a wrong type; the message names it.
    """
    history = History()
    messages: list[Message] = []
    system = field(body, "systemInstruction")
    if system is not None:
        messages += _system(system)
    contents = typed.objects(body.get("contents"), "contents")
    for number, content in enumerate(_answers_joined(contents)):
        messages += history.content(content, f"contents[{number}]")
    model = typed.string(body.get("model"))
    return Asked(
        messages=tuple(messages),
        tools=tuple(tools(body.get("tools"))),
        model=model and model.removeprefix("models/"),
        settings=typed.rest(body, *HANDLED),
    )


def answer(body: Body) -> Answer:
    """Read a response, or an error; of several candidates the first is the answer.

    Raises:
        ValueError: it is neither.
    """
    if "error" in body:
        error = typed.mapping(body["error"])
        said = [v for v in (error.get("status"), error.get("message")) if isinstance(v, str)]
        return Answer(refusal=": ".join(said) or str(body["error"]))
    blocked = _blocked(body)
    candidates = typed.objects(body.get("candidates") or [], "candidates")
    call = _call(body, candidates)
    if not candidates:
        if blocked is None:
            raise ValueError("`candidates` is missing, and no reason why the prompt was blocked")
        return Answer(call=call, refusal=f"the prompt was blocked: {blocked}")
    items = _parts(candidates[0], "candidates[0]")
    return Answer(
        messages=(History().answer(items, "candidates[0].content.parts"),),
        call=call,
        id=typed.string(field(body, "responseId")),
    )


def assemble(events: Sequence[Body]) -> Body:
    """Return the response that the chunks of a stream make up.

    Raises:
        ValueError: no chunk says why it ended, so that it broke off.
    """
    whole: dict[str, Any] = {}
    candidates: dict[int, dict[str, Any]] = {}
    for number, chunk in enumerate(events, 1):
        if "error" in chunk:
            return chunk
        whole.update(typed.rest(chunk, "candidates"))
        place = f"chunk {number} of the stream"
        for candidate in typed.objects(chunk.get("candidates") or [], f"{place}: candidates"):
            index = typed.integer(candidate.get("index")) or 0
            known = candidates.setdefault(index, {"content": {"parts": [], "role": "model"}})
            items = [*known["content"]["parts"], *_parts(candidate, f"{place}: candidates")]
            known.update(typed.rest(candidate, "content"))
            known["content"]["parts"] = merged(items)
    ended = all(field(candidate, "finishReason") for candidate in candidates.values())
    if not (ended and candidates) and _blocked(whole) is None:
        raise ValueError(
            f"the stream breaks off after {len(events)} chunks, before a finishReason; "
            "the answer is not whole"
        )
    return {**whole, "candidates": [candidates[index] for index in sorted(candidates)]}


def _blocked(body: Body) -> Any:
    return field(typed.mapping(field(body, "promptFeedback")), "blockReason")


def _system(value: Any) -> list[Message]:
    if isinstance(value, str):  # as the Python client's dumps have it
        return [{"role": "system", "content": value}]
    items = typed.mapping(value).get("parts")
    if isinstance(items, dict):  # one part, as the REST examples of Google have it
        items = [items]
    content = {"parts": typed.objects(items, "systemInstruction.parts")}
    return [{**m, "role": "system"} for m in History().content(content, "systemInstruction")]


def _answers_joined(contents: Sequence[Body]) -> list[Body]:
    joined: list[Body] = []
    for number, content in enumerate(contents):
        both = content.get("role") == "model" and joined and joined[-1].get("role") == "model"
        if both:
            items = [*_items(joined[-1], "contents"), *_items(content, f"contents[{number}]")]
            joined[-1] = {**joined[-1], "parts": items}
        else:
            joined.append(content)
    return joined


def _parts(candidate: Body, place: str) -> list[Body]:
    content = candidate.get("content")
    return _items(typed.mapping(content), f"{place}.content")


def _items(content: Body, place: str) -> list[Body]:
    return list(typed.objects(content.get("parts") or [], f"{place}.parts"))


def _call(body: Body, candidates: Sequence[Body]) -> dict[str, Any]:
    """Return what is known of a call.

    The prompt's count has the cached tokens in it. The candidates' count has the thoughts' not in
    it, whereas ``completion_tokens`` is all that the model wrote.
    """
    usage = typed.mapping(field(body, "usageMetadata"))
    count = {
        name: typed.integer(field(usage, f"{name}TokenCount"))
        for name in ("prompt", "candidates", "thoughts", "toolUsePrompt")
    }
    written = [n for n in (count["candidates"], count["thoughts"]) if n is not None]
    first = candidates[0] if candidates else {}
    return typed.rest(
        {
            "model": typed.string(field(body, "modelVersion")),
            "prompt_tokens": count["prompt"],
            "cached_tokens": typed.integer(field(usage, "cachedContentTokenCount")),
            "tool_use_prompt_tokens": count["toolUsePrompt"],
            "completion_tokens": sum(written) if written else None,
            "reasoning_tokens": count["thoughts"],
            "finish_reason": typed.string(field(first, "finishReason")),
            "time": typed.string(field(body, "createTime")),
            **{name: field(first, name) for name in CANDIDATE},
            "other_candidates": list(candidates[1:]) or None,
        }
    )


WIRE = Wire(name="gemini", takes=takes, asked=asked, answer=answer, assemble=assemble)
