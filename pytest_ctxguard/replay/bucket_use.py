"""The buckets of a replay's requests: what the policy put in is told by where it came from."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter as Multiset
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_ctxguard.prefix.sent import as_json
from pytest_ctxguard.replay.origin import Origin
from pytest_ctxguard.tokens.bucket_use import BucketUse, CallBuckets
from pytest_ctxguard.tokens.buckets import Buckets, Counter, PutIn, PutInBucket, buckets
from pytest_ctxguard.transcript.messages import (
    Message,
    content_text,
    instructions,
    is_instruction,
    is_user,
    turn_starts,
)
from pytest_ctxguard.transcript.model import Transcript

if TYPE_CHECKING:  # a replay gives its buckets, so that module imports this one
    from pytest_ctxguard.replay.values import Replay, Request

LEAST_COPIED = 12  # characters; "go on" and "yes" stand in many a text by chance


def request_buckets(request: Request, *, transcript: Transcript, counter: Counter) -> Buckets:
    """Split a request of a transcript by what it carries."""
    pairs = zip(request.messages, request.origins, strict=True)
    leading = instructions(request.messages) == 1  # of several, one can go and another leads
    put_in = {}
    for index, (message, origin) in enumerate(pairs):
        leads = leading and index == 0
        found = _put_in(message, origin, history=transcript.messages, leads=leads)
        if found is not None:
            put_in[index] = found
    tools = request.offered(transcript)
    return buckets(counter, request.messages, tools=tools, put_in=put_in)


def bucket_use(replay: Replay) -> BucketUse:
    """Split every request of a replay, and count what of it the request before it had, too."""
    transcript, counter = replay.transcript, replay.counter
    starts = turn_starts(transcript.messages)
    return BucketUse(
        tuple(
            CallBuckets(
                call=step.call.index,
                turn=bisect_left(starts, step.call.history),
                tokens=request_buckets(step.request, transcript=transcript, counter=counter),
                resent=resent,
            )
            for step, resent in zip(replay.steps, _resent(replay), strict=True)
        )
    )


def _put_in(
    message: Message, origin: Origin, *, history: Sequence[Message], leads: bool
) -> PutIn | None:
    """Return what a policy put into a message; nothing into what it kept, cut or cleared."""
    if message.get("role") == "tool" or (origin.index is not None and not origin.edited):
        return None
    own = _own(message, origin, history=history, leads=leads)
    before = "" if own is None else content_text(own)
    text = content_text(message)
    if origin.index is not None and (before == text or before not in text):
        return None
    return PutIn(_bucket(message, text.replace(before, "", 1), history=history), own)


def _own(
    message: Message, origin: Origin, *, history: Sequence[Message], leads: bool
) -> Message | None:
    """Return the message that a policy added to, if any; to lead, it adds to an empty one."""
    if origin.index is not None:
        return history[origin.index]
    if not (leads and is_instruction(message)):
        return None
    first = history[0]
    extended = is_instruction(first) and content_text(first) in content_text(message)
    return first if extended else _emptied(message)


def _bucket(message: Message, text: str, *, history: Sequence[Message]) -> PutInBucket:
    """Tell an instruction, or what repeats a user message word for word, from other text."""
    said = (content_text(other).strip() for other in history if is_user(other))
    copied = any(len(words) >= LEAST_COPIED and words in text for words in said)
    return "pinned" if copied or is_instruction(message) else "summary"


def _resent(replay: Replay) -> Iterator[int]:
    """Yield the tokens of each request that the one before it had, byte for byte."""
    count = replay.counter.count
    texts: dict[int, str] = {}  # by the id of a message; the replay holds them all
    for step in replay.steps:
        for message in step.request.messages:
            if id(message) not in texts:
                texts[id(message)] = as_json(message)
    yield 0
    for before, step in pairwise(replay.steps):
        left = Multiset(texts[id(message)] for message in before.request.messages)
        kept: list[Message] = []
        for index, message in enumerate(step.request.messages):
            if left[texts[id(message)]]:
                left[texts[id(message)]] -= 1
                kept.append(message)
            elif index == 0 and is_instruction(message):
                kept.append(_emptied(message))
        tools = step.request.offered(replay.transcript)
        yield count(kept, tools=tools, generation_prompt=False)


def _emptied(message: Message) -> Message:
    """Return an instruction of no words: where there is none, a template puts one of its own."""
    return {**message, "content": ""}
