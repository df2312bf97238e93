"""What a reader has beside the blocks of the pages: a model, here one that reads what it is sent.

It answers a question about a fact of the built-in transcripts with the fact's value if the
request has it, one about a register from the register, and nothing else.
"""

import re

from pytest_ctxguard.testing import ScriptedBackend
from pytest_ctxguard.transcript.library import available, find

FACTS = [fact for name in available() for fact in find(name).facts]


def answer(messages):
    *context, question = [message.get("content") or "" for message in messages]
    text = "\n".join(context)
    for fact in FACTS:
        if question in fact.wordings:
            return f"It is {fact.value}." if fact.value in text else "I do not know."
    owner = re.search(r"extension of (.+)\?", question)
    found = owner and re.search(rf"{owner[1]}\D+(\d{{4}})", text)
    return found[1] if found else "I do not know."


def pytest_ctxguard_backend(config):
    return ScriptedBackend(answer)
