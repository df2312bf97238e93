"""Its counters: of a text and of messages, as good as they get."""

from pytest_ctxguard import counter

QWEN = counter("qwen2.5")
EMPTY = QWEN.count([{"role": "user", "content": ""}])


def count(text):
    return QWEN.count([{"role": "user", "content": text}]) - EMPTY


def count_messages(messages):
    return QWEN.count(messages)
